"""Makes the answers that take many steps: a few of them at a time, so that few are in memory as objects.

An answer's objects take several times the memory of its bytes: the settings of 1,000 topics are 4 MB on the
wire, and 10 MB or more while they are made. If all of them advanced together, 40 clients that ask for them at
once would make the broker hold 40 such answers half made, whether or not they ever read one.

Invariant: at most MAKING_MAX unfinished answers have taken more than FREE_STEPS. The others take their first
ones, or wait.

    A, B, C, D, E ask for 1,000 steps each     all take their first FREE_STEPS; A to D go on, E waits
    F asks for 10 steps                        answered at once: it needs no place
    B is done                                  E goes on in B's place

What an answer is made of beside steps (waiting for disks, acks, other brokers) happened before; so a place is
always given back.
"""

from collections import deque
from dataclasses import dataclass
from typing import Final

from odradek.base.execution import Failed, Slices, Steps

FREE_STEPS: Final = 16
"""Steps that each answer takes at once: about a millisecond of work."""

MAKING_MAX: Final = 4
"""Several, so that an answer of many seconds does not hold back all others."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """An answer that is not finished."""

    steps: Steps[None]
    failed: Failed
    cause: object
    """The request, for the reports of long slices."""


class _Place:
    """One of the MAKING_MAX places; as a cause it names the request whose answer has it."""

    def __init__(self, cause: object) -> None:
        self.cause = cause

    def __str__(self) -> str:
        return str(self.cause)


class AnswerMaking:
    """The answers of one dispatcher that are being made in steps."""

    __slots__ = ("_places_taken", "_slices", "_waiting")

    def __init__(self, slices: Slices) -> None:
        self._slices = slices
        self._waiting: deque[_Answer] = deque()
        """In the order in which they get a place."""
        self._places_taken = 0

    @property
    def waiting(self) -> int:
        """How many answers wait for a place."""
        return len(self._waiting)

    def run(self, steps: Steps[None], failed: Failed) -> None:
        """Make an answer by `steps`, which send it at their end; `failed` is called with what one raised."""
        answer = _Answer(steps, failed, self._slices.cause)
        self._slices.run(self._begin(answer), failed)

    def _begin(self, answer: _Answer) -> Steps[None]:
        """Run the first steps of an answer, and let the rest go on or wait."""
        for _ in range(FREE_STEPS):
            try:
                next(answer.steps)
            except StopIteration:
                return
            yield
        if self._places_taken >= MAKING_MAX:
            self._waiting.append(answer)
            return
        self._places_taken += 1
        place = _Place(answer.cause)
        self._slices.cause = place
        self._slices.run(self._finish(place, answer), answer.failed)

    def _finish(self, place: _Place, answer: _Answer) -> Steps[None]:
        """Run the rest of an answer, then of those that wait, one after another."""
        try:
            while True:
                place.cause = answer.cause
                try:
                    yield from answer.steps
                except Exception as error:
                    answer.failed(error)
                if not self._waiting:
                    return
                answer = self._waiting.popleft()
                yield
        finally:
            self._places_taken -= 1
