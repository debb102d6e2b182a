"""Requests whose writes lost their answers: the store says whether they were executed, and the answer too."""

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import exhaust
from odradek.metadata.controller import RequestArrived
from odradek.metadata.controller.requests import (
    AllocateProducerIds,
    AlterConfigs,
    ConfigReplacement,
    ControllerRequest,
    CreatePartitions,
    CreateTopics,
    DeleteTopics,
    MorePartitions,
    NewTopic,
    Refused,
    TopicToDelete,
)
from odradek.metadata.controller.unknown_outcomes import was_executed
from odradek.metadata.memory import MemoryStore
from odradek.metadata.store import (
    Check,
    Create,
    Data,
    Delete,
    Failed,
    Fault,
    GetData,
    Multi,
    NodeStat,
    Result,
    SetData,
    StoreRefused,
    WriteOperation,
)
from tests.metadata.controller.test_core import create, held_lines, stored_image
from tests.metadata.controllers import Cluster

LOST = Failed(Fault.CONNECTION_LOSS, "/")
REQUESTS = (
    CreateTopics((NewTopic("new", 3, 1), NewTopic("newer", 1, 1))),
    CreatePartitions((MorePartitions("flights", 4),)),
    AlterConfigs((ConfigReplacement(2, "flights", (("retention.ms", "7"),)),)),
    AllocateProducerIds(1, 3),  # its epoch in this cluster
    DeleteTopics((TopicToDelete("flights"),)),
)


@pytest.fixture
def three() -> Cluster:
    cluster = Cluster()
    cluster.start(1, 2, 3)
    create(cluster)
    return cluster


@pytest.mark.parametrize("executed", [True, False])
@pytest.mark.parametrize("request_", REQUESTS, ids=lambda request: type(request).__name__)
def test_a_request_whose_write_lost_its_answer_is_answered_as_any_other(
    three: Cluster, request_: ControllerRequest, executed: bool
) -> None:
    undisturbed = Cluster()
    undisturbed.start(1, 2, 3)
    create(undisturbed)
    expected = undisturbed.ask(request_)
    three.controller.live_session.lose_answer(
        lambda operation: isinstance(operation, Multi), executed=executed
    )
    assert three.ask(request_) == expected
    assert not isinstance(expected, Refused)
    assert held_lines(three.image) == held_lines(stored_image(three))
    assert three.image.topic_configs == undisturbed.image.topic_configs


def test_an_outcome_that_stays_unknown_is_a_timeout(three: Cluster) -> None:
    """As Kafka answers: whether the topic was made is not known, and asking again tells."""
    session = three.controller.live_session
    session.lose_connection(executed=True, after=1)
    session.lose_answer(lambda operation: isinstance(operation, GetData), executed=True)
    answer = three.ask(CreateTopics((NewTopic("new", 1, 1),)))
    assert isinstance(answer, Refused)
    assert answer.error is ErrorCode.REQUEST_TIMED_OUT


def test_a_session_that_ends_tells_only_what_was_begun_apart(three: Cluster) -> None:
    """The request in hand may have been carried out; those behind it were not."""
    member = three.controller
    three.holding = True
    for number in (101, 102):
        member.event(RequestArrived(number, CreateTopics((NewTopic(f"t{number}", 1, 1),))))
    member.live_session.expire()
    three.store.deliver()
    errors = [answer.error for answer in member.answers.values() if isinstance(answer, Refused)]
    assert errors == [ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NOT_CONTROLLER]


def asked(writes: tuple[WriteOperation, ...], found: Result) -> bool:
    return exhaust(was_executed(writes, LOST), lambda operation: found)


def node(data: bytes, version: int) -> Data:
    return Data(data, NodeStat(version, 1, 0))


def test_a_node_tells_whether_its_write_was_executed() -> None:
    gone = Failed(Fault.NO_NODE, "/a")
    assert asked((Create("/a", b"x"),), node(b"x", 0))
    assert not asked((Create("/a", b"x"),), node(b"of another", 0))
    assert not asked((Create("/a", b"x"),), gone)
    assert asked((SetData("/a", b"x", 3),), node(b"x", 4))
    assert not asked((SetData("/a", b"x", 3),), node(b"before", 3))
    assert asked((Delete("/a"),), gone)
    assert not asked((Delete("/a"),), node(b"x", 0))


@pytest.mark.parametrize("found", [node(b"of a leader", 4), node(b"x", 5), LOST], ids=str)
def test_a_node_that_was_written_again_tells_nothing(found: Result) -> None:
    with pytest.raises(StoreRefused):
        asked((SetData("/a", b"x", 3),), found)


def test_writes_that_may_be_done_twice_are_not_looked_up() -> None:
    writes = (Check("/a", 1), SetData("/a", b"x"), Create("/n", b"", sequential=True))
    assert list(was_executed(writes, LOST)) == []


def test_the_last_node_that_was_made_is_looked_up() -> None:
    """An earlier one may have been there before, with the same bytes."""
    store = MemoryStore()
    session = store.engine.open_session()
    store.engine.apply(session, Create("/config", b"{}"))
    writes = (Create("/config", b"{}"), Create("/state", b"1"), SetData("/config", b"{}", 0))
    assert not exhaust(
        was_executed(writes, LOST), lambda operation: store.engine.apply(session, operation).result
    )
