"""What a consumer says that it waits for."""

import re

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.ids import TopicPartition
from odradek.client.core.consumer.held_up import ASK_AFTER_MS
from odradek.client.core.consumer.partition_state import Phase
from odradek.client.core.membership.classic_member import ClassicMember
from odradek.client.core.membership.consumer_member import ConsumerMember
from odradek.client.core.requests import Outcome, ToNode
from odradek.client.core.waiting import Cause, Why
from odradek.net.request_pipeline import NotConnected
from odradek.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatResponse
from odradek.wire.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)
from odradek.wire.messages.join_group import JoinGroupResponse
from odradek.wire.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from odradek.wire.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponseTopic,
)
from tests.batches import numbered_batch as batch
from tests.client.core.consumer.test_fetching import P0, P1, P2, Rig, data


def first(rig: Rig) -> Why:
    return rig.core.why(rig.now_ms)[0]


def test_an_offset_that_is_out_of_range() -> None:
    rig = Rig()
    rig.assign(P0, at=900)
    rig.answer(rig.fetches()[1], data(0, error_code=ErrorCode.OFFSET_OUT_OF_RANGE))
    (why,) = rig.core.why(0)
    assert why.cause is Cause.OFFSET_OUT_OF_RANGE
    assert str(why) == "orders-0 has no offset 900: it was deleted, or never written"


def test_a_topic_that_was_only_asked_about_ends_no_reading() -> None:
    """As `end_offsets` of a topic that the client may not see."""
    rig = Rig()
    rig.assign(P0)
    rig.view.want(["secret"])
    (send,) = rig.view.due(rig.now_ms)
    brokers = [MetadataResponseBroker(one, "b", 9092 + one) for one in (1, 2)]
    refused = MetadataResponseTopic(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "secret")
    rig.view.outcome(Outcome(send, MetadataResponse(brokers=brokers, topics=[refused])), rig.now_ms)
    assert rig.view.errors == {"secret": ErrorCode.TOPIC_AUTHORIZATION_FAILED}
    assert rig.core.take_error() is None
    assert first(rig).cause is Cause.FETCHING
    rig.assign(P0, TopicPartition("secret", 0))
    error = rig.core.take_error()
    assert error is not None
    assert "topic secret" in str(error)
    assert first(rig).cause is Cause.REFUSED


def described(*, start: int) -> DescribeProducersResponse:
    """Producer 41 has a transaction that began at `start`, producer 40 none."""
    producers = [
        ProducerState(40, current_txn_start_offset=-1),
        ProducerState(41, current_txn_start_offset=start),
    ]
    return DescribeProducersResponse(
        topics=[TopicResponse("orders", [PartitionResponse(0, active_producers=producers)])]
    )


def test_an_open_transaction_whose_it_is_and_how_long_it_has_held_up_the_consumer() -> None:
    rig = Rig(is_committed_only=True)
    rig.assign(P0, at=7)
    rig.now_ms = 1_000
    rig.answer(rig.fetches()[1], data(0, last_stable_offset=7))
    assert rig.core.next_deadline_ms() == 1_000 + ASK_AFTER_MS
    assert "an open transaction at 7 for 0 s" in str(first(rig))
    rig.now_ms = 21_000
    fetch, ask = rig.due()
    assert (type(ask.request), ask.to) == (DescribeProducersRequest, ToNode(1))
    rig.core.outcome(Outcome(ask, described(start=7)), rig.now_ms)
    rig.answer(fetch, data(0, last_stable_offset=7))
    rig.now_ms = 41_000
    (fetch,) = rig.due()
    rig.answer(fetch, data(0, last_stable_offset=7))
    assert first(rig).cause is Cause.OPEN_TRANSACTION
    assert str(first(rig)) == "orders-0 has been held up by an open transaction of producer 41 at 7 for 40 s"
    assert first(rig).data["producer_id"] == 41
    rig.answer(rig.fetches()[1], data(0, last_stable_offset=9))
    assert first(rig).cause is not Cause.OPEN_TRANSACTION


def test_an_open_transaction_at_the_position_of_which_no_answer_has_news() -> None:
    """The first answer told of it, and an incremental session leaves out what has not changed (KIP-227)."""
    rig = Rig(is_committed_only=True)
    rig.assign(P0)
    rig.answer(rig.fetches()[1], data(0, batch(0, 2), high_watermark=3, last_stable_offset=2))
    assert rig.values() == [0, 1]
    rig.now_ms = 500
    rig.answer(rig.fetches()[1])
    rig.now_ms = 2_500
    assert (first(rig).cause, first(rig).data["ms"]) == (Cause.OPEN_TRANSACTION, 2_000)


