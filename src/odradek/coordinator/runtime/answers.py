"""Answers to requests, as values: the callback, the answer, and the error where the log did not keep it."""

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from odradek.base.error_codes import ErrorCode

R = TypeVar("R")


class HeldAnswer(NamedTuple, Generic[R]):
    """One answer."""

    respond: Callable[[R], None]
    """Called once."""
    response: R
    """What is answered when every in-sync replica has all that the answer builds on."""
    refusal: Callable[[ErrorCode], R]
    """What is answered when that is not known, or cannot be any more: made of the log's error."""


def final(respond: Callable[[R], None], response: R) -> HeldAnswer[R]:
    """An answer that builds on no record, and so is never refused."""
    return HeldAnswer(respond, response, lambda error: response)


AnyHeldAnswer: TypeAlias = HeldAnswer[Any]
"""An answer of any type, for code that only passes it on."""
