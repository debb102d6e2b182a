"""All logs of a broker: directories, checkpoints, deletion, the clean stop."""

import errno
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from uuid import UUID

import pytest

from odradek.base.chance import SeededChance
from odradek.base.clock import ManualClock
from odradek.base.errors import DataDirectoryError, StorageFailure
from odradek.base.execution import ITEMS_PER_STEP, exhaust
from odradek.base.ids import TopicPartition
from odradek.base.settings import BrokerSettings, TopicConfig
from odradek.storage import Log, LogManager
from odradek.storage.expected_logs import ExpectedLogs
from odradek.storage.flushing import one_after_another
from odradek.storage.memory_files import Fault, MemoryFileSystem
from odradek.storage.opening import stored_cluster_id
from tests.storage.log_bench import LogBench

CLUSTER = "9mV0tsdqSpyTkIyXSMUJOw"
ORDERS = [TopicPartition("orders", number) for number in range(6)]


EPOCH = 7
"""The broker epoch of a run that has registered."""


@dataclass
class Broker:
    directories: tuple[str, ...] = ("/d1", "/d2")
    clock: ManualClock = field(default_factory=ManualClock)
    config: TopicConfig = field(default_factory=TopicConfig)
    chance: SeededChance = field(default_factory=lambda: SeededChance(1))
    disk: MemoryFileSystem = field(init=False)
    # The topics whose settings were worked out, in order.
    asked: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.disk = MemoryFileSystem(now_ms=self.clock.wall_ms)

    def start(
        self, *, cluster_id: str = CLUSTER, node_id: int = 0, expected: ExpectedLogs | None = None
    ) -> LogManager:
        return LogManager.open(
            BrokerSettings(log_dirs=self.directories, node_id=node_id),
            cluster_id=cluster_id,
            file_system=self.disk,
            clock=self.clock,
            chance=self.chance,
            config_of=self.config_of,
            expected=expected,
        )

    def config_of(self, topic: str) -> TopicConfig:
        self.asked.append(topic)
        return self.config

    def everything(self) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        waiting = [""]
        while waiting:
            directory = waiting.pop()
            for name, size in self.disk.list_directory(directory):
                path = f"{directory}/{name}"
                if size < 0:
                    waiting.append(path)
                else:
                    found[path] = self.disk.read(path)
        return found


@pytest.fixture
def broker() -> Broker:
    return Broker()


def write_checkpoints(manager: LogManager) -> None:
    for write in (
        *exhaust(manager.checkpoints.high_watermarks()),
        *exhaust(manager.checkpoints.recovery_points()),
        *exhaust(manager.checkpoints.log_start_offsets()),
    ):
        write.run()
        manager.checkpoints.written(write)


def append(log: Log, batch: bytearray) -> int:
    info = log.append_as_leader(batch, 0, now_ms=0)
    log.restore_high_watermark(log.end_offset)
    return int(info.first_offset)


def test_a_new_directory_is_marked_as_ours(broker: Broker) -> None:
    manager = broker.start()
    meta = broker.disk.read("/d1/meta.properties").decode().splitlines()
    assert meta[:3] == ["version=1", "node.id=0", f"cluster.id={CLUSTER}"]
    ids = {directory.directory_id for directory in manager.directories}
    assert len(ids) == 2, "each directory has an id of its own"
    manager.close(EPOCH)
    assert {directory.directory_id for directory in broker.start().directories} == ids
    assert stored_cluster_id(broker.disk, ["/d1", "/new"], 0) == CLUSTER


def test_new_logs_go_where_the_fewest_are(broker: Broker) -> None:
    manager = broker.start()
    homes = [manager.create(partition).directory for partition in ORDERS]
    assert homes == ["/d1", "/d2"] * 3
    assert manager.create(ORDERS[0]) is manager.get(ORDERS[0])


