"""A delayed operation with a result: returned when there is nothing to wait for, else passed to `later`.

park(purgatory, keys)    complete at the first try     → the result; `later` is never called
                         still open                    → None, watched under its keys
an event, or the deadline                              → later(result), once
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Generic, TypeVar

from odradek.base.execution import Later
from odradek.timer import DelayedOperation, Purgatory

K = TypeVar("K")
R = TypeVar("R")


class DelayedAnswer(DelayedOperation, Generic[R]):
    """Passes its result to `later`, unless it is abandoned; a subclass says when and how it is made."""

    __slots__ = ("_is_parked", "_later")

    def __init__(self, deadline_ms: int, later: Later[R]) -> None:
        super().__init__(deadline_ms)
        self._later = later
        self._is_parked = False
        """Whether it is watched: from then on the result is passed to `later`."""

    def on_abandoned(self) -> None:
        """Drop all references: the operation's entries in the lists of its keys may stay for a while (D6)."""
        self._later = _drop


class DelayedResult(DelayedAnswer[R]):
    """One that has its result as soon as it is complete: a subclass implements `result`."""

    __slots__ = ("_early",)

    def __init__(self, deadline_ms: int, later: Later[R]) -> None:
        super().__init__(deadline_ms, later)
        self._early: R | None = None
        """The result, if the operation completed before `park` returned."""

    @abstractmethod
    def result(self) -> R:
        """Returns the result. Called once, when the operation is complete."""
        raise NotImplementedError

    def park(self, purgatory: Purgatory[K], keys: Sequence[K]) -> R | None:
        """Return the result if the operation is complete now; else watch it under `keys` and return None."""
        if purgatory.try_complete_else_watch(self, keys):
            return self._early
        self._is_parked = True
        return None

    def on_complete(self) -> None:
        """See `DelayedOperation.on_complete`."""
        result = self.result()
        if self._is_parked:
            self._later(result)
        else:
            self._early = result


def _drop(result: object) -> None:
    """The `later` of an abandoned operation: no client waits for the result any more."""
