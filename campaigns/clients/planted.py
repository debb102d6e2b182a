"""Bugs that are planted into our clients, and for each a seed that finds it.

Each is a mistake that somebody could make in a line or two of a client's core, or of the shell around it.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from campaigns.sim.planted.planting import Plant, replaced
from odradek.client.aio.handed_out import HandedOut
from odradek.client.core.consumer import positions
from odradek.client.core.consumer.completed_fetch import CompletedFetch
from odradek.client.core.producer.batch import Batch
from odradek.client.core.producer.partition_queue import PartitionQueue

_Method = Callable[..., Any]


def _numbered_anew(original: _Method) -> _Method:
    def again(self: PartitionQueue, batch: Batch) -> None:
        batch.take_off_stamp()
        original(self, batch)

    return again


def _behind_the_others(original: _Method) -> _Method:
    def again(self: PartitionQueue, batch: Batch) -> None:
        if self.in_flight or not self.waiting:
            original(self, batch)
            return
        self.waiting.append(batch)
        for each in self.waiting:
            each.take_off_stamp()
        self._next_sequence = self._acknowledged_to

    return again


def _of_the_core(original: _Method) -> _Method:
    def positions_of(self: HandedOut) -> Any:
        pending, self.pending = self.pending, type(self.pending)()
        try:
            return original(self)
        finally:
            self.pending = pending

    return positions_of


def _uncommitted(original: _Method) -> _Method:
    def init(self: CompletedFetch, *given: Any, is_committed_only: bool, **named: Any) -> None:
        original(self, *given, is_committed_only=False, **named)

    return init


def _one_further(original: _Method) -> _Method:
    def fetched_offsets(answer: Any) -> Any:
        code, found = original(answer)
        for one in found.values():
            one.committed_offset += one.committed_offset > 0
        return code, found

    return fetched_offsets


def _nothing(original: _Method) -> _Method:
    return lambda *_, **__: None


PLANTED: Final[Mapping[str, Plant]] = {
    "a batch that is sent again gets new sequence numbers": replaced(PartitionQueue, "again", _numbered_anew),
    "a batch that is sent again goes behind the others": replaced(
        PartitionQueue, "again", _behind_the_others
    ),
    "a batch whose answer is lost is forgotten": replaced(PartitionQueue, "again", _nothing),
    "a position is committed before its records are handed out": replaced(
        HandedOut, "positions", _of_the_core
    ),
    "records of aborted transactions are handed out": replaced(CompletedFetch, "__init__", _uncommitted),
    "reading begins one behind the committed offset": replaced(positions, "fetched_offsets", _one_further),
}
"""By what a person would call them."""

FOUND_BY: Final[Mapping[str, int]] = {
    "a batch that is sent again gets new sequence numbers": 2,
    "a batch that is sent again goes behind the others": 1,
    "a batch whose answer is lost is forgotten": 0,
    "a position is committed before its records are handed out": 6,
    "records of aborted transactions are handed out": 6,
    "reading begins one behind the committed offset": 1,
}
"""A seed that finds the bug."""