def test_a_clean_stop_leaves_nothing_to_recover(broker: Broker, bench: LogBench) -> None:
    """L4: .kafka_cleanshutdown"""
    manager = broker.start()
    for partition in ORDERS:
        append(manager.create(partition, UUID(int=1 + partition.partition)), bench.batch(3))
    manager.close(broker_epoch=12)
    assert broker.disk.read("/d1/.kafka_cleanshutdown") == b'{"version":0,"brokerEpoch":12}'
    broker.disk.crash()
    again = broker.start()
    assert again.stopped_cleanly
    assert again.report.lines() == []
    assert not broker.disk.exists("/d1/.kafka_cleanshutdown")
    for partition in ORDERS:
        log = again.get(partition)
        assert log is not None
        assert (log.end_offset, log.topic_id) == (3, UUID(int=1 + partition.partition))
        assert again.checkpointed_high_watermark(partition) == 3


def test_a_killed_broker_recovers_every_log(broker: Broker, bench: LogBench) -> None:
    """L4 R15"""
    manager = broker.start()
    for partition in ORDERS:
        append(manager.create(partition), bench.batch(3))
    broker.disk.kill()
    again = broker.start()
    assert not again.stopped_cleanly
    assert [log.end_offset for log in again.logs()] == [3] * 6
    assert sum("was not stopped cleanly" in line for line in again.report.lines()) == 2


def test_checkpoints_are_kafkas_text(broker: Broker, bench: LogBench) -> None:
    """R12"""
    manager = broker.start()
    log = manager.create(ORDERS[0])
    append(log, bench.batch(3))
    append(log, bench.batch(3))
    log.delete_records_before(4)
    log.flush()
    write_checkpoints(manager)
    for name, offset in (("replication", 6), ("recovery-point", 6)):
        assert broker.disk.read(f"/d1/{name}-offset-checkpoint") == f"0\n1\norders 0 {offset}\n".encode()
    assert broker.disk.read("/d1/log-start-offset-checkpoint") == b"0\n1\norders 0 4\n"
    broker.disk.crash()
    again = broker.start().get(ORDERS[0])
    assert again is not None
    assert (again.log_start_offset, again.end_offset) == (4, 6)


def test_a_damaged_checkpoint_is_reported_and_ignored(broker: Broker, bench: LogBench) -> None:
    """R12 L4"""
    manager = broker.start()
    append(manager.create(ORDERS[0]), bench.batch(3))
    manager.close()
    for content in (
        b"\xff\xfe",
        b"",
        b"0\n7\norders 0 1\n",
        b"9\n0\n",
        b"0\n1\norders x 1\n",
        b"0\n1\norders 0\n",
    ):
        file = broker.disk.file("/d1/replication-offset-checkpoint")
        file.truncate(0)
        file.write_at(content, 0)
        again = broker.start()
        assert again.checkpointed_high_watermark(ORDERS[0]) == 0
        assert any("replication-offset-checkpoint is damaged" in line for line in again.report.lines())
        again.close()


def test_a_checkpoint_of_cleanings_without_content_is_kafkas_before_the_first_one(
    broker: Broker, bench: LogBench
) -> None:
    """R12"""
    manager = broker.start()
    append(manager.create(ORDERS[0]), bench.batch(3))
    manager.close()
    file = broker.disk.file("/d1/cleaner-offset-checkpoint", create=True)
    assert broker.start().report.damages == []
    file.write_at(b"\xff", 0)
    broker.disk.kill()
    (damage,) = broker.start().report.damages
    assert damage.path == "/d1/cleaner-offset-checkpoint"


def test_a_directory_in_use_is_refused_and_left_alone(broker: Broker) -> None:
    manager = broker.start()
    before = broker.everything()
    with pytest.raises(DataDirectoryError, match="/d1 is in use by another broker"):
        broker.start()
    assert broker.everything() == before
    manager.close()
    broker.start()


def test_a_new_directory_of_a_broker_that_never_registered_is_nobodys_again(broker: Broker) -> None:
    """But for one with a log, and one that was its own before."""
    broker.start(node_id=3).close()
    assert not broker.everything()
    manager = broker.start()
    manager.create(ORDERS[0])
    manager.close()
    (used,) = (path for path in ("/d1", "/d2") if broker.disk.exists(f"{path}/meta.properties"))
    assert broker.disk.exists(f"{used}/.kafka_cleanshutdown")
    broker.start().close(EPOCH)
    broker.start().close()
    assert all(broker.disk.exists(f"{path}/meta.properties") for path in ("/d1", "/d2"))


