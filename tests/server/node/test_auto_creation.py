"""Topics that clients name and that are not made: the log says why, for those who run the brokers."""

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.server.node.auto_creation import LOGGED_AT_ONCE, REFUSALS_MAX
from odradek.server.node.forwarding.any_controller import CREATION_TIMEOUT_MS
from odradek.testing.sim import SimNode, World
from odradek.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.server.node.forwarding.test_forwarding import lose_controller
from tests.server.nodes import NewNode


def naming(*names: str) -> MetadataRequest:
    topics = [MetadataRequestTopic(name=name) for name in names]
    return MetadataRequest(topics, allow_auto_topic_creation=True)


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    lines = [record.getMessage() for record in caplog.records if "was not created" in record.getMessage()]
    caplog.clear()
    return lines


@pytest.fixture
def poor(new_node: NewNode) -> SimNode:
    """A broker that is alone, and whose topics are to have three replicas."""
    return new_node(default_replication_factor="3")


def test_a_refusal_is_logged_with_its_reason_and_not_again(
    poor: SimNode, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(3):  # as a client does that waits for the topic
        (row,) = poor.ask(naming("flights")).topics
        assert row.error_code == ErrorCode.INVALID_REPLICATION_FACTOR
    assert said(caplog) == [
        "the topic flights was not created for a client that named it: INVALID_REPLICATION_FACTOR: 3 replicas"
        " need as many brokers; the cluster has 1"
    ]


def test_clients_do_not_decide_how_much_is_logged(poor: SimNode, caplog: pytest.LogCaptureFixture) -> None:
    poor.ask(naming(*(f"t{number}" for number in range(LOGGED_AT_ONCE + 5))))
    assert len(said(caplog)) == LOGGED_AT_ONCE
    for number in range(REFUSALS_MAX + 5):
        poor.ask(naming(f"u{number}"))
    assert len(poor.core.auto_creation._refusals) == REFUSALS_MAX
    assert not said(caplog), "as many lines as the window has were written"


def test_that_no_controller_answers_is_logged_until_one_does(caplog: pytest.LogCaptureFixture) -> None:
    world = World(brokers=3)
    node, _ = lose_controller(world)
    sent = [node.send(naming(name)) for name in ("flights", "prices")]
    world.advance(CREATION_TIMEOUT_MS)
    assert [one.answer.topics[0].error_code for one in sent] == [ErrorCode.LEADER_NOT_AVAILABLE] * 2
    (line,) = said(caplog)
    assert line.endswith("for a client that named it: REQUEST_TIMED_OUT: the controller has not answered")
