"""The error of an address that a broker cannot listen on."""

import os
import socket

from odradek.base.errors import OdradekError


class CannotListen(OdradekError):
    """The port is in use, or the address is not this machine's: one sentence, exit code 2."""


def cannot_listen(address: object, error: OSError) -> CannotListen:
    """Returns the error to raise about an address (host:port, a path), with the system's own message."""
    if isinstance(error, socket.gaierror) or error.errno is None:
        reason = str(error.strerror or error)
    else:
        reason = os.strerror(error.errno)
    return CannotListen(f"cannot listen on {address}: {reason[:1].lower()}{reason[1:]}")
