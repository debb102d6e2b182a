"""What a broker does by itself: which tasks there are, how often, and that one that fails comes again."""

from collections.abc import Iterator
from typing import Final

import pytest

from odradek.base.ids import TopicPartition
from odradek.records.builder import BatchBuilder
from odradek.server.node.schedule import PeriodicTask
from odradek.storage.finding import FindingKind
from odradek.testing.sim import SimNode, World
from odradek.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.server.nodes import NewNode

INTERVALS_MS: Final = {
    "log-retention": ("log_retention_check_interval_ms", 300_000),
    "log-flusher": ("log_flush_scheduler_interval_ms", None),
    "producer-id-expiration": ("producer_id_expiration_check_interval_ms", 600_000),
    "file-deletion": (None, 5_000),
    "index-repair-report": (None, 5_000),
    "recovery-point-checkpoint": ("log_flush_offset_checkpoint_interval_ms", 60_000),
    "log-start-offset-checkpoint": ("log_flush_start_offset_checkpoint_interval_ms", 60_000),
    "high-watermark-checkpoint": ("replica_high_watermark_checkpoint_interval_ms", 5_000),
    "log-cleaner": ("log_cleaner_backoff_ms", 15_000),
    "transaction-abort": ("transaction_abort_timed_out_transaction_cleanup_interval_ms", 10_000),
    "transactional-id-expiration": (
        "transaction_remove_expired_transaction_cleanup_interval_ms",
        3_600_000,
    ),
    "offset-expiration": ("offsets_retention_check_interval_ms", 600_000),
    "isr-expiration": (None, 5_000),
    "isr-change-propagation": (None, 2_500),
    "leader-rebalance": (None, 300_000),
}
"""By task: the setting that says how often, with underscores, and its default; None where there is none."""


def tasks(node: SimNode) -> dict[str, PeriodicTask]:
    return {task.name: task for task in node.node.schedule._tasks}


def write(node: SimNode, *, producer_id: int = -1) -> None:
    builder = BatchBuilder(
        producer_id=producer_id, producer_epoch=min(producer_id, 0), base_sequence=min(producer_id, 0)
    )
    builder.append(node.clock.wall_ms(), None, b"v" * 1_000)
    data = [TopicProduceData("t", partition_data=[PartitionProduceData(0, bytes(builder.build()))])]
    assert (
        node.ask(ProduceRequest(None, 1, 1000, data), 9).responses[0].partition_responses[0].error_code == 0
    )


def with_topic(node: SimNode, **configs: str) -> SimNode:
    settings = [CreatableTopicConfig(name.replace("_", "."), value) for name, value in configs.items()]
    node.ask(CreateTopicsRequest([CreatableTopic("t", 1, 1, [], settings)], timeout_ms=1000))
    return node


def test_there_are_these_tasks_as_often_as_kafka_has_them(new_node: NewNode) -> None:
    """Unless `log.flush.scheduler.interval.ms` is set, Kafka's flusher never runs, and there is none here."""
    found = {name: task._interval_ms() for name, task in tasks(new_node()).items()}
    assert found == {name: default for name, (_, default) in INTERVALS_MS.items() if default is not None}


def test_each_interval_is_a_setting(new_node: NewNode) -> None:
    named = [setting for setting, _ in INTERVALS_MS.values() if setting is not None]
    node = new_node(**{setting: str(1_000 + number) for number, setting in enumerate(named)})
    found = tasks(node)
    for name, (setting, _) in INTERVALS_MS.items():
        if setting is not None:
            assert found[name]._interval_ms() == 1_000 + named.index(setting), name
    half = new_node(replica_lag_time_max_ms="9000")
    assert tasks(half)["isr-expiration"]._interval_ms() == 4_500
    often = new_node(leader_imbalance_check_interval_seconds="7")
    assert tasks(often)["leader-rebalance"]._interval_ms() == 7_000
    assert "leader-rebalance" not in tasks(new_node(auto_leader_rebalance_enable="false"))


