"""Lost offsets, which were assigned and whose records are gone: they are never assigned again.

A log that ends below its checkpointed offsets has lost records: a segment is missing, its end was cut, or
the power failed. Consumers may have read and committed those offsets. The next leader therefore fills the
gap with batches that have offsets and no records, as compaction leaves them:

    checkpointed up to 100:  ... 38 39 | 40-99, no records | 100 the next record

Every Kafka client steps over such a batch, followers copy it, Kafka's tools read it. A follower fills
nothing: its leader may still have the records. A log that has been compared with its leader's forgets its
lost offsets, also for a time when it leads again: the leader assigns offsets from there on. See
`docs/decisions/0007-lost-offsets.md`.
"""

from collections.abc import Iterator

from odradek.base.ids import LeaderEpoch, Offset
from odradek.records.builder import assemble_batch
from odradek.records.compression import Codec
from odradek.records.header import BatchHeader, blank_header
from odradek.storage.offset_index import RELATIVE_OFFSET_MAX

# A larger gap means a damaged checkpoint: 64 batches would not cover it.
LOST_OFFSETS_MAX = 64 * RELATIVE_OFFSET_MAX


def empty_batches(
    start: Offset, end: Offset, leader_epoch: LeaderEpoch
) -> Iterator[tuple[bytearray, BatchHeader]]:
    """Batches without records that cover the offsets of [start, end), at most `LOST_OFFSETS_MAX` of them."""
    assert end - start <= LOST_OFFSETS_MAX, f"{end - start} offsets cannot have been lost"
    while start < end:
        header = blank_header()
        header.base_offset = start
        header.last_offset_delta = min(end - start, RELATIVE_OFFSET_MAX) - 1
        header.leader_epoch = leader_epoch
        batch = assemble_batch(header, b"", Codec.NONE)
        yield batch, header
        start = header.next_offset
