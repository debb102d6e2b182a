"""A log moves to another log directory: while it is written, cut, deleted, and while everything may end."""

from collections.abc import Callable, Iterator
from itertools import count

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import TopicPartition
from odradek.storage import Log
from odradek.storage.finding import FindingKind
from odradek.testing.sim import SimNode, SimRequest, World
from odradek.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from odradek.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from odradek.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from odradek.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from odradek.wire.messages.describe_log_dirs import DescribeLogDirsRequest
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from odradek.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from tests.batches import make_batch

P = TopicPartition("orders", 0)
FIRST, SECOND = "/data", "/more"
DIRECTORIES = f"{FIRST},{SECOND}"
THROTTLED = {"replica_alter_log_dirs_io_max_bytes_per_second": "1000"}
A_MINUTE_MS = 60_000


def start(seed: int = 1, /, **settings: str) -> SimNode:
    node = World(seed).node(0, **{"log_dirs": DIRECTORIES, **settings})
    configs = [CreatableTopicConfig("segment.bytes", "1048576")]
    node.ask(CreateTopicsRequest([CreatableTopic("orders", 1, 1, configs=configs)], timeout_ms=1000))
    assert node.log("orders").directory == FIRST
    return node


def send(node: SimNode, *values: bytes, acks: int = -1) -> SimRequest[ProduceResponse]:
    part = PartitionProduceData(0, make_batch(*values))
    return node.send(
        ProduceRequest(None, acks, 1000, [TopicProduceData("orders", partition_data=[part])]), 12
    )


def produce(node: SimNode, *values: bytes) -> None:
    sent = send(node, *values)
    node.settle()
    assert sent.answer.responses[0].partition_responses[0].error_code == ErrorCode.NONE


def move(node: SimNode, path: str = SECOND, topic: str = "orders") -> SimRequest:  # type: ignore[type-arg]
    return node.send(
        AlterReplicaLogDirsRequest([AlterReplicaLogDir(path, [AlterReplicaLogDirTopic(topic, [0])])])
    )


def moved(node: SimNode, path: str = SECOND, topic: str = "orders") -> ErrorCode:
    sent = move(node, path, topic)
    node.settle()
    (result,) = sent.answer.results
    return ErrorCode(result.partitions[0].error_code)


def shown(node: SimNode) -> dict[tuple[str, bool], tuple[int, int]]:
    """Size and lag of the logs of the topic, by directory and whether it is a copy."""
    return {
        (directory.log_dir, part.is_future_key): (part.partition_size, part.offset_lag)
        for directory in node.ask(DescribeLogDirsRequest(None)).results
        for topic in directory.topics
        for part in topic.partitions
    }


def content(log: Log) -> bytes:
    return b"".join(bytes(segment.read(0, segment.size_bytes)) for segment in log.segments)


def names(node: SimNode) -> list[str]:
    """What belongs to the topic in the log directories: `/data/orders-0`, `/more/orders-0.X-future`."""
    found = []
    for directory in (FIRST, SECOND):
        for name, _ in node.disk.list_directory(directory):
            if name.startswith("orders-0"):
                base, _, ending = name.partition(".")
                found.append(f"{directory}/{base}" + (f".X-{ending.rpartition('-')[2]}" if ending else ""))
    return found


def test_a_log_moves_with_all_that_belongs_to_it() -> None:
    node = start()
    for number in range(30):
        produce(node, b"%d" % number, bytes(100_000))
    before = node.log("orders")
    held = content(before)
    assert len(list(before.segments)) > 2
    assert moved(node) is ErrorCode.NONE
    node.advance(A_MINUTE_MS)
    log = node.log("orders")
    assert (log.directory, log.path) == (SECOND, f"{SECOND}/orders-0")
    assert content(log) == held
    assert (log.log_start_offset, log.high_watermark.offset, log.end_offset) == (0, 60, 60)
    assert log.topic_id == before.topic_id
    assert log.latest_epoch == before.latest_epoch
    assert shown(node) == {(SECOND, False): (len(held), 0)}
    produce(node, b"after")
    assert node.log("orders").end_offset == 61
    node.advance(2 * A_MINUTE_MS)
    assert names(node) == [f"{SECOND}/orders-0"], "the old files are removed after their delay"
    again = node.restarted()
    assert again.findings == []
    assert content(again.log("orders"))[: len(held)] == held
    assert again.log("orders").high_watermark.offset == 61


def test_the_copy_and_its_lag_are_shown_while_it_moves() -> None:
    node = start(**THROTTLED)
    for _ in range(20):
        produce(node, bytes(100_000))
    assert moved(node) is ErrorCode.NONE
    size = node.log("orders").size_bytes
    copied, lag = shown(node)[SECOND, True]
    assert 0 < copied < size
    assert 0 < lag < 20
    assert shown(node)[FIRST, False] == (size, 0)
    assert names(node) == [f"{FIRST}/orders-0", f"{SECOND}/orders-0.X-future"]
    node.advance(20_000)
    assert shown(node)[SECOND, True][0] > copied, "it goes on at the rate of the limit"