def test_a_directory_of_others_is_refused_and_left_alone(broker: Broker) -> None:
    broker.start().close(EPOCH)
    before = broker.everything()
    with pytest.raises(
        DataDirectoryError, match=f"/d1 belongs to cluster {CLUSTER}, this broker to cluster X"
    ):
        broker.start(cluster_id="X")
    with pytest.raises(DataDirectoryError, match="/d1 belongs to broker 0, this is broker 3"):
        broker.start(node_id=3)
    broker.directories = ("/d3", "/d1")
    with pytest.raises(DataDirectoryError):
        broker.start(cluster_id="X")
    assert broker.everything() == before


def test_a_directory_of_kafka_before_directory_ids_is_taken_over(broker: Broker) -> None:
    broker.disk.make_directory("/d1")
    meta = f"#Thu\nversion=0\nbroker.id=0\ncluster.id={CLUSTER}\n".encode()
    broker.disk.file("/d1/meta.properties", create=True).write_at(meta, 0)
    broker.start()
    assert b"directory.id=" in broker.disk.read("/d1/meta.properties")


def test_one_failing_directory_leaves_the_others_alone(broker: Broker, bench: LogBench) -> None:
    """R6: KAFKA_STORAGE_ERROR for its logs only."""
    manager = broker.start()
    first, second = manager.create(ORDERS[0]), manager.create(ORDERS[1])
    broker.disk.inject(Fault("write", errno.EIO, path_part="/d1/"))
    with pytest.raises(StorageFailure, match="/d1"):
        append(first, bench.batch(1))
    assert append(second, bench.batch(1)) == 0
    assert manager.online_directories() == ["/d2"]
    assert list(manager.failed_directories()) == ["/d1"]
    assert manager.get(ORDERS[0]) is None
    assert [manager.is_offline(partition) for partition in ORDERS[:3]] == [True, False, False]
    assert manager.create(ORDERS[2]).directory == "/d2"
    with pytest.raises(StorageFailure):
        manager.create(ORDERS[0])
    with pytest.raises(StorageFailure):
        manager.create(ORDERS[3], is_new=False)
    manager.close()
    assert not broker.disk.exists("/d1/.kafka_cleanshutdown"), "what failed was not stopped cleanly"
    assert broker.disk.exists("/d2/.kafka_cleanshutdown")


def test_a_failed_flush_takes_the_directory_offline_with_its_logs(broker: Broker) -> None:
    """L7"""
    manager = broker.start()
    for partition in ORDERS:
        manager.create(partition)
    assert manager.offline_logs() == {}
    manager.fail_directory("/d2", "fsync failed")
    assert manager.offline_logs() == dict.fromkeys((ORDERS[1], ORDERS[3], ORDERS[5]), "fsync failed")
    assert [one for one in ORDERS if manager.is_offline(one)] == [ORDERS[1], ORDERS[3], ORDERS[5]]
    assert manager.online_directories() == ["/d1"]
    assert manager.failed_directories() == {"/d2": "fsync failed"}
    assert len(list(manager.logs())) == 3


def test_a_directory_that_cannot_be_used_at_start_is_offline(broker: Broker) -> None:
    broker.start().close()
    broker.disk.inject(Fault("list", errno.EIO, path_part="/d2", times=-1))
    manager = broker.start()
    assert manager.online_directories() == ["/d1"]
    assert any(
        line.startswith("the log directory /d2 is offline: Input/output error")
        for line in manager.report.lines()
    )


def test_without_any_directory_there_is_no_broker(broker: Broker) -> None:
    broker.disk.read_only = True
    with pytest.raises(DataDirectoryError, match="no log directory can be used"):
        broker.start()


def test_a_broker_whose_last_directory_fails_while_it_recovers_logs_does_not_start(bench: LogBench) -> None:
    """R6: it would serve nothing, also when the disk has space again."""
    broker = Broker(("/d1",))
    append(broker.start().create(ORDERS[0]), bench.batch(1))
    broker.disk.kill()
    broker.disk.inject(Fault("write", errno.ENOSPC, path_part="/d1/orders", times=-1))
    broker.disk.inject(Fault("sync", errno.ENOSPC, path_part="/d1/orders", times=-1))
    with pytest.raises(DataDirectoryError, match="no log directory can be used: No space left"):
        broker.start()
    broker.disk.faults.clear()
    log = broker.start().get(ORDERS[0])
    assert log is not None
    assert log.end_offset == 1


