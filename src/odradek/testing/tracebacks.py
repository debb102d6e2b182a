"""Tracebacks that end in the test: what a user did wrong is said at the line where he did it."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from odradek.base.errors import OdradekError

P = ParamSpec("P")
R = TypeVar("R")


def ends_at_caller(verb: Callable[P, R]) -> Callable[P, R]:
    """The same verb, whose errors have no frames of Odradek's, nor of the threads that it waits for.

    An OdradekError says in its message all that a user needs. Anything else is our own mistake and keeps its
    frames.
    """

    @wraps(verb)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        __tracebackhide__ = True  # pytest leaves this frame out
        try:
            return verb(*args, **kwargs)
        except OdradekError as error:
            raise error.with_traceback(None)  # noqa: B904 - the same error

    return called
