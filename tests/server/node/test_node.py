"""What a node makes of its log directories, life after life (R15)."""

import json
from typing import TypeVar

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import OdradekError
from odradek.base.execution import exhaust
from odradek.base.ids import TopicPartition
from odradek.metadata.store import (
    Delete,
    Deleted,
    StoreSteps,
    ensure,
    read_children,
    read_data,
    run_in_session,
)
from odradek.storage import file_names
from odradek.testing.sim import SimNode
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from odradek.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.batches import BatchOf
from tests.server.nodes import NewNode

PARTITIONS = [TopicPartition("orders", number) for number in range(4)]


def make_topic(node: SimNode, name: str = "orders", partitions: int = 4) -> None:
    answer = node.ask(CreateTopicsRequest([CreatableTopic(name, partitions, 1)], timeout_ms=1000))
    assert answer.topics[0].error_code == 0


def produce(node: SimNode, partition: TopicPartition, records: bytes) -> tuple[int, int]:
    """Error code and base offset."""
    topic = TopicProduceData(
        partition.topic, partition_data=[PartitionProduceData(partition.partition, records)]
    )
    answer = node.ask(ProduceRequest(None, -1, 1000, [topic]), 12)
    found = answer.responses[0].partition_responses[0]
    return found.error_code, found.base_offset


def codes(node: SimNode, batch: BatchOf) -> list[int]:
    return [produce(node, partition, batch(b"x"))[0] for partition in PARTITIONS]


def homes(node: SimNode) -> dict[TopicPartition, str]:
    return {log.topic_partition: log.directory for log in node.logs.logs()}


def said(node: SimNode, part: str) -> list[str]:
    return [line for line in node.logs.report.lines() if part in line]


OK = ErrorCode.NONE


@pytest.fixture
def two(new_node: NewNode, batch: BatchOf) -> SimNode:
    """A node with two log directories; orders-0 and orders-2 lie in /d1, the others in /d2."""
    node = new_node(log_dirs="/d1,/d2")
    make_topic(node)
    assert [homes(node)[partition] for partition in PARTITIONS] == ["/d1", "/d2"] * 2
    assert codes(node, batch) == [OK] * 4
    return node


def unavailable(errors: list[int]) -> list[bool]:
    return [error in (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_LEADER_OR_FOLLOWER) for error in errors]


def test_a_missing_directory_counts_for_its_own_partitions_and_comes_back(
    two: SimNode, batch: BatchOf
) -> None:
    """R15"""
    alone = two.restarted(log_dirs="/d1")
    assert unavailable(codes(alone, batch)) == [False, True, False, True]
    (line,) = said(alone, "not served")
    assert "a log directory that this broker had is missing (directory.id " in line
    assert "orders-1, orders-3; with the directory back at a later start they are served again" in line
    again = alone.restarted(log_dirs="/d1")
    assert unavailable(codes(again, batch)) == [False, True, False, True], "it is not forgotten"
    whole = again.restarted(log_dirs="/d1,/d2")
    assert [produce(whole, partition, batch(b"x")) for partition in PARTITIONS] == [
        (OK, 3),
        (OK, 1),
        (OK, 3),
        (OK, 1),
    ]
    assert whole.logs.report.lines() == []


def test_a_replaced_directory_counts_for_its_own_partitions_and_the_old_one_comes_back(
    two: SimNode, batch: BatchOf
) -> None:
    """R15"""
    two.stop()
    two.disk.rename("/d2", "/unplugged")
    empty = two.started_again()
    assert unavailable(codes(empty, batch)) == [False, True, False, True]
    (line,) = said(empty, "not served")
    assert "and /d2 is new or another disk: orders-1, orders-3;" in line
    empty.stop()
    two.disk.remove("/d2")
    two.disk.rename("/unplugged", "/d2")
    assert codes(empty.started_again(), batch) == [OK] * 4


def test_a_directory_that_lost_its_id_has_lost_nothing(two: SimNode, batch: BatchOf) -> None:
    """R15"""
    two.stop()
    meta = two.disk.read("/d2/meta.properties").decode().splitlines()
    kept = [line for line in meta if not line.startswith("directory.id=")]
    file = two.disk.file("/d2/meta.properties")
    file.truncate(0)
    file.write_at("\n".join(kept).encode(), 0)
    again = two.started_again()
    assert codes(again, batch) == [OK] * 4
    assert again.logs.report.lines() == []