def test_what_is_written_meanwhile_moves_too() -> None:
    node = start(**THROTTLED)
    for _ in range(5):
        produce(node, bytes(1000))
    assert moved(node) is ErrorCode.NONE
    for number in range(20):
        produce(node, b"%d" % number)
        node.advance(1_000)
    node.advance(10 * A_MINUTE_MS)
    log = node.log("orders")
    assert (log.directory, log.end_offset) == (SECOND, 25)


def test_a_second_directory_replaces_the_first_and_the_present_one_cancels() -> None:
    node = start(log_dirs=f"{DIRECTORIES},/third", **THROTTLED)
    for _ in range(5):
        produce(node, bytes(1000))
    assert moved(node, SECOND) is ErrorCode.NONE
    assert moved(node, SECOND) is ErrorCode.NONE
    assert (SECOND, True) in shown(node)
    assert moved(node, "/third") is ErrorCode.NONE
    assert set(shown(node)) == {(FIRST, False), ("/third", True)}
    assert moved(node, FIRST) is ErrorCode.NONE
    assert set(shown(node)) == {(FIRST, False)}
    node.advance(A_MINUTE_MS)
    assert names(node) == [f"{FIRST}/orders-0"], "the copies are removed"
    assert moved(node, "/third") is ErrorCode.NONE
    node.advance(10 * A_MINUTE_MS)
    assert set(shown(node)) == {("/third", False)}


def test_kafkas_error_codes() -> None:
    node = start(log_dirs=f"{DIRECTORIES},/third")
    assert moved(node, "/elsewhere") is ErrorCode.LOG_DIR_NOT_FOUND
    assert moved(node, SECOND, "unknown") is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert moved(node, SECOND, "a" * 240) is ErrorCode.INVALID_TOPIC_EXCEPTION
    node.logs.directories[1].fail("broken")
    assert moved(node, SECOND) is ErrorCode.KAFKA_STORAGE_ERROR
    assert moved(node, FIRST) is ErrorCode.NONE
    node.logs.directories[0].fail("broken")
    assert moved(node, "/third") is ErrorCode.KAFKA_STORAGE_ERROR


def test_the_directory_of_a_log_is_chosen_before_it_is_there() -> None:
    node = start()
    for topic, path in (("one", FIRST), ("two", FIRST), ("three", SECOND)):
        assert moved(node, path, topic) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        node.ask(CreateTopicsRequest([CreatableTopic(topic, 1, 1)], timeout_ms=1000))
        assert node.log(topic).directory == path


def test_many_choices_for_logs_to_come_are_bounded() -> None:
    node = start()
    for number in range(10_001):
        node.logs.prefer(TopicPartition("later", number), FIRST)
    assert len(node.logs._preferred) == 10_000
    assert TopicPartition("later", 0) not in node.logs._preferred


def test_a_deleted_topic_takes_its_copy_with_it() -> None:
    node = start(**THROTTLED)
    for _ in range(5):
        produce(node, bytes(1000))
    assert moved(node) is ErrorCode.NONE
    answer = node.ask(DeleteTopicsRequest(topics=[DeleteTopicState("orders")], timeout_ms=1000))
    assert answer.responses[0].error_code == ErrorCode.NONE
    node.advance(2 * A_MINUTE_MS)
    assert names(node) == []
    assert shown(node) == {}
    assert node.logs.moves.copies() == []


def test_records_deleted_meanwhile_do_not_come_back() -> None:
    """R12: the log start is in the checkpoint of the new directory before the names change."""
    node = start(**THROTTLED)
    for _ in range(8):
        produce(node, bytes(1000))
    assert moved(node) is ErrorCode.NONE
    part = DeleteRecordsPartition(0, 5)
    node.ask(DeleteRecordsRequest([DeleteRecordsTopic("orders", [part])], 1000))
    node.advance(10 * A_MINUTE_MS)
    assert (node.log("orders").directory, node.log("orders").log_start_offset) == (SECOND, 5)
    node.kill()
    again = node.started_again()
    assert again.log("orders").log_start_offset == 5
    assert again.log("orders").end_offset == 8


def fetch(node: SimNode, offset: int) -> SimRequest[FetchResponse]:
    topic = node.topic("orders").topic_id
    part = FetchPartition(0, fetch_offset=offset, partition_max_bytes=1 << 20)
    return node.send(
        FetchRequest(
            max_wait_ms=30_000, min_bytes=1, max_bytes=1 << 20, topics=[FetchTopic("", topic, [part])]
        ),
        13,
    )


def test_a_parked_fetch_is_answered_from_the_moved_log() -> None:
    node = start()
    produce(node, b"a", b"b")
    parked = fetch(node, 2)
    node.settle()
    assert parked.answers == []
    assert moved(node) is ErrorCode.NONE
    node.advance(1_000)
    assert node.log("orders").directory == SECOND
    assert parked.answers == []
    produce(node, b"c")
    assert (
        parked.answer.responses[0].partitions[0].records
        == content(node.log("orders"))[-len(make_batch(b"c")) :]
    )


