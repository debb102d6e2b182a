"""Batches as producers send them."""

from typing import Protocol

from odradek.records.builder import BatchBuilder


class BatchOf(Protocol):
    """Makes a batch with these values, all of one time."""

    def __call__(self, *values: bytes, timestamp_ms: int = 1_700_000_000_000, codec: int = 0) -> bytes: ...


def make_batch(*values: bytes, timestamp_ms: int = 1_700_000_000_000, codec: int = 0) -> bytes:
    """See `BatchOf`."""
    builder = BatchBuilder(codec=codec)
    for value in values:
        builder.append(timestamp_ms, None, value)
    return bytes(builder.build())


def numbered_batch(base: int, count: int, *, epoch: int = 0, codec: int = 0, producer: int = -1) -> bytes:
    """Records `base` to `base + count - 1`, each with its offset as value; in a transaction of `producer`."""
    builder = BatchBuilder(
        base_offset=base,
        leader_epoch=epoch,
        codec=codec,
        producer_id=producer,
        producer_epoch=0 if producer >= 0 else -1,
        base_sequence=0 if producer >= 0 else -1,
        is_transactional=producer >= 0,
    )
    for offset in range(base, base + count):
        builder.append(1_000, None, b"%d" % offset)
    return bytes(builder.build())
