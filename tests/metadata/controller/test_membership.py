"""Joining and competing when answers of the store are lost."""

import pytest

from odradek.metadata import paths
from odradek.metadata.controller.requests import CreateTopics, NewTopic, ProducerIdBlock
from odradek.metadata.store import Create, Delete, Multi, Operation, StoreLimits
from tests.metadata.controllers import Cluster


def claims_the_controllership(operation: Operation) -> bool:
    return isinstance(operation, Multi) and any(
        isinstance(write, Create) and write.path == paths.CONTROLLER for write in operation.operations
    )


def registers(operation: Operation) -> bool:
    return isinstance(operation, Create) and operation.path == paths.broker(1)


@pytest.mark.parametrize("executed", [True, False])
def test_a_claim_whose_answer_is_lost_is_recognised(cluster: Cluster, executed: bool) -> None:
    """A claim that was done is ours: nobody else could make /controller, and everybody would wait for us."""
    cluster.connect(1).lose_answer(claims_the_controllership, executed=executed)
    cluster.start(1)
    assert cluster.members[1].controller.is_active
    assert cluster.image.controller_id == 1
    assert cluster.image.controller_epoch == 1


def test_the_node_of_an_earlier_life_is_not_ours(cluster: Cluster) -> None:
    """It names the same broker, and dies with the session of that life."""
    cluster.start(1)
    earlier = cluster.members[1]
    assert earlier.controller.is_active
    cluster.store.engine.apply(earlier.live_session.session_id, Delete(paths.broker(1)))
    cluster.connect(1)
    cluster.start(1)
    assert not cluster.members[1].controller.is_active
    earlier.live_session.expire()
    cluster.store.deliver()
    assert cluster.members[1].controller.is_active
    assert cluster.image.controller_epoch == 2


@pytest.mark.parametrize("executed", [True, False])
def test_a_registration_whose_answer_is_lost_is_recognised(cluster: Cluster, executed: bool) -> None:
    """Where nothing stands there, the broker registers when it has its connection back."""
    cluster.connect(1).lose_answer(registers, executed=executed)
    cluster.start(1)
    assert cluster.members[1].controller.is_active


@pytest.mark.parametrize("executed", [True, False])
@pytest.mark.parametrize("number", range(14))
def test_whichever_answer_of_joining_is_lost_the_broker_becomes_the_controller(
    cluster: Cluster, number: int, executed: bool
) -> None:
    cluster.connect(1).lose_connection(executed=executed, after=number)
    cluster.start(1)
    assert cluster.members[1].controller.is_active
    assert cluster.image.controller_id == 1
    assert list(cluster.image.brokers) == [1]
    cluster.ask_for(ProducerIdBlock, cluster.ids_for(1))


def test_what_watches_missed_while_the_connection_was_lost_is_read(three: Cluster) -> None:
    """Brokers went, and the watch that would tell is gone with the connection."""
    watching = three.controller.live_session
    watching.lose_answer(lambda operation: True, executed=False)
    three.store.engine.forget_watches(watching.session_id)
    three.members[2].live_session.expire()
    three.ask(three.ids_for(1))
    assert list(three.image.brokers) == [1, 3]


def test_states_are_written_in_chunks_that_the_store_takes(cluster: Cluster) -> None:
    """An election of more partitions than one write may hold."""
    cluster.store.engine.limits = StoreLimits(multi_operations_max=200, multi_bytes_max=20_480)
    cluster.start(1, 2)
    for number in range(5):
        assignments = tuple((partition, (1, 2)) for partition in range(6))
        cluster.ask(CreateTopics((NewTopic(f"t{number}", assignments=assignments),)))
    cluster.kill(1)
    topics = cluster.image.topics.values()
    assert {state.leader for topic in topics for state in topic.partitions.values()} == {2}
