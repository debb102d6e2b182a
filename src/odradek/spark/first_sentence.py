"""Errors of the source as Spark shows them: one sentence, then the traceback.

Spark's workers send an exception to the JVM as Python prints it, so that its sentence would be the last line
of a long text. Python prints the cause of an exception before it, and a cause that was never raised has no
traceback of its own: the sentence as such a cause is the first line.

Spark drops causes when it simplifies tracebacks, as workers do by default. A worker ends after an exception,
so for the one that is raised here it is told not to.
"""

import os
from collections.abc import Callable, Iterator
from functools import wraps
from typing import ParamSpec, TypeVar

from odradek.base.errors import OdradekError

P = ParamSpec("P")
T = TypeVar("T")

# The variable by which a worker's parent asks for simplified tracebacks.
_SIMPLIFIES = "SPARK_SIMPLIFIED_TRACEBACK"


class Refused(OdradekError):
    """The sentence of the exception that it is the cause of."""


def sentence_first(function: Callable[P, T]) -> Callable[P, T]:
    """`function`, whose OdradekErrors begin with their sentence when Spark prints them."""

    @wraps(function)
    def called(*arguments: P.args, **named: P.kwargs) -> T:
        try:
            return function(*arguments, **named)
        except OdradekError as error:
            raise error from _cause(error)

    return called


def sentence_first_of_rows(rows: Iterator[T]) -> Iterator[T]:
    """`rows`, with the errors met on the way as those of `sentence_first`."""
    try:
        yield from rows
    except OdradekError as error:
        raise error from _cause(error)


def _cause(error: OdradekError) -> Refused:
    os.environ.pop(_SIMPLIFIES, None)
    return Refused(str(error))
