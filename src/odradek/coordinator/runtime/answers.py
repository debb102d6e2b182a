"""Answers to requests, as values: the callback, the answer, and the error sent instead if the log fails."""

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from odradek.base.error_codes import ErrorCode

R = TypeVar("R")


class HeldAnswer(NamedTuple, Generic[R]):
    """One answer."""

    respond: Callable[[R], None]
    """Called once."""
    response: R
    """The answer once every in-sync replica has all records that it depends on."""
    refusal: Callable[[ErrorCode], R]
    """Makes the answer from the log's error when those records may be lost or replication is unknown."""


def final(respond: Callable[[R], None], response: R) -> HeldAnswer[R]:
    """An answer that depends on no record, and so is never refused."""
    return HeldAnswer(respond, response, lambda error: response)


AnyHeldAnswer: TypeAlias = HeldAnswer[Any]
"""An answer of any type, for code that only passes it on."""
