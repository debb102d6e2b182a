"""Moves of replicas, elections, the quorum, features: raw answers, and Apache Kafka's own tools."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from peers import BrokerProcess, KafkaTools, ToolFailed
from peers.waiting import wait_until

from compat.admins.confluent import ConfluentAdmin
from compat.clients import CLIENTS, Client, Record
from odradek.base.error_codes import ErrorCode
from odradek.net.blocking_connection import BrokerConnection
from odradek.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from odradek.wire.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    PartitionData,
    TopicData,
)
from odradek.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    ListPartitionReassignmentsTopics,
)
from odradek.wire.messages.update_features import (
    FeatureUpdateKey,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)

NOBODY = 4_711
"""A broker that is not there."""


@pytest.fixture
def brokers(broker: BrokerProcess) -> list[int]:
    """The ids of the brokers."""
    return sorted(ConfluentAdmin(broker.bootstrap, len(broker.ports)).cluster().brokers)


@pytest.fixture
def three(brokers: list[int]) -> list[int]:
    """The ids of three brokers."""
    if len(brokers) < 3:
        pytest.skip("replicas move between brokers: --brokers 3")
    return brokers


# --- raw answers


def alter(
    connection: BrokerConnection, topic: str, *partitions: tuple[int, list[int] | None], version: int = 0
) -> list[ErrorCode]:
    wanted = [ReassignablePartition(number, replicas) for number, replicas in partitions]
    request = AlterPartitionReassignmentsRequest(topics=[ReassignableTopic(topic, wanted)], timeout_ms=5_000)
    answer = connection.call(request, AlterPartitionReassignmentsResponse, version)
    assert answer.error_code == ErrorCode.NONE
    (result,) = answer.responses
    assert result.name == topic
    assert [one.partition_index for one in result.partitions] == [number for number, _ in partitions]
    return [ErrorCode(one.error_code) for one in result.partitions]


@pytest.mark.needs_api("AlterPartitionReassignments")
@pytest.mark.parametrize("version", [0, 1])
def test_moves_that_cannot_be(
    connection: BrokerConnection, new_topic: Callable[..., str], brokers: list[int], version: int
) -> None:
    topic, one = new_topic(partitions=2), brokers[0]
    unknown, invalid = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.INVALID_REPLICA_ASSIGNMENT
    none_under_way = ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
    assert alter(connection, "none", (0, [one]), (1, None), version=version) == [unknown, unknown]
    assert alter(connection, topic, (7, [one]), (8, None), version=version) == [unknown, unknown]
    assert alter(connection, topic, (0, None), (1, None), version=version) == [none_under_way] * 2
    for replicas in ([NOBODY], [], [one, one], [-1], [one, NOBODY], [one, -5], [NOBODY, NOBODY]):
        assert alter(connection, topic, (0, replicas), version=version) == [invalid], replicas


@pytest.mark.needs_api("AlterPartitionReassignments")
def test_a_fault_of_one_partition_is_not_that_of_another(
    connection: BrokerConnection, new_topic: Callable[..., str], brokers: list[int], tools: KafkaTools
) -> None:
    topic = new_topic(partitions=2)
    now = list(ConfluentAdmin(tools.bootstrap, len(brokers)).partitions(topic)[0].replicas)
    assert alter(connection, topic, (0, now), (1, [NOBODY])) == [
        ErrorCode.NONE,
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
    ]


@pytest.mark.needs_api("AlterPartitionReassignments")
def test_another_number_of_replicas_may_be_forbidden(
    connection: BrokerConnection, three: list[int], topic: str
) -> None:
    """KIP-860; the same request without the flag is carried out."""
    request = AlterPartitionReassignmentsRequest(
        timeout_ms=5_000,
        allow_replication_factor_change=False,
        topics=[ReassignableTopic(topic, [ReassignablePartition(0, three[:2])])],
    )
    answer = connection.call(request, AlterPartitionReassignmentsResponse, 1)
    assert answer.responses[0].partitions[0].error_code == ErrorCode.INVALID_REPLICATION_FACTOR


@pytest.mark.needs_api("ListPartitionReassignments")
@pytest.mark.parametrize("named", [None, [], [("none", [0])], [("", [0])], [("TOPIC", [0, 9])]])
def test_nothing_is_listed_where_nothing_moves(
    connection: BrokerConnection, topic: str, named: list[tuple[str, list[int]]] | None
) -> None:
    topics = None
    if named is not None:
        topics = [
            ListPartitionReassignmentsTopics(topic if name == "TOPIC" else name, numbers)
            for name, numbers in named
        ]
    request = ListPartitionReassignmentsRequest(5_000, topics)
    answer = connection.call(request, ListPartitionReassignmentsResponse, 0)
    assert (answer.error_code, answer.topics) == (ErrorCode.NONE, [])


@pytest.mark.needs_api("DescribeQuorum")
@pytest.mark.parametrize("version", [0, 1, 2])
def test_partitions_without_a_quorum(connection: BrokerConnection, version: int) -> None:
    def ask(*topics: tuple[str, list[int]]) -> list[tuple[str, list[tuple[int, int]]]]:
        wanted = [TopicData(name, [PartitionData(one) for one in numbers]) for name, numbers in topics]
        answer = connection.call(DescribeQuorumRequest(wanted), DescribeQuorumResponse, version)
        assert answer.error_code == ErrorCode.NONE
        return [
            (one.topic_name, [(each.partition_index, each.error_code) for each in one.partitions])
            for one in answer.topics
        ]

    log, unknown = "__cluster_metadata", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert ask((log, [0])) == [(log, [(0, ErrorCode.NONE)])]
    assert ask(("x", [0])) == [("x", [(0, unknown)])]
    assert ask((log, [0, 1])) == [(log, [(0, unknown), (1, unknown)])]
    assert ask((log, [0]), ("x", [0])) == [(log, [(0, unknown)]), ("x", [(0, unknown)])]
    assert ask() == []
    assert ask((log, [])) == [(log, [])]


@pytest.mark.needs_api("UpdateFeatures")
@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    ("feature", "level", "kind", "code"),
    [
        ("transaction.version", 2, 1, ErrorCode.NONE),
        ("group.version", 1, 1, ErrorCode.NONE),
        ("nonsense", 1, 1, ErrorCode.INVALID_UPDATE_VERSION),
        ("nonsense", 0, 3, ErrorCode.INVALID_UPDATE_VERSION),
        ("", 1, 1, ErrorCode.INVALID_UPDATE_VERSION),
        ("transaction.version", 9, 1, ErrorCode.INVALID_UPDATE_VERSION),
        ("transaction.version", -1, 1, ErrorCode.INVALID_UPDATE_VERSION),
        ("transaction.version", 1, 1, ErrorCode.INVALID_UPDATE_VERSION),
        ("group.version", 0, 1, ErrorCode.INVALID_UPDATE_VERSION),
        ("transaction.version", 1, 0, ErrorCode.INVALID_UPDATE_VERSION),
        ("transaction.version", 1, 9, ErrorCode.INVALID_UPDATE_VERSION),
    ],
)
def test_levels_of_features(
    connection: BrokerConnection, feature: str, level: int, kind: int, code: ErrorCode, version: int
) -> None:
    for updates in ([("group.version", 1, 1), (feature, level, kind)], [(feature, level, kind)]):
        keys = [FeatureUpdateKey(name, one, upgrade_type=of) for name, one, of in updates]
        request = UpdateFeaturesRequest(5_000, keys, validate_only=True)
        answer = connection.call(request, UpdateFeaturesResponse, version)
        assert answer.error_code == code
        assert (answer.error_message is None) == (code is ErrorCode.NONE)
        if code is not ErrorCode.NONE:
            assert answer.results == []


# --- tools


@pytest.fixture
def confluent(tools: KafkaTools) -> Client:
    return CLIENTS["confluent-kafka"](tools.bootstrap)


class Moves:
    """`kafka-reassign-partitions` for one topic."""

    def __init__(self, tools: KafkaTools, topic: str, path: Path) -> None:
        self._tools, self._topic, self._path = tools, topic, path

    def write(self, replicas: Mapping[int, Sequence[int]], **more: object) -> None:
        rows = [
            {"topic": self._topic, "partition": one, "replicas": list(each), **more}
            for one, each in replicas.items()
        ]
        self._path.write_text(json.dumps({"version": 1, "partitions": rows}))

    def __call__(self, verb: str, *more: str) -> str:
        file = () if verb == "--list" else ("--reassignment-json-file", str(self._path))
        return self._tools.on_broker("reassign-partitions", verb, *file, *more)


@pytest.fixture
def moves(tools: KafkaTools, topic: str, tmp_path: Path) -> Moves:
    return Moves(tools, topic, tmp_path / "moves.json")


def replicas_of(tools: KafkaTools, topic: str) -> list[list[int]]:
    """By the topics tool, of each partition."""
    described = tools.on_broker("topics", "--describe", "--topic", topic)
    found = re.findall(r"Partition: \d+\s+Leader: \S+\s+Replicas: (\S+)", described)
    return [[int(one) for one in each.split(",")] for each in found]


@pytest.mark.needs_api("AlterPartitionReassignments")
def test_replicas_are_moved_by_the_tool(
    tools: KafkaTools, moves: Moves, topic: str, confluent: Client, three: list[int]
) -> None:
    first, second, third = three
    confluent.write(topic, [Record(value=b"v" * 100)] * 100)
    moves.write({0: [third]})
    assert f"Successfully started partition reassignment for {topic}-0" in moves("--execute")
    wait_until(lambda: "is completed" in moves("--verify"), "the move never ends")
    assert replicas_of(tools, topic) == [[third]]
    moves.write({0: [second, first, third]})
    moves("--execute")
    wait_until(lambda: "is completed" in moves("--verify"), "the move never ends")
    assert replicas_of(tools, topic) == [[second, first, third]]
    assert "No partition reassignments found." in moves("--list")
    assert len(confluent.read(topic, 100)) == 100
    tools.on_broker("leader-election", "--election-type", "preferred", "--topic", topic, "--partition", "0")
    described = tools.on_broker("topics", "--describe", "--topic", topic)
    assert f"Leader: {second}" in described


@pytest.mark.needs_api("AlterPartitionReassignments")
def test_a_throttled_move_is_listed_and_given_up_by_the_tool(
    tools: KafkaTools, moves: Moves, topic: str, confluent: Client, three: list[int]
) -> None:
    """The throttle holds the copy up after its first answer of about a megabyte."""
    first, second, _ = three
    moves.write({0: [first]})
    moves("--execute")
    wait_until(lambda: "is completed" in moves("--verify"), "the move never ends")
    confluent.write(topic, [Record(value=bytes(range(250)) * 200)] * 100)
    moves.write({0: [second]})
    moves("--execute", "--throttle", "1000")
    assert re.search(
        rf"{topic}-0: replicas: {second},{first}\. adding: {second}\. removing: {first}\.", moves("--list")
    )
    assert "is still in progress" in moves("--verify", "--preserve-throttles")
    entity = ("--describe", "--entity-type", "topics", "--entity-name", topic)
    assert "follower.replication.throttled.replicas=" in tools.on_broker("configs", *entity)
    described = tools.on_broker("topics", "--describe", "--topic", topic)
    assert f"Adding Replicas: {second}" in described
    assert f"Removing Replicas: {first}" in described
    assert topic not in tools.on_broker("topics", "--describe", "--under-replicated-partitions")
    with pytest.raises(ToolFailed, match="existing partition assignment"):
        moves("--execute")
    assert f"Successfully cancelled partition reassignment for: {topic}-0" in moves("--cancel")
    assert replicas_of(tools, topic) == [[first]]
    assert "throttled" not in tools.on_broker("configs", *entity)
    assert "None of the specified partition reassignments are active." in moves("--cancel")
    assert len(confluent.read(topic, 100)) == 100


@pytest.mark.needs_api("AlterPartitionReassignments")
def test_the_tool_says_what_is_wrong(moves: Moves, brokers: list[int]) -> None:
    for replicas, words in (([NOBODY], "Unknown broker id"), ([brokers[0]] * 2, "duplicate"), ([], "empty")):
        moves.write({0: replicas})
        with pytest.raises(ToolFailed, match=rf"(?i){words}"):
            moves("--execute")


@pytest.mark.needs_api("AlterPartitionReassignments")
def test_the_tool_makes_a_plan(tools: KafkaTools, topic: str, tmp_path: Path, brokers: list[int]) -> None:
    path = tmp_path / "topics.json"
    path.write_text(json.dumps({"version": 1, "topics": [{"topic": topic}]}))
    listed = ",".join(map(str, brokers))
    printed = tools.on_broker(
        "reassign-partitions", "--generate", "--topics-to-move-json-file", str(path), "--broker-list", listed
    )
    plans = [json.loads(line) for line in printed.splitlines() if line.startswith("{")]
    assert [[one["topic"] for one in plan["partitions"]] for plan in plans] == [[topic], [topic]]


def test_replicas_are_verified_by_the_tool_until_they_are_the_same(
    tools: KafkaTools, topic: str, confluent: Client, three: list[int]
) -> None:
    confluent.write(topic, [Record(value=b"v")] * 50)
    assert three
    printed = tools.replica_verification(topic, seconds=4)
    assert "max lag is 0 for partition" in printed
    assert "differ" not in printed


@pytest.mark.needs_api("DescribeQuorum")
def test_the_quorum_is_described_by_the_tool(tools: KafkaTools, brokers: list[int]) -> None:
    status = tools.on_broker("metadata-quorum", "describe", "--status")
    leader = re.search(r"LeaderId:\s+(\d+)", status)
    assert leader is not None
    assert int(leader[1]) in brokers
    assert re.search(r"LeaderEpoch:\s+\d+", status)
    assert re.search(r"MaxFollowerLag:\s+0\b", status)
    rows = tools.on_broker("metadata-quorum", "describe", "--replication").splitlines()[1:]
    states = {int(row.split()[0]): row.split()[-1] for row in rows if row.strip()}
    assert states == {one: "Leader" if one == int(leader[1]) else "Follower" for one in brokers}


@pytest.mark.needs_api("UpdateFeatures")
def test_features_are_described_and_refused_by_the_tool(tools: KafkaTools) -> None:
    described = tools.on_broker("features", "describe")
    assert re.search(r"Feature: transaction\.version .*FinalizedVersionLevel: 2", described)
    with pytest.raises(ToolFailed, match=r"Could not upgrade transaction\.version to 9"):
        tools.on_broker("features", "upgrade", "--feature", "transaction.version=9")
