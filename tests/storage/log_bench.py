"""A log on a disk in memory, a clock that stands still, and batches to append."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypedDict, Unpack

from odradek.base.chance import SeededChance
from odradek.base.clock import ManualClock
from odradek.base.ids import TopicPartition
from odradek.base.settings import TopicConfig
from odradek.records.builder import BatchBuilder
from odradek.records.control import EndTxnMarker, build_marker
from odradek.storage import Log, Origin
from odradek.storage.memory_files import MemoryFileSystem
from odradek.storage.opening import open_log

DIRECTORY = "/data"
PARTITION = TopicPartition("orders", 0)


class ProducerFields(TypedDict, total=False):
    """What all batches of one producer have in common."""

    producer_id: int
    producer_epoch: int
    is_transactional: bool


class BuilderFields(ProducerFields, total=False):
    """What else a `BatchBuilder` takes."""

    base_sequence: int
    base_offset: int
    codec: int
    is_control: bool


class BatchFields(BuilderFields, total=False):
    """What a batch may be made with."""

    timestamp_ms: int | Sequence[int]
    """Of all its records, or of each."""


class OpenOptions(TypedDict, total=False):
    """What `open_log` may be told of the stop before."""

    clean: bool
    recovery_point: int
    log_start_offset: int | None
    high_watermark: int


def make_batch(
    values: Sequence[bytes] | int = 1,
    *,
    leader_epoch: int = 0,
    timestamp_ms: int | Sequence[int] = 1_000,
    **fields: Unpack[BuilderFields],
) -> bytearray:
    """One batch; `values` is the records' values, or how many records."""
    records = [b"value-%d" % number for number in range(values)] if isinstance(values, int) else values
    times = [timestamp_ms] * len(records) if isinstance(timestamp_ms, int) else timestamp_ms
    builder = BatchBuilder(leader_epoch=leader_epoch, **fields)
    for value, time_ms in zip(records, times, strict=True):
        builder.append(time_ms, None, value)
    return builder.build()


def make_marker(
    producer_id: int, epoch: int = 0, *, committed: bool, coordinator_epoch: int = 0
) -> bytearray:
    """The control batch that ends a transaction."""
    marker = EndTxnMarker(committed, coordinator_epoch)
    return build_marker(marker, producer_id=producer_id, producer_epoch=epoch, timestamp_ms=1_000)


@dataclass
class LogBench:
    """A log on a disk in memory, to be opened, crashed and opened again."""

    clock: ManualClock = field(default_factory=ManualClock)
    config: TopicConfig = field(default_factory=TopicConfig)
    disk: MemoryFileSystem = field(init=False)

    def __post_init__(self) -> None:
        self.disk = MemoryFileSystem(now_ms=self.clock.wall_ms)
        self.disk.make_directory(DIRECTORY)
        self.disk.sync_directory("/")

    batch = staticmethod(make_batch)
    marker = staticmethod(make_marker)

    def open(self, config: TopicConfig | None = None, **options: Unpack[OpenOptions]) -> Log:
        return open_log(
            DIRECTORY,
            PARTITION,
            config or self.config,
            file_system=self.disk,
            clock=self.clock,
            chance=SeededChance(0),
            **options,
        )

    def append(
        self,
        log: Log,
        values: Sequence[bytes] | int = 1,
        *,
        leader_epoch: int = 0,
        origin: Origin = Origin.CLIENT,
        **fields: Unpack[BatchFields],
    ) -> int:
        """Append one batch as a leader; its first offset."""
        data = make_batch(values, **fields)
        return log.append_as_leader(
            data, leader_epoch, origin=origin, now_ms=self.clock.wall_ms()
        ).first_offset

    def path(self, name: str) -> str:
        return f"{DIRECTORY}/{PARTITION}/{name}"

    def names(self) -> list[str]:
        return [name for name, _ in self.disk.list_directory(f"{DIRECTORY}/{PARTITION}")]
