"""ElectLeaders: on one broker as Apache Kafka 4.3 answers it (`compat/test_answers`), and on three."""

from collections.abc import Sequence

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import NO_BROKER, BrokerId, TopicPartition
from odradek.metadata.controller.requests import ElectionType
from odradek.testing.sim import SimNode, World
from odradek.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from odradek.wire.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    TopicPartitions,
)

PREFERRED, UNCLEAN = ElectionType.PREFERRED, ElectionType.UNCLEAN
P = TopicPartition("orders", 0)
SESSION_MS = 30_000


def create(node: SimNode, name: str, assignments: Sequence[Sequence[BrokerId]]) -> None:
    topic = CreatableTopic(
        name,
        -1,
        -1,
        [CreatableReplicaAssignment(number, list(held)) for number, held in enumerate(assignments)],
    )
    created = node.send(CreateTopicsRequest([topic], timeout_ms=1_000))
    node.world.advance(1_000)
    assert created.answer.topics[0].error_code == 0


def asked(election: int, *topics: tuple[str, list[int]]) -> ElectLeadersRequest:
    return ElectLeadersRequest(election, [TopicPartitions(name, numbers) for name, numbers in topics])


def rows(answer: ElectLeadersResponse) -> list[tuple[str, int, int]]:
    return [
        (topic.topic, result.partition_id, result.error_code)
        for topic in answer.replica_election_results
        for result in topic.partition_result
    ]


class Three:
    """Three brokers, and the partition `orders-0` on all of them, preferred on broker 2."""

    def __init__(self) -> None:
        self.world = World(brokers=3)
        create(self.controller, "orders", [(2, 3, 1)])

    @property
    def controller(self) -> SimNode:
        alive = [node for node in self.world.nodes.values() if node.is_alive]
        (found,) = [node for node in alive if node.core.controller.is_active]
        return found

    def leaders(self) -> list[BrokerId]:
        """The leader of the partition, as each live broker knows it."""
        alive = [node for node in self.world.nodes.values() if node.is_alive]
        states = [node.core.image.partition(P) for node in alive]
        return [NO_BROKER if state is None else state.leader for state in states]

    def elect(self, election: int) -> list[tuple[str, int, int]]:
        answer = self.controller.ask(asked(election, (P.topic, [P.partition])))
        assert answer.error_code == 0
        self.world.advance(1_000)
        return rows(answer)


@pytest.mark.parametrize("election", ElectionType)
@pytest.mark.parametrize("version", range(3))
def test_a_broker_alone_leads_all_that_it_has(node: SimNode, election: ElectionType, version: int) -> None:
    create(node, "orders", [(0,), (0,)])
    answer = node.ask(asked(election, ("orders", [1, 0, 7]), ("none", [0])), version)
    assert answer.error_code == 0
    assert rows(answer) == [
        ("orders", 1, ErrorCode.ELECTION_NOT_NEEDED),
        ("orders", 0, ErrorCode.ELECTION_NOT_NEEDED),
        ("orders", 7, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("none", 0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]


def test_of_all_partitions_those_with_their_leader_are_left_out(node: SimNode) -> None:
    create(node, "orders", [(0,)])
    answer = node.ask(ElectLeadersRequest(PREFERRED, None))
    assert [topic.topic for topic in answer.replica_election_results] == ["orders"]
    assert rows(answer) == []


@pytest.mark.parametrize("election", [2, -1])
def test_an_unknown_election_type_is_refused(node: SimNode, election: int) -> None:
    answer = node.ask(asked(election, ("none", [0, 1])))
    assert answer.error_code == ErrorCode.INVALID_REQUEST
    assert rows(answer) == [("none", number, ErrorCode.INVALID_REQUEST) for number in (0, 1)]
    assert node.ask(ElectLeadersRequest(election, None)).error_code == ErrorCode.INVALID_REQUEST


def test_another_broker_than_the_controller_lets_the_controller_decide() -> None:
    three = Three()
    (other, *_) = [node for node in three.world.nodes.values() if node is not three.controller]
    answer = other.ask(asked(PREFERRED, ("orders", [0])))
    assert answer.error_code == ErrorCode.NONE
    assert rows(answer) == [("orders", 0, ErrorCode.ELECTION_NOT_NEEDED)]


def test_the_preferred_leader_leads_again_when_it_is_in_sync() -> None:
    """KIP-183."""
    three = Three()
    three.world.stop(2)
    three.world.advance(SESSION_MS)
    assert three.leaders() == [3, 3]
    assert three.elect(PREFERRED) == [("orders", 0, ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE)]
    assert three.elect(UNCLEAN) == [("orders", 0, ErrorCode.ELECTION_NOT_NEEDED)]
    three.world.begin(2)
    three.world.advance(SESSION_MS)
    assert three.leaders() == [3, 3, 3]
    assert three.elect(PREFERRED) == [("orders", 0, ErrorCode.NONE)]
    assert three.leaders() == [2, 2, 2]
    assert three.elect(PREFERRED) == [("orders", 0, ErrorCode.ELECTION_NOT_NEEDED)]


@pytest.mark.parametrize("place", range(3))
def test_through_any_broker_the_preferred_leader_leads_again(place: int) -> None:
    """R17: the broker that was asked knows the new leader when it answers."""
    three = Three()
    three.world.stop(2)
    three.world.begin(2)
    three.world.advance(SESSION_MS)
    node = list(three.world.nodes.values())[place]
    assert rows(node.ask(asked(PREFERRED, ("orders", [0])))) == [("orders", 0, ErrorCode.NONE)]
    assert three.leaders() == [2, 2, 2]


@pytest.mark.parametrize("place", [0, 1])
def test_through_any_broker_an_unclean_election_takes_what_is_left(place: int) -> None:
    """R17, KIP-460."""
    three = Three()
    for broker_id in (3, 1, 2):
        three.world.kill(broker_id)
        three.world.advance(SESSION_MS)
    for broker_id in (1, 3):
        three.world.begin(broker_id)
    three.world.advance(SESSION_MS)
    node = [one for one in three.world.nodes.values() if one.is_alive][place]
    assert rows(node.ask(asked(UNCLEAN, ("orders", [0])))) == [("orders", 0, ErrorCode.NONE)]
    three.world.advance(1_000)
    assert three.leaders() == [3, 3]


def test_an_unclean_election_by_request_takes_what_is_left() -> None:
    """KIP-460, R15e: the setting does not allow it, the administrator does."""
    three = Three()
    for broker_id in (3, 1, 2):
        three.world.kill(broker_id)
        three.world.advance(SESSION_MS)
    for broker_id in (1, 3):
        three.world.begin(broker_id)
    three.world.advance(SESSION_MS)
    assert three.leaders() == [NO_BROKER] * 2
    assert three.elect(PREFERRED) == [("orders", 0, ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE)]
    assert three.leaders() == [NO_BROKER] * 2
    assert three.elect(UNCLEAN) == [("orders", 0, ErrorCode.NONE)]
    assert three.leaders() == [3, 3]
    assert three.elect(UNCLEAN) == [("orders", 0, ErrorCode.ELECTION_NOT_NEEDED)]


def test_without_any_replica_there_is_nothing_to_elect() -> None:
    world = World(brokers=3)
    (controller,) = [node for node in world.nodes.values() if node.core.controller.is_active]
    (lost, *_) = [node.broker_id for node in world.nodes.values() if node is not controller]
    create(controller, "orders", [(lost,)])
    world.kill(lost)
    world.advance(SESSION_MS)
    request = ElectLeadersRequest(UNCLEAN, None)
    assert rows(controller.ask(request)) == [("orders", 0, ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE)]