def test_what_a_missing_directory_held_can_be_given_up(two: SimNode, batch: BatchOf) -> None:
    """R15: the topic is deleted and made anew; the old log is a stray when its directory is back."""
    alone = two.restarted(log_dirs="/d1")
    answer = alone.ask(
        DeleteTopicsRequest(topics=[DeleteTopicState(name="orders")], timeout_ms=1000),
    )
    assert answer.responses[0].error_code == 0
    make_topic(alone)
    assert codes(alone, batch) == [OK] * 4
    whole = alone.restarted(log_dirs="/d1,/d2")
    (line,) = said(whole, "-stray")
    assert "orders-1, orders-3 in /d2" in line
    assert [produce(whole, partition, batch(b"x")) for partition in PARTITIONS] == [(OK, 1)] * 4


def test_a_log_of_an_unknown_topic_is_never_adopted(node: SimNode, batch: BatchOf) -> None:
    """R15: the store has lost the topic; one of that name begins at offset 0."""
    make_topic(node, partitions=1)
    assert produce(node, PARTITIONS[0], batch(b"old")) == (OK, 0)
    node.stop()
    forget_topic(node, "orders")
    again = node.started_again()
    (line,) = said(again, "-stray")
    assert line.startswith("the metadata store has no such topics: orders-0 in /data were renamed")
    make_topic(again, partitions=1)
    assert produce(again, PARTITIONS[0], batch(b"new")) == (OK, 0)
    later = again.restarted()
    assert len(said(later, "/data still holds logs of topics that the metadata store does not have")) == 1
    assert produce(later, PARTITIONS[0], batch(b"new")) == (OK, 1)


def test_a_stray_is_taken_back_when_the_store_knows_its_topic_again(node: SimNode, batch: BatchOf) -> None:
    """R15: such as after a damaged metadata file was replaced by its backup."""
    make_topic(node, partitions=1)
    assert produce(node, PARTITIONS[0], batch(b"old")) == (OK, 0)
    node.stop()
    backup = forget_topic(node, "orders")
    lost = node.started_again()
    lost.stop()
    remember_topic(lost, backup)
    again = lost.started_again()
    assert said(again, "orders-0 in /data were taken back")
    assert produce(again, PARTITIONS[0], batch(b"more")) == (OK, 1)


def test_a_log_that_vanished_gives_no_offset_twice(node: SimNode, batch: BatchOf) -> None:
    """R12, R15: the checkpoints say how far it was."""
    make_topic(node, partitions=2)
    for partition in PARTITIONS[:2]:
        for offset in range(3):
            assert produce(node, partition, batch(b"x")) == (OK, offset)
    node.stop()
    node.disk.remove("/data/orders-1")
    again = node.started_again()
    assert said(again, "orders-1") == [
        "the metadata store has orders-1 and no log directory has a log of it: it is made anew, and no offset"
        " that a checkpoint names is given out again"
    ]
    assert produce(again, PARTITIONS[0], batch(b"x")) == (OK, 3)
    assert produce(again, PARTITIONS[1], batch(b"x")) == (OK, 3)


def test_a_creation_that_was_interrupted_does_not_read_like_a_loss(node: SimNode, batch: BatchOf) -> None:
    """R15: the store has the topic, no log was made and no checkpoint names one."""
    make_topic(node, partitions=1)
    assert produce(node, PARTITIONS[0], batch(b"x")) == (OK, 0)
    make_topic(node, "new", partitions=2)
    node.kill()
    for name in ("new-0", "new-1"):
        node.disk.remove(f"/data/{name}")
    again = node.started_again()
    assert said(again, "new-0") == [
        "the creation of new-0, new-1 was interrupted before there was a log: it is finished now"
    ]
    assert produce(again, TopicPartition("new", 0), batch(b"x")) == (OK, 0)


def test_a_new_log_that_vanished_after_a_checkpoint_is_a_loss(node: SimNode, batch: BatchOf) -> None:
    """R15: it had been made."""
    make_topic(node, partitions=1)
    assert produce(node, PARTITIONS[0], batch(b"x")) == (OK, 0)
    for write in exhaust(node.logs.checkpoints.high_watermarks()):
        write.run()
    node.kill()
    node.disk.remove("/data/orders-0")
    (line,) = said(node.started_again(), "orders-0")
    assert "it is made anew" in line


@pytest.mark.parametrize("is_clean", [True, False])
def test_a_log_that_ends_below_its_checkpoint_counts_after_a_clean_stop_only(
    node: SimNode, batch: BatchOf, *, is_clean: bool
) -> None:
    """R15: after a kill the loss may be that of an earlier power cut; it has what it had (seed 25)."""
    make_topic(node, partitions=1)
    for offset in range(3):
        assert produce(node, PARTITIONS[0], batch(b"x")) == (OK, offset)
    for write in exhaust(node.logs.checkpoints.high_watermarks()):
        write.run()
    if is_clean:
        node.stop()
    else:
        node.kill()
    for name, _ in node.disk.list_directory("/data/orders-0"):
        if name.endswith(".log"):
            node.disk.remove(f"/data/orders-0/{name}")
    again = node.started_again()
    assert said(again, "had reached offset 3")
    assert again.logs.report.lacks_records
    assert again.logs.is_as_it_was_left is not is_clean
    assert not again.logs.stopped_cleanly


