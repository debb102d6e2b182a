"""Log directories: what is asked of which broker, and what its answers mean."""

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError, ElementsRefused
from odradek.base.ids import TopicPartition
from odradek.client.core.admin.log_dirs import (
    LogDirectory,
    ReplicaCopy,
    ReplicaLogDir,
    TopicPartitionReplica,
    alter_replica_log_dirs,
    describe_log_dirs,
    describe_replica_log_dirs,
    log_directories_there,
    move_directories_there,
)
from odradek.client.core.requests import ToNode
from odradek.net.request_pipeline import ConnectionFailed
from odradek.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)
from odradek.wire.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from tests.client.core.running import Running

FLIGHTS_ON_1 = TopicPartitionReplica("flights", 0, 1)
FLIGHTS_ON_2 = TopicPartitionReplica("flights", 0, 2)
PLANES_ON_1 = TopicPartitionReplica("planes", 3, 1)


def moved(**codes: ErrorCode) -> AlterReplicaLogDirsResponse:
    """An answer about partition 0 of flights and 3 of planes."""
    numbers = {"flights": 0, "planes": 3}
    return AlterReplicaLogDirsResponse(
        results=[
            AlterReplicaLogDirTopicResult(topic, [AlterReplicaLogDirPartitionResult(numbers[topic], code)])
            for topic, code in codes.items()
        ]
    )


def logs(*found: tuple[str, int, int, bool]) -> DescribeLogDirsResponse:
    """An answer with logs of partition 0 of flights: (directory, bytes, lag, whether it is a copy)."""
    return DescribeLogDirsResponse(
        results=[
            DescribeLogDirsResult(
                log_dir=path,
                topics=[DescribeLogDirsTopic("flights", [DescribeLogDirsPartition(0, size, lag, is_copy)])],
            )
            for path, size, lag, is_copy in found
        ]
    )


def test_each_broker_gets_the_moves_of_its_replicas() -> None:
    running = Running(alter_replica_log_dirs({FLIGHTS_ON_1: "/a", FLIGHTS_ON_2: "/b", PLANES_ON_1: "/a"}))
    asked = []
    for send in running.sends:
        assert isinstance(send.request, AlterReplicaLogDirsRequest)
        wanted = [
            (directory.path, topic.name, topic.partitions)
            for directory in send.request.dirs
            for topic in directory.topics
        ]
        asked.append((send.to, wanted))
    assert asked == [
        (ToNode(1), [("/a", "flights", [0]), ("/a", "planes", [3])]),
        (ToNode(2), [("/b", "flights", [0])]),
    ]
    running.answer(moved(flights=ErrorCode.NONE, planes=ErrorCode.NONE), moved(flights=ErrorCode.NONE))
    assert running.result is None


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.LOG_DIR_NOT_FOUND,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ],
)
def test_a_refused_move_is_named_and_not_asked_for_again(code: ErrorCode) -> None:
    running = Running(alter_replica_log_dirs({FLIGHTS_ON_1: "/a", PLANES_ON_1: "/a"}))
    with pytest.raises(ElementsRefused) as refused:
        running.answer(moved(flights=code, planes=ErrorCode.NONE))
    words = code.name.lower().replace("_", " ")
    assert str(refused.value) == f"flights-0 on broker 1: {words}; moved: planes-3 on broker 1"
    assert {name: error.code for name, error in refused.value.refused.items()} == {FLIGHTS_ON_1: code}


def test_a_move_whose_answer_was_lost_is_asked_for_again() -> None:
    running = Running(alter_replica_log_dirs({FLIGHTS_ON_1: "/a"}))
    running.answer(ConnectionFailed("reset"))
    running.resume()
    running.answer(moved(flights=ErrorCode.NONE))
    assert running.result is None