def test_a_checkpoint_is_due_when_it_has_changed_and_holds_what_was_true_then(
    broker: Broker, bench: LogBench
) -> None:
    """R12"""
    manager = broker.start()
    log = manager.create(ORDERS[0])
    append(log, bench.batch(3))
    writes = exhaust(manager.checkpoints.high_watermarks())
    assert [(write.directory, write.offsets) for write in writes] == [("/d1", {ORDERS[0]: 3}), ("/d2", {})]
    append(log, bench.batch(1))
    for write in writes:
        write.run()
        manager.checkpoints.written(write)
    assert broker.disk.read("/d1/replication-offset-checkpoint") == b"0\n1\norders 0 3\n"
    assert [write.offsets for write in exhaust(manager.checkpoints.high_watermarks())] == [{ORDERS[0]: 4}]


def test_a_checkpoint_under_way_does_not_meet_what_the_broker_writes_meanwhile(
    broker: Broker, bench: LogBench
) -> None:
    """R12: a topic is deleted while the disk is busy with a checkpoint."""
    manager = broker.start()
    log = manager.create(ORDERS[0])
    append(log, bench.batch(3))
    write_checkpoints(manager)
    append(log, bench.batch(1))
    (write,) = [one for one in exhaust(manager.checkpoints.high_watermarks()) if ORDERS[0] in one.offsets]

    def meanwhile(operation: str, path: str) -> None:
        if operation == "rename" and path.startswith(write.path):
            broker.disk.before_operation = None
            manager.delete(ORDERS[0])
            manager.create(ORDERS[0])

    broker.disk.before_operation = meanwhile
    manager.checkpoints.begin(write)
    write.run()
    assert broker.disk.before_operation is None
    manager.checkpoints.written(write)
    assert manager.online_directories() == ["/d1", "/d2"]
    write_checkpoints(manager)
    checkpoints = [broker.disk.read(f"/d{number}/replication-offset-checkpoint") for number in (1, 2)]
    assert not any(b"orders 0 4" in checkpoint for checkpoint in checkpoints)


@pytest.mark.parametrize(
    "path_part", ["/d1/replication", "/d1/.kafka_cleanshutdown", "/d1/orders-0/00000000000000000000.log"]
)
def test_a_directory_that_fails_during_a_clean_stop_was_not_stopped_cleanly(
    broker: Broker, bench: LogBench, path_part: str
) -> None:
    """R12, L7"""
    manager = broker.start()
    for partition in ORDERS[:2]:
        append(manager.create(partition), bench.batch(1))
    broker.disk.inject(Fault("sync", errno.EIO, path_part=path_part))
    manager.close()
    assert manager.online_directories() == ["/d2"]
    assert not broker.disk.exists("/d1/.kafka_cleanshutdown")
    assert broker.disk.exists("/d2/.kafka_cleanshutdown")


def test_a_clean_stop_hands_the_logs_to_the_disk_together(broker: Broker, bench: LogBench) -> None:
    """Logs first, then checkpoints, then the marks: each group as a whole, so that it can wait at once."""
    manager = broker.start()
    for partition in ORDERS:
        append(manager.create(partition), bench.batch(1))
    groups: list[int] = []

    def in_parallel(calls: Sequence[Callable[[], None]]) -> Sequence[OSError | None]:
        groups.append(len(calls))
        return one_after_another(calls)

    manager.close(in_parallel=in_parallel)
    assert groups == [6, 6, 2]


def test_a_deleted_log_is_renamed_at_once_and_removed_later(broker: Broker, bench: LogBench) -> None:
    manager = broker.start()
    log = manager.create(ORDERS[0])
    append(log, bench.batch(3))
    manager.delete(ORDERS[0])
    assert manager.get(ORDERS[0]) is None
    names = [name for name, _ in broker.disk.list_directory("/d1")]
    (deleted,) = [name for name in names if name.endswith("-delete")]
    assert deleted.startswith("orders-0.")
    assert append(manager.create(ORDERS[0]), bench.batch(1)) == 0, "the name is free again"
    assert manager.take_due_removals() == []
    broker.clock.advance(60_000)
    for remove in manager.take_due_removals():
        remove()
    assert deleted not in [name for name, _ in broker.disk.list_directory("/d1")]


