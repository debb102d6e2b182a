"""The view of the cluster: when it asks, and what it believes."""

from uuid import UUID

from odradek.base.chance import SeededChance
from odradek.base.error_codes import ErrorCode
from odradek.base.ids import NO_BROKER, TopicPartition
from odradek.client.core.cluster_view import MAX_AGE_MS, ClusterView, Leader
from odradek.client.core.requests import Outcome, Send
from odradek.net.request_pipeline import NotConnected
from odradek.wire.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

ORDERS = TopicPartition("orders", 0)
ID, OTHER_ID = UUID(int=7), UUID(int=8)


def view() -> ClusterView:
    return ClusterView(SeededChance(1))


def answer(
    leader: int = 1, epoch: int = 5, *, topic_id: UUID = ID, code: ErrorCode = ErrorCode.NONE
) -> MetadataResponse:
    partition = MetadataResponsePartition(leader_id=leader, leader_epoch=epoch)
    topic = MetadataResponseTopic(name="orders", topic_id=topic_id, error_code=code, partitions=[partition])
    return MetadataResponse(
        brokers=[MetadataResponseBroker(one, "b", 9092 + one) for one in (1, 2)],
        controller_id=2,
        topics=[topic],
    )


def asked(found: ClusterView, now_ms: int) -> Send:
    (send,) = found.due(now_ms)
    return send


def give(found: ClusterView, response: MetadataResponse, now_ms: int = 0) -> None:
    found.outcome(Outcome(asked(found, now_ms), response), now_ms)


def test_it_asks_for_wanted_topics_and_knows_their_leaders_and_ids() -> None:
    found = view()
    found.want(["orders"])
    send = asked(found, 0)
    assert isinstance(send.request, MetadataRequest)
    assert [topic.name for topic in send.request.topics or ()] == ["orders"]
    assert not found.due(0), "one request is under way at a time"
    found.outcome(Outcome(send, answer()), 10)
    assert found.leader(ORDERS) == Leader(1, 5)
    assert (found.topic_id("orders"), found.topic_name(ID), found.controller) == (ID, "orders", 2)
    assert found.next_deadline_ms() == 10 + MAX_AGE_MS
    assert not found.due(MAX_AGE_MS)
    assert found.due(10 + MAX_AGE_MS)


def test_an_older_leader_epoch_is_not_believed_unless_the_topic_is_another_one() -> None:
    found = view()
    found.want(["orders"])
    give(found, answer(1, 5))
    found.refresh_soon(0)
    assert not found.due(0), "a backoff since the last answer"
    give(found, answer(2, 4), 2_000)
    assert found.leader(ORDERS) == Leader(1, 5)
    found.refresh_soon(2_000)
    give(found, answer(2, 0, topic_id=OTHER_ID), 4_000)
    assert found.leader(ORDERS) == Leader(2, 0)
    assert (found.topic_name(ID), found.topic_name(OTHER_ID)) == (None, "orders")


def test_it_asks_again_while_a_topic_or_a_leader_is_missing_and_after_failures() -> None:
    found = view()
    found.want(["orders"])
    give(found, answer(code=ErrorCode.LEADER_NOT_AVAILABLE))
    assert found.errors == {"orders": ErrorCode.LEADER_NOT_AVAILABLE}
    give(found, answer(NO_BROKER), 1_000)
    assert not found.errors
    send = asked(found, 3_000)
    found.outcome(Outcome(send, error=NotConnected("refused")), 3_000)
    assert found.last_error is not None
    give(found, answer(), 5_000)
    assert found.last_error is None
    assert found.leader(ORDERS) == Leader(1, 5)


def test_a_refusal_may_name_a_newer_leader() -> None:
    found = view()
    found.want(["orders"])
    give(found, answer(1, 5))
    version = found.version
    found.leader_is(ORDERS, 2, 5)
    found.leader_is(ORDERS, 9, 6)
    assert (found.leader(ORDERS), found.version) == (Leader(1, 5), version)
    found.leader_is(ORDERS, 2, 6)
    assert found.leader(ORDERS) == Leader(2, 6)
    assert found.version > version


def test_topics_no_longer_wanted_are_forgotten() -> None:
    found = view()
    found.want(["orders"])
    give(found, answer())
    found.want_only(["others"])
    assert found.leader(ORDERS) is None
    send = asked(found, 0)
    assert isinstance(send.request, MetadataRequest)
    assert [topic.name for topic in send.request.topics or ()] == ["others"]


def names_of(send: Send) -> list[str | None]:
    assert isinstance(send.request, MetadataRequest)
    return [topic.name for topic in send.request.topics or ()]


def test_topics_that_were_not_used_for_the_idle_time_are_not_asked_for_any_more() -> None:
    """metadata.max.idle.ms (KIP-526)."""
    found = ClusterView(SeededChance(1), max_age_ms=60_000, max_idle_ms=150_000)
    found.want(["orders", "payments"])
    give(found, answer())
    found.use("payments")
    found.due(59_000)
    for now_ms in (60_000, 120_000):
        give(found, answer(), now_ms)
        assert found.leader(ORDERS) == Leader(1, 5)
    send = asked(found, 180_000)
    assert names_of(send) == ["payments"], "its last use was 121 s ago"
    assert found.leader(ORDERS) is None
    found.outcome(Outcome(send, MetadataResponse()), 180_000)
    assert names_of(asked(found, 240_000)) == []


def test_without_an_idle_time_topics_stay_known() -> None:
    found = ClusterView(SeededChance(1), max_age_ms=60_000)
    found.want(["orders"])
    for minute in range(20):
        send = asked(found, minute * 60_000)
        assert names_of(send) == ["orders"]
        found.outcome(Outcome(send, answer()), minute * 60_000)


def test_a_topic_that_was_dropped_is_asked_for_at_once_when_it_is_wanted_again() -> None:
    found = ClusterView(SeededChance(1), max_age_ms=60_000, max_idle_ms=60_000)
    found.want(["orders"])
    give(found, answer())
    send = asked(found, 60_000)
    assert names_of(send) == []
    found.outcome(Outcome(send, MetadataResponse()), 60_000)
    found.want(["orders"])
    assert names_of(asked(found, 60_001)) == ["orders"]


def test_a_broker_with_an_id_that_stands_for_none_is_no_broker() -> None:
    found = view()
    found.want(["orders"])
    response = answer(leader=-1)
    response.brokers.append(MetadataResponseBroker(-1, "b", 9091))
    give(found, response)
    assert set(found.nodes) == {1, 2}
