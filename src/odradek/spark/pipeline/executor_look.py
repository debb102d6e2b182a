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
    """Look for the modules, and try to write into the driver's directory."""
    fault = ""
    try:
        with open(os.path.join(directory, f"{PREFIX}{uuid4().hex}"), "x"):
            pass
    except OSError as error:
        fault = (error.strerror or str(error)).lower()
    yield Look(socket.gethostname(), [one for one in modules if find_spec(one) is None], fault)
