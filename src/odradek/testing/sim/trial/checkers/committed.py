"""What is committed in a log, by its markers, and what a read-committed consumer is shown of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import Offset, ProducerId
from odradek.records.control import is_abort_marker, read_marker
from odradek.records.framing import iter_records
from odradek.records.header import iter_headers
from odradek.records.isolation import AbortedTransactions
from odradek.replication import ReplicatedLog
from odradek.testing.sim.node import SimNode
from odradek.testing.sim.stored import content_of
from odradek.testing.sim.trial.history import Place, batches_in
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic, PartitionData

READ_BYTES = 1 << 20
READ_COMMITTED = 1


class CommittedRecord(NamedTuple):
    """A record in no transaction, or in one with a commit marker behind it."""

    offset: Offset
    key: bytes | None
    value: bytes | None

    @property
    def number(self) -> int:
        """The number of a record of the trial's clients."""
        assert self.value is not None, "the trial's records have values"
        return int(self.value)


def committed_in(log: ReplicatedLog, below: Offset) -> list[CommittedRecord]:
    """The committed records below an offset, in their order."""
    data = content_of(log, below)
    found: list[CommittedRecord] = []
    undecided: dict[ProducerId, list[CommittedRecord]] = {}
    for position, header in iter_headers(data):
        if header.is_control:
            marker = read_marker(data, position)
            ended = undecided.pop(header.producer_id, []) if marker is not None else []
            found += ended if marker is not None and marker.committed else []
            continue
        records = [
            CommittedRecord(record.offset, record.key, record.value)
            for record in iter_records(data, header, position)
        ]
        if header.is_transactional:
            undecided.setdefault(header.producer_id, []).extend(records)
        else:
            found += records
    return sorted(found)


def shown_to_committed(node: SimNode, place: Place) -> dict[Offset, int]:
    """What a read-committed consumer reads from a leader now, from the beginning: numbers by offset."""
    shown: dict[Offset, int] = {}
    for answered in _answers(node, place):
        aborted = AbortedTransactions()
        aborted.learn(answered.aborted_transactions or ())
        for batch in batches_in(answered.records or b""):
            if not aborted.hides(batch.header, batch.header.is_control and is_abort_marker(batch.data)):
                shown.update(batch.numbers)
    return shown


def _answers(node: SimNode, place: Place) -> Iterator[PartitionData]:
    """Fetches from the beginning until nothing comes any more."""
    position = 0
    while True:
        asked = FetchPartition(place.partition, fetch_offset=position, partition_max_bytes=READ_BYTES)
        request = FetchRequest(
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=READ_BYTES,
            isolation_level=READ_COMMITTED,
            topics=[FetchTopic(place.topic, place.topic_id, [asked])],
        )
        answered = node.ask(request).responses[0].partitions[0]
        headers = [header for _, header in iter_headers(answered.records or b"")]
        if answered.error_code != ErrorCode.NONE or not headers:
            return
        yield answered
        position = headers[-1].next_offset