def test_deletions_that_a_stop_interrupted_are_finished(broker: Broker) -> None:
    """L4"""
    manager = broker.start()
    manager.create(ORDERS[0])
    manager.delete(ORDERS[0])
    manager.close()
    again = broker.start()
    for remove in again.take_due_removals():
        remove()
    assert not any(name.endswith("-delete") for name, _ in broker.disk.list_directory("/d1"))


def test_strangers_among_the_logs_are_left_alone(broker: Broker) -> None:
    broker.disk.make_directory("/d1/lost+found")
    manager = broker.start()
    assert any("lost+found is not a log" in line for line in manager.report.lines())
    assert broker.disk.exists("/d1/lost+found")


def test_retention_flushes_and_producers_run_over_all_logs(broker: Broker, bench: LogBench) -> None:
    broker.config = TopicConfig(retention_ms=1, flush_ms=100)
    manager = broker.start()
    for partition in ORDERS[:2]:
        append(manager.create(partition), bench.batch(1, producer_id=1, producer_epoch=0, base_sequence=0))
    assert exhaust(manager.due_flushes(broker.clock.monotonic_ms() + 99)) == []
    assert len(exhaust(manager.due_flushes(broker.clock.monotonic_ms() + 100))) == 2
    assert exhaust(manager.expire_producers(broker.clock.wall_ms())) == 2
    assert [(one.partition, one.segments) for one in exhaust(manager.retire(broker.clock.wall_ms()))] == [
        (partition, 1) for partition in ORDERS[:2]
    ]


def test_settings_reach_the_logs_of_their_topic(broker: Broker) -> None:
    manager = broker.start()
    mine, other = manager.create(ORDERS[0]), manager.create(TopicPartition("other", 0))
    manager.update_config("orders", TopicConfig(retention_ms=5))
    assert (mine.config.retention_ms, other.config.retention_ms) == (5, TopicConfig().retention_ms)


def test_the_settings_of_a_wide_topic_are_worked_out_once(broker: Broker) -> None:
    """Working them out costs as much as making a log."""
    manager = broker.start()
    logs = [manager.create(TopicPartition("wide", number)) for number in range(100)]
    assert broker.asked == ["wide"]
    later = TopicConfig(retention_ms=5)
    manager.update_config("wide", later)
    logs.append(manager.create(TopicPartition("wide", 100)))
    assert {log.config.retention_ms for log in logs} == {5}
    for number in range(101):
        manager.delete(TopicPartition("wide", number))
    manager.create(TopicPartition("wide", 0))
    assert broker.asked == ["wide", "wide"]


def test_checkpoints_look_at_a_few_logs_in_each_step(broker: Broker) -> None:
    """R12: ten thousand logs do not hold the loop; one that is deleted meanwhile is left out."""
    manager = broker.start()
    count = 4 * ITEMS_PER_STEP
    for number in range(count):
        manager.create(TopicPartition("wide", number))
    steps = manager.checkpoints.high_watermarks()
    next(steps)
    manager.delete(TopicPartition("wide", count - 1))
    assert sum(len(write.offsets) for write in exhaust(steps)) == count - 1
    for checkpoints in (
        manager.checkpoints.high_watermarks,
        manager.checkpoints.recovery_points,
        manager.checkpoints.log_start_offsets,
        manager.checkpoints.cleaned_offsets,
    ):
        assert len(list(checkpoints())) >= (count - 1) // ITEMS_PER_STEP  # once for all directories
    assert len(list(manager.due_flushes(0))) == (count - 1) // ITEMS_PER_STEP


def test_describes_directories_and_logs(broker: Broker) -> None:
    manager = broker.start()
    manager.create(ORDERS[0])
    manager.fail_directory("/d2", "broken")
    described = manager.describe()
    assert [(d["path"], d["offline"], d["logs"]) for d in described["directories"]] == [
        ("/d1", None, 1),
        ("/d2", "broken", 0),
    ]
    assert described["logs"][0]["partition"] == "orders-0"