def test_a_replica_has_a_place_and_may_have_a_future_one() -> None:
    running = Running(describe_replica_log_dirs([FLIGHTS_ON_1, FLIGHTS_ON_2]))
    for send in running.sends:
        assert isinstance(send.request, DescribeLogDirsRequest)
        assert [(one.topic, one.partitions) for one in send.request.topics or []] == [("flights", [0])]
    running.answer(logs(("/a", 500, 2, False), ("/b", 100, 40, True)), logs())
    assert running.result == {
        FLIGHTS_ON_1: ReplicaLogDir("/a", 2, "/b", 40),
        FLIGHTS_ON_2: ReplicaLogDir(None),
    }


def test_a_broker_that_refuses_to_describe_its_directories_is_named() -> None:
    running = Running(describe_replica_log_dirs([FLIGHTS_ON_1, FLIGHTS_ON_2]))
    with pytest.raises(ElementsRefused, match="flights-0 on broker 2: cluster authorization failed"):
        running.answer(
            logs(("/a", 500, 0, False)),
            DescribeLogDirsResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED),
        )


def test_directories_tell_replicas_from_copies() -> None:
    running = Running(describe_log_dirs([1]))
    answer = logs(("/a", 500, 0, False), ("/b", 100, 40, True))
    answer.results[0].total_bytes, answer.results[0].usable_bytes = 1_000, 600
    answer.results[1].is_cordoned = True
    answer.results.append(DescribeLogDirsResult(ErrorCode.KAFKA_STORAGE_ERROR, "/c"))
    running.answer(answer)
    flights = TopicPartition("flights", 0)
    assert running.result == [
        LogDirectory(1, "/a", ErrorCode.NONE, 1_000, 600, {flights: 500}),
        LogDirectory(1, "/b", ErrorCode.NONE, None, None, {}, {flights: ReplicaCopy(100, 40)}, True),
        LogDirectory(1, "/c", ErrorCode.KAFKA_STORAGE_ERROR, None, None, {}),
    ]


def test_a_broker_that_is_not_in_the_cluster_is_an_error() -> None:
    running = Running(describe_log_dirs([7]))
    with pytest.raises(ApiError, match="the cluster has no broker 7"):
        running.answer(ApiError(ErrorCode.BROKER_NOT_AVAILABLE, "the cluster has no broker 7"))


def test_directories_are_those_of_the_brokers_that_are_there() -> None:
    running = Running(log_directories_there([FLIGHTS_ON_2, FLIGHTS_ON_1]))
    assert [send.to for send in running.sends] == [ToNode(1), ToNode(2)]
    running.answer(logs(("/a", 5, 0, False), ("/b", 2, 3, True)), ConnectionFailed("gone"))
    assert list(running.result) == [1]
    assert running.result[1].paths == ["/a", "/b"]
    assert running.result[1].places == {FLIGHTS_ON_1: ReplicaLogDir("/a", 0, "/b", 3)}


def test_a_broker_that_does_not_let_its_directories_be_seen_is_an_error() -> None:
    running = Running(log_directories_there([FLIGHTS_ON_1]))
    with pytest.raises(ApiError, match="the log directories of broker 1: cluster authorization failed"):
        running.answer(DescribeLogDirsResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED))


def test_each_replica_that_is_to_move_has_an_answer_also_of_a_broker_that_gives_none() -> None:
    running = Running(move_directories_there({FLIGHTS_ON_1: "/a", FLIGHTS_ON_2: "/a", PLANES_ON_1: "/b"}))
    assert [send.to for send in running.sends] == [ToNode(1), ToNode(2)]
    running.answer(moved(flights=ErrorCode.REPLICA_NOT_AVAILABLE), ConnectionFailed("gone"))
    assert running.result == {
        FLIGHTS_ON_1: ErrorCode.REPLICA_NOT_AVAILABLE,
        FLIGHTS_ON_2: ErrorCode.BROKER_NOT_AVAILABLE,
        PLANES_ON_1: ErrorCode.BROKER_NOT_AVAILABLE,
    }
