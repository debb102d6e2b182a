"""What a task finds on its executor. It imports nothing that an executor might lack."""

import os
import socket
from collections.abc import Iterable, Iterator, Sequence
from importlib.util import find_spec
from typing import NamedTuple
from uuid import uuid4

PREFIX = "_look-"
"""What the files begin with by which tasks try a directory."""


class Look(NamedTuple):
    """What one task found."""

    host: str
    lacks: list[str]
    """The modules that are not there."""
    fault: str
    """Why the directory cannot be written; "" if it can."""


def look(directory: str, modules: Sequence[str], _numbers: Iterable[int]) -> Iterator[Look]:
    """Look for the modules, and try to write into the driver's directory, if it is given."""
    fault = _fault_of(directory) if directory else ""
    yield Look(socket.gethostname(), [one for one in modules if find_spec(one) is None], fault)


def _fault_of(directory: str) -> str:
    try:
        with open(os.path.join(directory, f"{PREFIX}{uuid4().hex}"), "x"):
            return ""
    except OSError as error:
        return (error.strerror or str(error)).lower()