def test_repairs_of_indexes_are_told_once(broker: Broker, bench: LogBench) -> None:
    """L4: what is found damaged while the broker runs is told as what is found at the start."""
    broker.config = TopicConfig(index_interval_bytes=50)
    manager = broker.start()
    log = manager.create(ORDERS[0])
    for _ in range(6):
        append(log, bench.batch(3))
    manager.close()
    index = f"{log.path}/00000000000000000000.index"
    broker.disk.file(index).truncate(0)
    again = broker.start()
    (line,) = again.report.lines()
    assert line.endswith(f"the indexes of {log.path}/00000000000000000000.log were made again")
    again.close()
    again = broker.start()
    assert again.report.lines() == again.take_repairs() == []
    reopened = again.get(ORDERS[0])
    assert reopened is not None
    file = broker.disk.file(index)
    file.write_at(b"\xff" * 4, file.size_bytes() - 4)
    reopened.read(17, 100, reopened.end_position, at_least_one=True)
    (line,) = again.take_repairs()
    assert line == f"{index} names no batch at byte -1: the indexes of {index[:-6]}.log were made again"
    assert again.take_repairs() == []
    assert again.online_directories() == ["/d1", "/d2"]


class PowerLost(BaseException):
    """The machine is off: nothing that the broker would do about an error is done."""


def power_off_before(operation_number: int) -> Callable[[str, str], None]:
    left = iter(range(operation_number))

    def before(operation: str, path: str) -> None:
        if next(left, None) is None:
            raise PowerLost

    return before


def busy(bench: LogBench) -> tuple[Broker, LogManager]:
    """A broker with logs in every state that a clean stop may meet."""
    broker = Broker(config=TopicConfig(segment_bytes=400))
    manager = broker.start()
    for partition in ORDERS[:4]:
        log = manager.create(partition, UUID(int=1 + partition.partition))
        for number in range(1 + 3 * partition.partition):
            append(log, bench.batch(3, producer_id=7, producer_epoch=0, base_sequence=3 * number))
    write_checkpoints(manager)
    cut, shortened = manager.get(ORDERS[2]), manager.get(ORDERS[3])
    assert cut is not None
    assert shortened is not None
    cut.truncate_to(12)
    shortened.delete_records_before(4)
    append(shortened, bench.batch(1))
    manager.delete(ORDERS[0])
    manager.create(ORDERS[4], UUID(int=9))
    return broker, manager


def offsets_of(manager: LogManager) -> dict[TopicPartition, tuple[int, int, int, UUID | None]]:
    return {
        log.topic_partition: (
            log.log_start_offset,
            manager.checkpointed_high_watermark(log.topic_partition),
            log.end_offset,
            log.topic_id,
        )
        for log in manager.logs()
    }


@pytest.mark.slow
def test_power_lost_at_any_operation_of_a_clean_stop_never_leaves_a_mark_that_lies(bench: LogBench) -> None:
    """L4, R12, R15: where the mark survives, everything before it does."""
    _, manager = busy(bench)
    whole = {
        log.topic_partition: (
            log.log_start_offset,
            log.high_watermark.offset,
            log.end_offset,
            log.topic_id,
        )
        for log in manager.logs()
    }
    assert len(whole) == 4
    clean = unclean = 0
    for operation_number in count():
        broker, manager = busy(bench)
        broker.disk.before_operation = power_off_before(operation_number)
        try:
            manager.close(7)
        except PowerLost:
            ended = False
        else:
            ended = True
        broker.disk.before_operation = None
        broker.disk.crash(SeededChance(operation_number))
        again = broker.start()
        found = offsets_of(again)
        for directory in again.directories:
            if directory.stopped_cleanly and not directory.is_new:
                clean += 1
                held = {p: whole[p] for p, home in homes(manager).items() if home == directory.path}
                assert {p: found.get(p) for p in held} == held, f"power lost before {operation_number}"
                assert directory.clean_epoch == 7
            else:
                unclean += 1
        if again.stopped_cleanly:
            assert again.report.lines() == [], f"power lost before {operation_number}"
        assert all(found[p][2] <= whole[p][2] for p in found if p in whole)
        if ended:
            break
    assert operation_number > 60
    assert clean >= 3
    assert unclean > 60


