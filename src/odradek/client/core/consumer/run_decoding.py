"""Decompresses the batches of a run, and has a reader made of them.

    decoder = RunDecoder(Record)                  one for each consumer
    decoder.is_quick(batches)                     whether that may be done on the loop's thread
    decoder.decode(partition, run, batches, is_here=True)

Bounds: a call stops behind the batch with which it has decompressed enough, whatever the others hold; one
batch may hold as much as DECOMPRESSED_BYTES_MAX. Invariant: what is done where does not depend on the process
or on what is installed, so that a simulation repeats itself.
"""

from collections.abc import Collection
from typing import Any, Final, Generic, NamedTuple, TypeVar

from odradek.base.buffers import Buffer
from odradek.base.errors import OdradekError
from odradek.base.ids import TopicPartition
from odradek.client.core.consumer.batch_walk import RUN_RECORDS, Run
from odradek.records.blocks import BLOCKS_MAX
from odradek.records.compression import DECOMPRESSED_BYTES_MAX, Codec
from odradek.records.framing import (
    BLOCKS_HERE_MAX,
    COMPRESSED_HERE_BYTES_MAX,
    DECOMPRESSED_HERE_BYTES_MAX,
    body_view,
)
from odradek.records.header import BatchHeader
from odradek.records.record_readers import AT_ONCE_RECORDS_MIN, RecordReader, reader_of

T = TypeVar("T", bound=tuple[Any, ...])
Batches = Collection[tuple[memoryview, BatchHeader]]

_HERE_COMPRESSED: Final = 8
_AWAY_BYTES: Final = 4 << 20


class Decoded(NamedTuple, Generic[T]):
    """What became of the first batches of a run."""

    reader: RecordReader[T]
    batches: int
    """How many it reads."""


class RunDecoder(Generic[T]):
    """See the module."""

    def __init__(self, kind: type[T]) -> None:
        """`kind` is what `TupleReader` makes of a record."""
        self._kind = kind
        # The first time that many records are read at once numpy is loaded, which takes long.
        self._is_loaded = False

    def is_quick(self, batches: Batches) -> bool:
        """Whether `decode` takes a few milliseconds at most."""
        records = sum(header.record_count for _, header in batches)
        if records > RUN_RECORDS or (records >= AT_ONCE_RECORDS_MIN and not self._is_loaded):
            return False
        compressed = [header.size_bytes for _, header in batches if header.codec != Codec.NONE]
        return len(compressed) <= _HERE_COMPRESSED and sum(compressed) <= COMPRESSED_HERE_BYTES_MAX

    def decode(self, partition: TopicPartition, run: Run, batches: Batches, *, is_here: bool) -> Decoded[T]:
        """A reader of the first of these batches of a run, of as many as the bounds allow.

        Raises what `decompress` does, for the first batch; `is_here`: within the bounds of a loop's thread.
        """
        if is_here:
            batch_bytes_max = enough = DECOMPRESSED_HERE_BYTES_MAX
            blocks_free = BLOCKS_HERE_MAX
        else:
            batch_bytes_max, blocks_free, enough = DECOMPRESSED_BYTES_MAX, BLOCKS_MAX, _AWAY_BYTES
        bodies: list[tuple[Buffer, BatchHeader]] = []
        size_bytes = 0
        for batch, header in batches:
            try:
                body = body_view(batch, header, bytes_max=batch_bytes_max, blocks_free=blocks_free)
            except OdradekError:
                if not bodies:
                    raise
                break
            bodies.append((body, header))
            if header.codec != Codec.NONE:
                size_bytes += len(body)
            if size_bytes >= enough:
                break
        topic, number = partition
        shared = run.epoch, run.is_append_time
        reader = reader_of(self._kind, (topic, number), shared, bodies, run.first)
        self._is_loaded = self._is_loaded or not is_here
        return Decoded(reader, len(bodies))
