"""Tracebacks that end in the test: an error points to the test's line, not to a line inside Odradek."""

from collections.abc import Callable, Iterator
from functools import wraps
from types import TracebackType
from typing import Final, ParamSpec, TypeVar

from odradek.base.errors import OdradekError

P = ParamSpec("P")
R = TypeVar("R")

PACKAGE: Final = "odradek."
SAY_ALL: Final = (LookupError, TimeoutError)
"""Built-in errors that verbs raise with a message of their own; not those derived from them."""


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


def ending_in_test(error: BaseException) -> TracebackType | None:
    """Returns the error's traceback without Odradek's frames around the test's.

    The frames that called the test go. Those that the test called go if the error's message has all that a
    user needs. Where no frame is the test's, the traceback is empty.
    """
    entries = list(_entries(error.__traceback__))
    outside = [number for number, entry in enumerate(entries) if not _is_ours(entry)]
    if not outside:
        return None
    says_all = isinstance(error, OdradekError) or type(error) in SAY_ALL
    last = outside[-1] if says_all else len(entries) - 1
    ending: TracebackType | None = None
    for entry in reversed(entries[outside[0] : last + 1]):
        ending = TracebackType(ending, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return ending


def _entries(traceback: TracebackType | None) -> Iterator[TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


def _is_ours(entry: TracebackType) -> bool:
    return str(entry.tb_frame.f_globals.get("__name__", "")).startswith(PACKAGE)