def test_acks_that_wait_for_the_disk_come_when_the_log_has_moved() -> None:
    node = start(odradek_log_flush_before_ack="true")
    produce(node, b"a")
    move(node)
    sent = [send(node, b"%d" % number) for number in range(20)]
    node.settle()
    assert node.log("orders").directory == SECOND
    assert all(one.answer.responses[0].partition_responses[0].error_code == 0 for one in sent)
    assert node.log("orders").end_offset == 21


@pytest.mark.parametrize("stop", ["clean", "kill"])
def test_a_start_goes_on_with_the_move(stop: str) -> None:
    node = start(**THROTTLED)
    for _ in range(40):
        produce(node, bytes(20_000))
    assert moved(node) is ErrorCode.NONE
    copied = shown(node)[SECOND, True][0]
    assert copied > 10_000
    if stop == "clean":
        again = node.restarted()
        (told,) = [str(one) for one in again.findings]
        assert told == f"moving orders-0 to {SECOND} goes on where it was"
        assert shown(again)[SECOND, True][0] >= copied
    else:
        node.kill()
        again = node.started_again()
        assert any("begins again" in str(one) for one in again.findings)
    faster = again.restarted(replica_alter_log_dirs_io_max_bytes_per_second="1000000000")
    faster.advance(A_MINUTE_MS)
    assert (faster.log("orders").directory, faster.log("orders").end_offset) == (SECOND, 40)


@pytest.mark.parametrize("failing", [FIRST, SECOND])
def test_a_directory_that_fails_meanwhile(failing: str) -> None:
    """R6: only its own logs are offline; the copy stays on disk for the next start."""
    node = start(**THROTTLED)
    for _ in range(5):
        produce(node, bytes(1000))
    assert moved(node) is ErrorCode.NONE
    node.core.replicas.directory_failed(failing, "broken")
    node.advance(10 * A_MINUTE_MS)
    assert node.logs.moves.copies() == []
    assert names(node) == [f"{FIRST}/orders-0", f"{SECOND}/orders-0.X-future"]
    if failing == SECOND:
        produce(node, b"goes on")
        assert node.log("orders").directory == FIRST
    node.kill()
    again = node.started_again(replica_alter_log_dirs_io_max_bytes_per_second="1000000000")
    again.advance(A_MINUTE_MS)
    assert (again.log("orders").directory, again.log("orders").end_offset) == (
        SECOND,
        6 if failing == SECOND else 5,
    )


# --- everything may end at any operation of the disk


def writes_while_it_moves(node: SimNode) -> Iterator[SimRequest[ProduceResponse]]:
    """A move, with records before it and all through it."""
    move(node)
    for number in range(12):
        yield send(node, b"%d" % number, bytes(40_000))
        for _ in range(25):
            if node.is_alive:
                node.world.step()
    node.settle()


def acknowledged(node: SimNode, sent: list[SimRequest[ProduceResponse]]) -> int:
    """The offset below which all was acknowledged."""
    last = 0
    for one in sent:
        if one.answers:
            part = one.answer.responses[0].partition_responses[0]
            if part.error_code == ErrorCode.NONE:
                last = max(last, part.base_offset + 2)
    return last


def die_by_kill(node: SimNode, operations: int) -> None:
    node.kill_within(operations)


def die_by_power(node: SimNode, operations: int) -> None:
    node.lose_power_within(operations)


@pytest.mark.slow
@pytest.mark.parametrize("die", [die_by_kill, die_by_power])
@pytest.mark.parametrize("seed", [1, 2])
def test_one_log_with_all_that_was_acknowledged_whenever_the_broker_dies(
    die: Callable[[SimNode, int], None], seed: int
) -> None:
    """L4, X6: at any operation of the disk during a move."""
    homes: list[str] = []
    kinds: set[FindingKind] = set()
    for operations in count(seed, 3):
        node = start(seed, odradek_log_flush_before_ack="true")
        for number in range(5):
            produce(node, b"before %d" % number, bytes(30_000))
        held = content(node.log("orders"))
        die(node, operations)
        sent = list(writes_while_it_moves(node))
        if node.is_alive:
            node.advance(1_000)
        survived, was_alive = acknowledged(node, sent), node.is_alive
        if was_alive:
            node.kill()
        again = node.started_again()
        again.settle()
        kinds |= {one.kind for one in again.findings}
        log = again.log("orders")
        where = f"after {operations} operations"
        assert log.end_offset >= max(10, survived), where
        assert content(log).startswith(held), where
        produce(again, b"goes on")
        again.advance(A_MINUTE_MS)
        log = again.log("orders")
        assert content(log).startswith(held), where
        homes.append(log.directory)
        last = again.restarted()
        last.advance(2 * A_MINUTE_MS)
        left = [name for name in names(last) if not name.endswith("-stray")]
        assert left == [f"{last.log('orders').directory}/orders-0"], where
        if was_alive:
            break
    assert homes[-1] == SECOND
    assert operations > 40
    assert FindingKind.MOVE_CONTINUED in kinds
    assert not kinds & {FindingKind.RECORDS_LOST, FindingKind.MOVE_LEFT}
    assert die is die_by_power or FindingKind.MOVE_ENDED not in kinds
