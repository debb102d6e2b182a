"""Recovery points above the ends of logs: a process was killed between a truncation and its checkpoint."""

import errno
from itertools import count

import pytest

from odradek.base.chance import SeededChance
from odradek.base.errors import CorruptRecord, InvalidRecord
from odradek.base.ids import TopicPartition
from odradek.base.settings import TopicConfig
from odradek.records.header import check_crc, iter_headers
from odradek.storage import Log
from odradek.storage.checkpoint import read_offsets
from odradek.storage.memory_files import Fault
from tests.storage.log_bench import LogBench
from tests.storage.test_log_manager import (
    ORDERS,
    Broker,
    PowerLost,
    append,
    power_off_before,
    write_checkpoints,
)

RECOVERY_POINTS = "recovery-point-offset-checkpoint"
BATCHES = 8
"""Of three records each; three batches fill a segment."""
TRUNCATED_TO = 6


def fill(log: Log, batches: int, *, life: int) -> None:
    for number in range(batches):
        append(log, LogBench.batch([b"life %d, record %d" % (life, number * 3 + one) for one in range(3)]))


def killed(*truncated: TopicPartition) -> Broker:
    """Two directories of two logs each, all flushed; after a truncation nothing was written but the logs."""
    broker = Broker(config=TopicConfig(segment_bytes=400))
    manager = broker.start()
    for partition in ORDERS[:4]:
        log = manager.create(partition)
        fill(log, BATCHES, life=1)
        log.flush()
    write_checkpoints(manager)
    for partition in truncated:
        cut = manager.get(partition)
        assert cut is not None
        cut.truncate_to(TRUNCATED_TO)
    broker.disk.kill()
    return broker


def recovery_points(broker: Broker, directory: str) -> dict[TopicPartition, int]:
    offsets, damage = read_offsets(broker.disk, f"{directory}/{RECOVERY_POINTS}")
    assert damage is None
    return dict(offsets)


def whole_batches(broker: Broker, path: str) -> tuple[int, bool]:
    """Where the whole batches end that follow one another, and whether there are any of the next life."""
    offset, is_whole, everything = 0, True, b""
    for name, _ in sorted(broker.disk.list_directory(path)):
        if not name.endswith(".log"):
            continue
        data = broker.disk.read(f"{path}/{name}")
        everything += data
        try:
            for position, header in iter_headers(data) if is_whole else ():
                check_crc(data, header, position)
                is_whole = header.base_offset == offset
                if not is_whole:
                    break
                offset = header.next_offset
        except (CorruptRecord, InvalidRecord):
            is_whole = False
    return offset, b"life 2" in everything


def test_a_start_writes_recovery_points_that_are_too_high_anew() -> None:
    """X6: on the disk when it returns; once for a directory, and only where a line is too high."""
    broker = killed(ORDERS[0], ORDERS[2])
    written: list[str] = []
    broker.disk.before_operation = lambda operation, path: (
        written.append(path) if operation == "rename" and RECOVERY_POINTS in path else None
    )
    manager = broker.start()
    broker.disk.before_operation = None
    assert len(written) == 1
    assert {log.directory for log in manager.logs() if log.end_offset == TRUNCATED_TO} == {"/d1"}
    broker.disk.crash()
    assert recovery_points(broker, "/d1") == {ORDERS[0]: TRUNCATED_TO, ORDERS[2]: TRUNCATED_TO}
    assert recovery_points(broker, "/d2") == {ORDERS[1]: 3 * BATCHES, ORDERS[3]: 3 * BATCHES}


def test_the_lines_of_logs_that_are_gone_stay() -> None:
    """R15: they say which offsets were given."""
    broker = killed(ORDERS[0])
    for name, _ in broker.disk.list_directory(f"/d1/{ORDERS[2]}"):
        broker.disk.remove(f"/d1/{ORDERS[2]}/{name}")
    broker.disk.remove(f"/d1/{ORDERS[2]}")
    broker.start()
    assert recovery_points(broker, "/d1") == {ORDERS[0]: TRUNCATED_TO, ORDERS[2]: 3 * BATCHES}


def test_a_directory_that_cannot_be_written_is_offline() -> None:
    """R6, X6: nothing may be appended to its logs."""
    broker = killed(ORDERS[0])
    broker.disk.inject(Fault("rename", errno.EIO, f"/d1/{RECOVERY_POINTS}"))
    manager = broker.start()
    assert list(manager.failed_directories()) == ["/d1"]
    assert {log.directory for log in manager.logs()} == {"/d2"}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_power_lost_at_any_operation_of_the_next_life_leaves_whole_what_counts_as_flushed(seed: int) -> None:
    """X6, L4: batches below a recovery point are not verified, so nothing that may be torn is below it."""
    for operation_number in count():
        broker = killed(*ORDERS[:2])
        broker.disk.before_operation = power_off_before(operation_number)
        ended = False
        try:
            for log in broker.start().logs():
                fill(log, 2 * BATCHES, life=2)  # past the old recovery point, and nothing is flushed
            ended = True
        except PowerLost:
            pass
        broker.disk.before_operation = None
        broker.disk.crash(SeededChance(seed * 1_000 + operation_number))
        for directory in broker.directories:
            for partition, recovery_point in recovery_points(broker, directory).items():
                end, has_grown = whole_batches(broker, f"{directory}/{partition}")
                assert end >= recovery_point or not has_grown, f"{partition}, before {operation_number}"
                assert end >= TRUNCATED_TO
        assert broker.start().failed_directories() == {}
        if ended:
            break
    assert operation_number > 100
