"""Tracebacks that end in the test: an error points to the test's line, not to a line inside Odradek."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from odradek.base.errors import OdradekError

P = ParamSpec("P")
R = TypeVar("R")


def ends_at_caller(verb: Callable[P, R]) -> Callable[P, R]:
    """Returns the method, wrapped so that its errors carry no stack frames of Odradek or its threads.

    The message of an OdradekError has all that a user needs. Any other exception is a bug in Odradek and
    keeps its frames.
    """

    @wraps(verb)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        __tracebackhide__ = True  # pytest leaves this frame out
        try:
            return verb(*args, **kwargs)
        except OdradekError as error:
            raise error.with_traceback(None)  # noqa: B904 - the same error

    return called
