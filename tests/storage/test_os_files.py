"""The log on the machine's own files: descriptors, and a broker's whole life."""

import fcntl
import os
from pathlib import Path

import pytest

from odradek.base.chance import SeededChance
from odradek.base.clock import ManualClock
from odradek.base.errors import DataDirectoryError
from odradek.base.ids import TopicPartition
from odradek.base.settings import BrokerSettings, TopicConfig
from odradek.storage import LogManager
from odradek.storage.os_files import OsFileSystem
from odradek.storage.reading import PartitionFiles
from tests.storage.log_bench import LogBench

CONFIG = TopicConfig(segment_bytes=500, index_interval_bytes=100, retention_ms=-1)


def started(directory: Path, files: OsFileSystem, clock: ManualClock) -> LogManager:
    return LogManager.open(
        BrokerSettings(log_dirs=(str(directory),)),
        cluster_id="c",
        file_system=files,
        clock=clock,
        chance=SeededChance(1),
        config_of=lambda topic: CONFIG,
    )


def test_deleted_logs_hold_no_descriptor(tmp_path: Path, bench: LogBench) -> None:
    """Those of empty ones stayed open until other files needed their place, four thousand of them."""
    files, clock = OsFileSystem(), ManualClock()
    manager = started(tmp_path, files, clock)
    for number in range(4):
        log = manager.create(TopicPartition("gone", number))
        if number % 2:
            log.append_as_leader(bench.batch(3), 0, now_ms=clock.wall_ms())
    assert files.open_files
    for number in range(4):
        manager.delete(TopicPartition("gone", number))
    assert not files.open_files


def test_many_logs_share_few_descriptors(tmp_path: Path, bench: LogBench) -> None:
    files, clock = OsFileSystem(descriptors_max=20), ManualClock()
    manager = started(tmp_path, files, clock)
    partitions = [TopicPartition("many", number) for number in range(50)]
    for _ in range(3):
        for partition in partitions:
            log = manager.create(partition)
            log.append_as_leader(bench.batch(3), 0, now_ms=clock.wall_ms())
            assert files.open_files <= 20
    for partition in partitions:
        log = manager.create(partition)
        assert log.end_offset == 9
        assert log.read(0, 1 << 20, log.end_position, at_least_one=True).records
    assert files.open_files <= 20
    flush = manager.create(partitions[0]).pending_flush()
    assert flush is not None
    for partition in partitions:  # which pushes the first log's files out while its flush is under way
        manager.create(partition).read(0, 10, log.end_position, at_least_one=True)
    flush.run()
    manager.close()


@pytest.mark.parametrize(
    "name",
    [
        "meta.properties",
        ".kafka_cleanshutdown",
        "recovery-point-offset-checkpoint",
        "orders-0/leader-epoch-checkpoint",
        "orders-0/00000000000000000010.snapshot",
        "orders-0/00000000000000000000.log",
    ],
)
@pytest.mark.parametrize("kind", ["pipe", "directory"])
def test_what_is_in_the_place_of_a_file_is_named_and_never_waited_for(
    tmp_path: Path, bench: LogBench, name: str, kind: str
) -> None:
    manager = started(tmp_path, OsFileSystem(), ManualClock())
    log = manager.create(TopicPartition("orders", 0))
    log.append_as_leader(bench.batch(10, producer_id=1, producer_epoch=0, base_sequence=0), 0, now_ms=0)
    manager.close()
    path = tmp_path / name
    path.unlink()
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.mkdir()
    with pytest.raises(DataDirectoryError) as refused:
        started(tmp_path, OsFileSystem(), ManualClock())
    assert f" ({path}); move it away and start the broker again" in str(refused.value)


def test_a_lock_that_its_holder_removes_is_taken_where_others_look_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broker whose id is taken removes it, just when another has opened it."""
    files, path, real = OsFileSystem(), tmp_path / ".lock", fcntl.flock
    removed: list[str] = []

    def flock(descriptor: int, how: int) -> None:
        if not removed:
            path.unlink()
            removed.append("once")
        real(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", flock)
    lock = files.lock(str(path))
    assert lock is not None
    assert path.exists()
    assert files.lock(str(path)) is None
    lock.release()
    assert files.lock(str(path)) is not None


def test_a_life_on_disk(tmp_path: Path, bench: LogBench) -> None:
    """L1 L4: written, stopped, read from outside, opened again."""
    clock = ManualClock()
    manager = started(tmp_path, OsFileSystem(), clock)
    partition = TopicPartition("orders", 0)
    log = manager.create(partition)
    for _ in range(10):
        log.append_as_leader(bench.batch(3), 0, now_ms=clock.wall_ms())
    log.restore_high_watermark(30)
    manager.close()
    outside = PartitionFiles(f"{tmp_path}/orders-0")
    assert (outside.end_offset(), outside.high_watermark()) == (30, 30)
    again = started(tmp_path, OsFileSystem(), clock)
    reopened = again.get(partition)
    assert reopened is not None
    assert reopened.end_offset == 30
    assert again.report.lines() == []
    again.delete(partition)
    clock.advance(60_000)
    for remove in again.take_due_removals():
        remove()
    again.close()
    assert not any(tmp_path.glob("orders-0*"))
