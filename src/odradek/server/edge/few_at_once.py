"""Runs work of many steps a few pieces at a time, so that few wide messages are in memory as objects.

A message's objects take several times the memory of its bytes: a request of 1 MB that names 10,000 topics is
10 MB or more once it is decoded, and the answer with the settings of 1,000 topics while it is made. If all of
them advanced together, 40 clients could make the broker hold 40 such messages at once. Memory that a peak has
taken stays taken, too: few of its pages are free of other objects afterwards.

Invariant: a piece takes more than FREE_STEPS only if it has a place, or was added by one that had. None gets
a place while AT_ONCE_MAX are taken; so at most twice as many pieces advance.

    A, B, C, D, E need 1,000 steps each     all take their first FREE_STEPS; A to D go on, E waits
    F needs 10 steps                        done at once: it needs no place
    B is done                               E goes on in B's place
    C leads to its answer, by `add`         the answer does not wait, and has a place, too
    C is done                               its place is given back: A, D, E and the answer have four

Work of one kind, an object of `FewAtOnce` for each: requests while they are decoded and handled in steps,
answers while they are made and encoded. Work never waits for anything but its turn (disks, acks and other
brokers are waited for in between); so a place is always given back.
"""

from collections import deque
from dataclasses import dataclass
from typing import Final

from odradek.base.execution import Failed, Slices, Steps

FREE_STEPS: Final = 16
"""Steps that each piece takes at once: about a millisecond of work."""

AT_ONCE_MAX: Final = 4
"""Several, so that a piece of many seconds does not hold back all others."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """One that is not finished."""

    steps: Steps[None]
    failed: Failed
    cause: object
    """Its request, for the reports of long slices."""


class _Place:
    """One of the AT_ONCE_MAX places; as a cause it names the request that has it."""

    def __init__(self, cause: object) -> None:
        self.cause = cause

    def __str__(self) -> str:
        return str(self.cause)


class FewAtOnce:
    """Work of one kind, of one dispatcher."""

    __slots__ = ("_places_taken", "_slices", "_waiting")

    def __init__(self, slices: Slices) -> None:
        self._slices = slices
        self._waiting: deque[_Piece] = deque()
        """In the order in which they get a place."""
        self._places_taken = 0

    @property
    def waiting(self) -> int:
        """How many pieces wait for a place."""
        return len(self._waiting)

    def run(self, steps: Steps[None], failed: Failed) -> None:
        """Run a piece of work; `failed` is called with what a step raised."""
        piece = _Piece(steps, failed, self._slices.cause)
        self._slices.run(self._begin(piece), failed)

    def _begin(self, piece: _Piece) -> Steps[None]:
        """Run the first steps of a piece, and let the rest go on or wait."""
        for _ in range(FREE_STEPS):
            try:
                next(piece.steps)
            except StopIteration:
                return
            yield
        if self._places_taken >= AT_ONCE_MAX:
            self._waiting.append(piece)
        else:
            self._take_place(piece)

    def add(self, steps: Steps[None], failed: Failed) -> None:
        """Run what one of the pieces leads to, such as its answer, or that its memory is freed; see `run`."""
        self._take_place(_Piece(steps, failed, self._slices.cause))

    def _take_place(self, piece: _Piece) -> None:
        self._places_taken += 1
        place = _Place(piece.cause)
        self._slices.cause = place
        self._slices.run(self._finish(place, piece), piece.failed)

    def _finish(self, place: _Place, piece: _Piece) -> Steps[None]:
        """Run the rest of a piece, then of those that wait, one after another."""
        try:
            while True:
                place.cause = piece.cause
                try:
                    yield from piece.steps
                except Exception as error:
                    piece.failed(error)
                if not self._waiting or self._places_taken > AT_ONCE_MAX:
                    return
                piece = self._waiting.popleft()
                yield
        finally:
            self._places_taken -= 1
