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