def test_an_old_copy_of_a_directory_does_not_pass_for_a_clean_stop(node: SimNode, batch: BatchOf) -> None:
    """R15: the clean mark names the run that stopped."""
    make_topic(node, partitions=1)
    node.stop()
    mark = node.disk.read("/data/.kafka_cleanshutdown")
    second = node.started_again()
    assert second.logs.stopped_cleanly
    assert second.logs.report.lines() == []
    second.stop()
    file = second.disk.file("/data/.kafka_cleanshutdown")
    file.truncate(0)
    file.write_at(mark, 0)
    third = second.started_again()
    assert not third.logs.stopped_cleanly
    assert len(said(third, "orders-0")) == 0
    assert len(said(third, "it looks like an old copy")) == 1
    assert file_names.CLEAN_SHUTDOWN not in [name for name, _ in third.disk.list_directory("/data")]


def test_a_metadata_store_that_is_an_old_copy_is_reported(node: SimNode, batch: BatchOf) -> None:
    """R15: the clean mark names a run that the store does not know; the logs lack nothing."""
    make_topic(node, partitions=1)
    assert produce(node, PARTITIONS[0], batch(b"x")) == (OK, 0)
    node.stop()
    mark = json.loads(node.disk.read("/data/.kafka_cleanshutdown"))
    mark["brokerEpoch"] += 50
    put(node, "/data/.kafka_cleanshutdown", json.dumps(mark).encode())
    again = node.started_again()
    assert said(again, "looks like an old copy") == [
        f"/data was stopped cleanly in a later run of this broker (epoch {mark['brokerEpoch']}) than the"
        " metadata store knows: the store looks like an old copy, and what was created, deleted or altered"
        " since is missing in it"
    ]
    assert not again.logs.stopped_cleanly
    assert produce(again, PARTITIONS[0], batch(b"x")) == (OK, 1)


def put(node: SimNode, path: str, data: bytes) -> None:
    """Write a whole file."""
    file = node.disk.file(path, create=True)
    file.truncate(0)
    file.write_at(data, 0)


def test_a_log_that_an_old_copy_lacks_was_not_interrupted(node: SimNode, batch: BatchOf) -> None:
    """R15: its topic was made after the copy."""
    make_topic(node, partitions=1)
    assert produce(node, PARTITIONS[0], batch(b"x")) == (OK, 0)
    node.stop()
    copied = [f"/data/{name}" for name, size_bytes in node.disk.list_directory("/data") if size_bytes > 0]
    copy = {path: node.disk.read(path) for path in copied}
    second = node.started_again()
    make_topic(second, "new", partitions=1)
    assert produce(second, TopicPartition("new", 0), batch(b"x")) == (OK, 0)
    second.stop()
    second.disk.remove("/data/new-0")
    for path, data in copy.items():
        put(second, path, data)
    third = second.started_again()
    assert len(said(third, "it looks like an old copy")) == 1
    assert said(third, "new-0") == [
        "the metadata store has new-0 and no log directory has a log of it: it is made anew, and no offset"
        " that a checkpoint names is given out again"
    ]
    assert produce(third, PARTITIONS[0], batch(b"x")) == (OK, 1)


T = TypeVar("T")


def in_session(node: SimNode, process: StoreSteps[T]) -> T:
    """What a process does in a session beside the node's."""
    outcomes: list[T | OdradekError] = []
    run_in_session(node.store.session(), process, outcomes.append)
    node.store.deliver()
    (outcome,) = outcomes
    assert not isinstance(outcome, OdradekError), outcome
    return outcome


def forget_topic(node: SimNode, name: str) -> list[tuple[str, bytes]]:
    """Take a topic out of the metadata store, as a damaged file does; what was there, parents first."""

    def forget() -> StoreSteps[list[tuple[str, bytes]]]:
        taken: list[tuple[str, bytes]] = []
        waiting = [f"/brokers/topics/{name}"]
        while waiting:
            path = waiting.pop(0)
            found = yield from read_data(path)
            assert found is not None, path
            taken.append((path, found.data))
            waiting += [f"{path}/{child}" for child in (yield from read_children(path))]
        for path, _ in reversed(taken):
            assert isinstance((yield Delete(path)), Deleted)
        return taken

    return in_session(node, forget())


def remember_topic(node: SimNode, taken: list[tuple[str, bytes]]) -> None:
    def remember() -> StoreSteps[None]:
        for path, data in taken:
            yield from ensure(path, data)

    in_session(node, remember())
