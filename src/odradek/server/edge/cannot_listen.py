"""The error of an address that a broker cannot listen on."""

import os
import socket

from odradek.base.errors import OdradekError
from odradek.base.system_errors import reason_of


class CannotListen(OdradekError):
    """The port is in use, or the address is not this machine's: one sentence, exit code 2."""


def cannot_listen(address: object, error: OSError) -> CannotListen:
    """Returns the error to raise about an address (host:port, a path), with the system's own message."""
    return CannotListen(sentence(address, error))


def sentence(address: object, error: OSError) -> str:
    """Says that nobody can listen on an address, and why: event loops put words of their own into errors."""
    if not isinstance(error, socket.gaierror) and error.errno is not None:
        error = OSError(error.errno, os.strerror(error.errno))
    return f"cannot listen on {address}: {reason_of(error)}"