def test_the_transaction_of_another_position_is_not_named() -> None:
    rig = Rig(is_committed_only=True)
    rig.assign(P0, at=7)
    rig.answer(rig.fetches()[1], data(0, last_stable_offset=7))
    rig.now_ms = ASK_AFTER_MS
    _, ask = rig.due()
    rig.core.outcome(Outcome(ask, described(start=6)), rig.now_ms)
    assert "producer_id" not in first(rig).data
    assert len(rig.due()) == 0, "the leader is asked once for a position"


def test_a_consumer_of_uncommitted_records_asks_nobody_whose_transaction_it_is() -> None:
    rig = Rig()
    rig.assign(P0, at=7)
    rig.answer(rig.fetches()[1], data(0, last_stable_offset=7))
    rig.now_ms = 60_000
    assert list(rig.fetches()) == [1]


def test_what_each_partition_waits_for() -> None:
    rig = Rig()
    assert [why.cause for why in rig.core.why(0)] == [Cause.NO_SUBSCRIPTION]
    rig.assign(P0, P1, P2)
    fetches = rig.fetches()
    rig.core.subscription.states[P1].is_paused = True
    rig.answer(fetches[1], data(0, high_watermark=0), data(2))
    assert [(why.cause, why.data["partition"]) for why in rig.core.why(0)] == [
        (Cause.PAUSED, "orders-1"),
        (Cause.AT_END, "orders-0"),
        (Cause.FETCHING, "orders-2"),
    ]


def test_a_leader_that_is_silent_and_one_that_cannot_be_reached() -> None:
    rig = Rig()
    rig.assign(P0, P1)
    fetches = rig.fetches()
    answers = rig.routing.answers
    for node, send in fetches.items():
        answers.sent(send, node, 0)
    answers.finished(Outcome(fetches[2], error=NotConnected("refused"), node=2), 10)
    rig.now_ms = 2_000
    found = [(why.cause, why.data["partition"], why.data["node"]) for why in rig.core.why(2_000)]
    assert found == [(Cause.NO_CONNECTION, "orders-1", 2), (Cause.REQUEST, "orders-0", 1)]
    assert "broker 1 at b:9093 has not answered Fetch for 2.0 s; it leads orders-0" in str(
        rig.core.why(2_000)[1]
    )


@pytest.mark.parametrize(
    ("code", "cause"),
    [
        (ErrorCode.KAFKA_STORAGE_ERROR, Cause.RETRY),
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, Cause.REFUSED),
    ],
)
def test_a_fetch_that_is_refused_is_named_until_one_is_answered(code: ErrorCode, cause: Cause) -> None:
    rig = Rig()
    rig.assign(P0)
    rig.answer(rig.fetches()[1], data(0, error_code=code))
    rig.core.subscription.take_error()
    assert (first(rig).cause, first(rig).data["code"]) == (cause, code.name)
    rig.now_ms = 1_000
    rig.answer(rig.fetches()[1], data(0))
    assert first(rig).cause is Cause.FETCHING


def test_an_answer_without_news_ends_what_was_refused() -> None:
    rig = Rig()
    rig.assign(P0)
    rig.answer(rig.fetches()[1], data(0))
    rig.fail(rig.fetches()[1])
    assert first(rig).cause is Cause.RETRY
    rig.now_ms = 1_000
    rig.answer(rig.fetches()[1], data(0))
    rig.answer(rig.fetches()[1])
    assert first(rig).cause is Cause.FETCHING


def test_a_record_that_cannot_be_read_until_the_application_seeks_behind_it() -> None:
    rig = Rig()
    rig.assign(P0)
    broken = bytearray(batch(0, 3))
    broken[-1] ^= 1
    rig.answer(rig.fetches()[1], data(0, bytes(broken)))
    assert first(rig).cause is Cause.RECORDS_READY
    with pytest.raises(ApiError):
        rig.core.take(10)
    assert first(rig).cause is Cause.UNREADABLE
    assert first(rig).data["position"] == 0
    assert "orders-0 cannot be read at offset 0" in str(first(rig))
    rig.core.subscription.states[P0].seek(3)
    assert first(rig).cause is Cause.FETCHING


def test_a_value_that_the_application_cannot_read() -> None:
    rig = Rig()
    rig.assign(P0)
    rig.answer(rig.fetches()[1], data(0, batch(0, 1)))

    def convert(*_: object) -> object:
        raise KeyError("till")

    with pytest.raises(KeyError):
        rig.core.take(10, convert)  # type: ignore[arg-type]
    assert first(rig).cause is Cause.UNREADABLE
    assert "KeyError: 'till'" in str(first(rig))