def homes(manager: LogManager) -> dict[TopicPartition, str]:
    return {log.topic_partition: log.directory for log in manager.logs()}


def test_the_log_of_a_directory_that_is_gone_is_created_anew_once_it_is_given_up(broker: Broker) -> None:
    """R15: not while another directory is offline, which may have the log still."""
    wanted, other = ORDERS[:2]
    ids = dict.fromkeys((wanted, other), UUID(int=7))
    gone = ExpectedLogs(ids, {UUID(int=7): "orders"}, (wanted, other), directory_ids=(UUID(int=9),))
    manager = broker.start(expected=gone)
    assert manager.is_missing(wanted)
    with pytest.raises(StorageFailure, match="lies in a log directory that is missing"):
        manager.create(wanted, UUID(int=7), is_new=False)
    manager.give_up_missing(wanted)
    assert manager.create(wanted, UUID(int=7), is_new=False).end_offset == 0
    assert not manager.is_offline(wanted)
    assert manager.is_missing(other), "each is given up by itself"
    manager.fail_directory("/d2", "unplugged")
    manager.give_up_missing(other)
    assert manager.is_missing(other)


def test_a_log_that_was_not_needed_at_the_start_may_be_needed_by_the_first_order(broker: Broker) -> None:
    """R15, R16: its leader added the replica to the ISR after the states were read."""
    wanted = ORDERS[0]
    gone = ExpectedLogs(
        {wanted: UUID(int=7)}, {UUID(int=7): "orders"}, in_sync=(), directory_ids=(UUID(int=9),)
    )
    manager = broker.start(expected=gone)
    assert manager.report.missing_logs == [], "none that it may lead is reported"
    with pytest.raises(StorageFailure, match="lies in a log directory that is missing"):
        manager.create(wanted, UUID(int=7), is_new=False)
    manager.give_up_missing(wanted)
    assert manager.create(wanted, UUID(int=7), is_new=False).end_offset == 0


def missing(partition: TopicPartition, epoch: int = EPOCH) -> ExpectedLogs:
    """A store in which this broker may lead a partition, in a later epoch of it than the first."""
    ids = {partition: UUID(int=7)}
    return ExpectedLogs(ids, {UUID(int=7): partition.topic}, [partition], broker_epoch=epoch)


def test_after_a_clean_stop_a_log_that_no_checkpoint_names_was_never_made(broker: Broker) -> None:
    """R15: an order did not reach this broker; what it has is whole."""
    broker.start().close(EPOCH)
    again = broker.start(expected=missing(ORDERS[0]))
    assert (again.report.unmade_logs, again.report.vanished_logs) == ([ORDERS[0]], [])
    assert again.stopped_cleanly


def test_after_a_clean_stop_a_log_that_a_checkpoint_names_has_vanished(broker: Broker) -> None:
    manager = broker.start()
    directory = manager.create(ORDERS[0]).directory
    manager.close(EPOCH)
    broker.disk.remove(f"{directory}/{ORDERS[0]}")
    again = broker.start(expected=missing(ORDERS[0]))
    assert (again.report.unmade_logs, again.report.vanished_logs) == ([], [ORDERS[0]])
    assert not again.stopped_cleanly


@pytest.mark.parametrize("case", ["no mark", "an earlier mark", "no checkpoint", "a damaged checkpoint"])
def test_whether_a_log_was_made_is_known_only_from_checkpoints_of_the_last_stop(
    broker: Broker, case: str
) -> None:
    broker.start().close(EPOCH)
    checkpoint = "/d1/recovery-point-offset-checkpoint"
    if case == "no mark":
        broker.disk.remove("/d1/.kafka_cleanshutdown")
    elif case == "no checkpoint":
        broker.disk.remove(checkpoint)
    elif case == "a damaged checkpoint":
        broker.disk.file(checkpoint).write_at(b"many", 0)
    later = EPOCH + 1 if case == "an earlier mark" else EPOCH
    again = broker.start(expected=missing(ORDERS[0], later))
    assert (again.report.unmade_logs, again.report.vanished_logs) == ([], [ORDERS[0]])