def test_retention_deletes_old_segments_and_their_files_follow(
    new_node: NewNode, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    node = with_topic(
        new_node(log_initial_task_delay_ms="1000"),
        retention_ms="60000",
        file_delete_delay_ms="1000",
    )
    write(node)
    node.log("t").roll()
    write(node)
    node.advance(120_000)
    node.log("t").roll()
    node.advance(400_000)
    assert node.log("t").log_start_offset >= 1
    retired = [one for one in caplog.records if one.getMessage().startswith("retention deleted ")]
    size_bytes = vars(retired[0])["bytes"]
    assert retired[0].getMessage() == (
        f"retention deleted 2 segments of t-0: offsets 0 to 1, {size_bytes} bytes (retention.ms)"
    )
    assert size_bytes > 2_000
    assert (vars(retired[0])["topic"], vars(retired[0])["reasons"]) == ("t", ["retention.ms"])
    assert not [name for name, _ in node.disk.list_directory("/data/t-0") if name.endswith(".deleted")]


def test_checkpoints_are_written_without_a_stop(new_node: NewNode) -> None:
    node = with_topic(new_node())
    write(node)
    node.advance(200_000)
    node.kill()
    again = node.started_again()
    assert again.core.logs.checkpointed_high_watermark(TopicPartition("t", 0)) == 1


def test_high_watermarks_are_written_from_the_first_order_on() -> None:
    """R5a: before that, a checkpoint would hold what the start has read, or 0 where it has read nothing."""
    file = "/data/replication-offset-checkpoint"
    world = World(brokers=2)
    here = [CreatableReplicaAssignment(0, [2])]
    world.nodes[1].ask(CreateTopicsRequest([CreatableTopic("t", -1, -1, here)], timeout_ms=1000))
    world.kill(2)
    world.isolate(2)
    again = world.begin(2)
    world.advance(20_000)
    assert (again.has_opened, again.core.replicas.controller_epoch) == (True, 0)
    assert not again.disk.exists(file)
    world.heal()
    world.advance(20_000)
    assert b"t 0 0\n" in again.disk.read(file)


def test_silent_producers_are_forgotten(new_node: NewNode) -> None:
    node = with_topic(new_node(producer_id_expiration_ms="1000"))
    write(node, producer_id=7)
    assert node.log("t").producers.get(7) is not None
    node.advance(700_000)
    assert node.log("t").producers.get(7) is None


def test_an_index_that_is_made_again_is_reported_by_and_by(
    new_node: NewNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = with_topic(new_node())
    repairs: Iterator[list[str]] = iter([["the index of t-0 was made again"]])
    monkeypatch.setattr(type(node.logs), "take_repairs", lambda logs: next(repairs, []))
    node.advance(5_000)
    assert [(one.kind, str(one)) for one in node.findings if one.kind is FindingKind.REPAIRED] == [
        (FindingKind.REPAIRED, "the index of t-0 was made again")
    ]


def test_a_task_that_fails_is_logged_and_comes_again(
    new_node: NewNode, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A full disk today must not end retention for good."""
    node = with_topic(new_node())
    calls: list[int] = []

    def fail(logs: object) -> list[str]:
        calls.append(node.clock.monotonic_ms())
        raise ZeroDivisionError

    monkeypatch.setattr(type(node.logs), "take_repairs", fail)
    node.advance(20_000)
    assert len(calls) == 4
    assert caplog.messages.count("the task index-repair-report failed") == 4


def test_work_over_all_logs_that_fails_in_a_later_slice_is_logged_too(
    new_node: NewNode, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    node = with_topic(new_node())

    def fail(logs: object, now_ms: int) -> Iterator[None]:
        yield
        raise ZeroDivisionError

    monkeypatch.setattr(type(node.logs), "expire_producers", fail)
    node.advance(1_300_000)
    assert caplog.messages.count("a periodic task over all logs failed") == 2


def test_nothing_of_it_runs_after_a_stop(new_node: NewNode) -> None:
    node = new_node()
    node.node.schedule.close()
    assert tasks(node) == {}
    before = node.timer.size
    node.advance(3_600_000)
    assert node.timer.size <= before
