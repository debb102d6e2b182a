"""What the storage tests share: batches to append, a disk in memory, a clock that stands still."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from odradek.base.chance import SeededChance
from odradek.base.clock import ManualClock
from odradek.base.ids import TopicPartition
from odradek.base.settings import TopicConfig
from odradek.records.builder import BatchBuilder
from odradek.records.control import EndTxnMarker, build_marker
from odradek.storage.log import Log
from odradek.storage.memory_files import MemoryFileSystem
from odradek.storage.opening import open_log

DIRECTORY = "/data"
PARTITION = TopicPartition("orders", 0)


def make_batch(
    values: Sequence[bytes] | int = 1,
    *,
    base_offset: int = 0,
    timestamp_ms: int | Sequence[int] = 1_000,
    leader_epoch: int = 0,
    **producer: Any,
) -> bytearray:
    """One batch; `values` is the records' values, or how many records."""
    records = [b"value-%d" % number for number in range(values)] if isinstance(values, int) else values
    times = [timestamp_ms] * len(records) if isinstance(timestamp_ms, int) else timestamp_ms
    builder = BatchBuilder(base_offset=base_offset, leader_epoch=leader_epoch, **producer)
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
class Bench:
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

    def open(self, config: TopicConfig | None = None, **options: Any) -> Log:
        return open_log(
            DIRECTORY,
            PARTITION,
            config or self.config,
            file_system=self.disk,
            clock=self.clock,
            chance=SeededChance(0),
            **options,
        )

    def append(self, log: Log, values: Sequence[bytes] | int = 1, **options: Any) -> int:
        """Append one batch as a leader; its first offset."""
        epoch = options.pop("leader_epoch", 0)
        origin = {"origin": options.pop("origin")} if "origin" in options else {}
        data = make_batch(values, **options)
        return log.append_as_leader(data, epoch, now_ms=self.clock.wall_ms(), **origin).first_offset

    def path(self, name: str) -> str:
        return f"{DIRECTORY}/{PARTITION}/{name}"

    def names(self) -> list[str]:
        return [name for name, _ in self.disk.list_directory(f"{DIRECTORY}/{PARTITION}")]


@pytest.fixture
def bench() -> Bench:
    return Bench()