def test_a_record_that_was_taken_and_that_the_application_cannot_read() -> None:
    """As the blocking consumer takes many, and converts them on the application's thread."""
    rig = Rig()
    rig.assign(P0)
    rig.answer(rig.fetches()[1], data(0, batch(0, 3)))
    assert len(rig.core.take(10)) == 3
    assert {why.cause for why in rig.core.why(rig.now_ms)}.isdisjoint({Cause.RECORDS_READY, Cause.UNREADABLE})
    (ready,) = rig.core.why(rig.now_ms, {P0: 1})
    assert ready.cause is Cause.RECORDS_READY
    rig.core.subscription.states[P0].unreadable = 1, "KeyError: 'till'"
    (why,) = rig.core.why(rig.now_ms, {P0: 1})
    assert why.cause is Cause.UNREADABLE
    assert str(why) == "orders-0 cannot be read at offset 1: KeyError: 'till'"
    assert why.data["position"] == 1


def test_a_partition_that_its_topic_does_not_have() -> None:
    rig = Rig()
    rig.assign(TopicPartition("orders", 99))
    count = rig.view.partition_count("orders")
    assert count is not None
    why = first(rig)
    assert why.cause is Cause.UNKNOWN_TOPIC
    assert str(why) == f"topic orders has {count} partitions: there is no orders-99"
    assert why.data["partitions"] == count


def test_records_that_are_here_come_before_partitions_that_are_fetched() -> None:
    rig = Rig()
    rig.assign(P0, P2)
    rig.answer(rig.fetches()[1], data(0, batch(0, 1)), data(2))
    assert first(rig).cause is Cause.RECORDS_READY


def test_a_position_that_is_refused_so_far() -> None:
    rig = Rig()
    rig.core.subscription.assign([P0])
    (ask,) = rig.due()
    part = ListOffsetsPartitionResponse(partition_index=0, error_code=ErrorCode.LEADER_NOT_AVAILABLE)
    response = ListOffsetsResponse(topics=[ListOffsetsTopicResponse(name="orders", partitions=[part])])
    rig.core.outcome(Outcome(ask, response), 0)
    assert first(rig).cause is Cause.NO_POSITION
    assert first(rig).data["code"] == "LEADER_NOT_AVAILABLE"


def test_no_committed_offset_and_no_setting_that_says_where_to_begin() -> None:
    rig = Rig(reset_to=None)
    rig.core.subscription.assign([P0])
    rig.due()
    assert rig.core.subscription.states[P0].phase is Phase.NEEDS_RESET
    assert first(rig).data["setting"] == "auto.offset.reset"
    assert str(first(rig)).startswith("orders-0 has no committed offset, and auto.offset.reset is none")


def test_no_topic_matches_the_pattern() -> None:
    rig = Rig(group="billing")
    rig.core.subscription.subscribe_pattern(re.compile("flights-.*"))
    rig.core.follow_subscription()
    assert (first(rig).cause, first(rig).data["pattern"]) == (Cause.UNKNOWN_TOPIC, "flights-.*")


def test_a_static_member_whose_instance_id_another_has() -> None:
    rig = Rig(group="billing", instance="till-1")
    rig.core.subscription.subscribe(["orders"])
    rig.core.follow_subscription()
    (beat,) = rig.due()
    assert isinstance(rig.core.member, ConsumerMember)
    refusal = ConsumerGroupHeartbeatResponse(error_code=ErrorCode.UNRELEASED_INSTANCE_ID)
    rig.core.outcome(Outcome(beat, refusal), 0)
    assert (first(rig).cause, first(rig).data["instance"]) == (Cause.FENCED, "till-1")
    rig.now_ms = 2_000
    (beat,) = rig.due()
    rig.core.outcome(Outcome(beat, ConsumerGroupHeartbeatResponse(member_epoch=1)), 2_000)
    assert first(rig).cause is Cause.NO_PARTITIONS


def test_a_refusal_of_the_group_is_named_also_after_the_application_was_told_and_polls_again() -> None:
    rig = Rig(group="billing", protocol="classic")
    rig.core.subscription.subscribe(["orders"])
    rig.core.follow_subscription()
    (join,) = rig.due()
    assert isinstance(rig.core.member, ClassicMember)
    rig.core.outcome(Outcome(join, JoinGroupResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)), 0)
    assert rig.core.take_error() is not None
    for _ in range(2):
        assert first(rig).cause is Cause.REFUSED
        assert first(rig).data == {"group": "billing", "code": "GROUP_AUTHORIZATION_FAILED"}
        rig.core.polled(0)
