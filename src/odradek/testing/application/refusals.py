"""What a simulation has no part of (sockets, threads, processes, signals): using it raises NotSimulated."""

from __future__ import annotations

from typing import Any, NoReturn

from odradek.base.errors import OdradekError


class NotSimulated(OdradekError, NotImplementedError):
    """The application has called something that reaches beyond the simulation."""


def refuse(what: str, instead: str = "") -> NoReturn:
    """Raises NotSimulated."""
    hint = f": {instead}" if instead else ""
    raise NotSimulated(f"{what} is not simulated{hint}")


def refused(what: str, instead: str = "") -> Any:  # noqa: ANN401 - it stands for a method of any kind
    """Returns a function or method that only raises NotSimulated."""

    def call(*args: object, **kwargs: object) -> NoReturn:
        refuse(what, instead)

    return call
