"""Rules C1 to C7 on the consumer's core: what it sends, what it keeps, what it returns."""

from collections.abc import Sequence
from uuid import UUID

import pytest

from odradek.base.chance import SeededChance
from odradek.base.clock import ManualClock
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.ids import TopicPartition
from odradek.base.offset_timestamps import EARLIEST, LATEST
from odradek.client.core.cluster_view import MAX_AGE_MS, ClusterView
from odradek.client.core.consumer.completed_fetch import ConsumerRecord
from odradek.client.core.consumer.consumer_core import Change, ConsumerCore, ConsumerOptions, Step
from odradek.client.core.consumer.fetcher import FetchOptions
from odradek.client.core.consumer.partition_state import PartitionState, Phase
from odradek.client.core.membership.member import MemberOptions
from odradek.client.core.requests import Outcome, Send, ToNode
from odradek.client.core.routing import Routing
from odradek.client.reset_policy import Ago, ResetPolicy
from odradek.net.request_pipeline import ConnectionFailed, NotConnected
from odradek.records.control import EndTxnMarker, build_marker
from odradek.wire.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from odradek.wire.messages.fetch import (
    AbortedTransaction,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    LeaderIdAndEpoch,
    PartitionData,
)
from odradek.wire.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from odradek.wire.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from odradek.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from odradek.wire.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)
from tests.batches import numbered_batch as batch

ID = UUID(int=7)
P0, P1, P2, P3 = (TopicPartition("orders", number) for number in range(4))
SESSION = 17
WALL_MS = 1_800_000_000_000


class Rig:
    """A core whose brokers 1 and 2 lead orders 0 and 2, and 1 and 3."""

    def __init__(
        self,
        *,
        group: str | None = None,
        instance: str | None = None,
        protocol: str | None = None,
        reset_to: ResetPolicy = EARLIEST,
        is_committed_only: bool = False,
        retry_backoff_ms: int = 100,
        retry_backoff_max_ms: int = 1_000,
    ) -> None:
        chance = SeededChance(1)
        self.view = ClusterView(chance)
        self.now_ms = 0
        self.routing = Routing(self.view, chance)
        options = ConsumerOptions(
            FetchOptions(
                is_committed_only=is_committed_only,
                retry_backoff_ms=retry_backoff_ms,
                retry_backoff_max_ms=retry_backoff_max_ms,
            ),
            None if group is None else MemberOptions(group, instance, max_poll_interval_ms=60_000),
            protocol,
            reset_to,
        )
        self.clock = ManualClock(wall_ms=WALL_MS)
        self.core = ConsumerCore(self.view, self.routing, chance, self.clock, options)
        self.view.want(["orders"])
        self.refresh()

    def refresh(self, epoch: int = 0, leaders: Sequence[int] = (1, 2, 1, 2)) -> None:
        partitions = [
            MetadataResponsePartition(partition_index=number, leader_id=leader, leader_epoch=epoch)
            for number, leader in enumerate(leaders)
        ]
        topic = MetadataResponseTopic(name="orders", topic_id=ID, partitions=partitions)
        brokers = [MetadataResponseBroker(one, "b", 9092 + one) for one in (1, 2)]
        (send,) = self.view.due(self.now_ms)
        self.view.outcome(Outcome(send, MetadataResponse(brokers=brokers, topics=[topic])), self.now_ms)

    def assign(self, *partitions: TopicPartition, at: int = 0) -> None:
        self.core.subscription.assign(partitions)
        for one in partitions:
            self.core.subscription.states[one].seek(at)

    def due(self) -> list[Send]:
        return list(self.core.due(self.now_ms))

    def fetches(self) -> dict[int, Send]:
        """The fetches that are due, by node."""
        found = {}
        for send in self.due():
            assert isinstance(send.to, ToNode)
            assert isinstance(send.request, FetchRequest)
            assert send.to.node not in found, "one fetch per node"
            found[send.to.node] = send
        return found

    def answer(self, send: Send, *parts: PartitionData, session: int = SESSION, code: int = 0) -> None:
        topics = [FetchableTopicResponse(topic_id=ID, partitions=list(parts))] if parts else []
        response = FetchResponse(error_code=code, session_id=session, responses=topics)
        self.core.outcome(Outcome(send, response), self.now_ms)

    def fail(self, send: Send) -> None:
        self.core.outcome(Outcome(send, error=ConnectionFailed("cut")), self.now_ms)

    def values(self, count: int = 500) -> list[int]:
        return numbers(self.core.take(count))


def numbers(records: Sequence[ConsumerRecord]) -> list[int]:
    found = []
    for record in records:
        assert isinstance(record.value, bytes)
        found.append(int(record.value))
    return found


def data(number: int, records: bytes = b"", **fields: object) -> PartitionData:
    part = PartitionData(partition_index=number, high_watermark=100, last_stable_offset=100, records=records)
    for name, value in fields.items():
        setattr(part, name, value)
    return part


def asked(send: Send) -> dict[int, int]:
    """Partition to offset, as a fetch asks for them."""
    assert isinstance(send.request, FetchRequest)
    return {one.partition: one.fetch_offset for topic in send.request.topics for one in topic.partitions}


def forgotten(send: Send) -> list[int]:
    assert isinstance(send.request, FetchRequest)
    return [number for topic in send.request.forgotten_topics_data for number in topic.partitions]


def test_c1_taking_does_not_wait_and_finds_what_has_come() -> None:
    """C1."""
    rig = Rig()
    rig.assign(P0)
    send = rig.fetches()[1]
    assert not rig.core.fetcher.has_data, "a poll has something to wait for"
    assert not rig.values()
    rig.answer(send, data(0, batch(0, 3)))
    assert rig.core.fetcher.has_data, "its wait ends"
    assert rig.values() == [0, 1, 2]


def test_c2_the_next_fetch_is_due_as_soon_as_records_were_taken() -> None:
    """C2."""
    rig = Rig()
    rig.assign(P0)
    first = rig.fetches()[1]
    rig.answer(first, data(0, batch(0, 3)))
    assert not rig.due(), "data is here"
    assert rig.values() == [0, 1, 2]
    assert asked(rig.fetches()[1]) == {0: 3}


def test_c3_one_fetch_per_node_for_all_that_it_leads_and_none_while_one_is_in_flight() -> None:
    """C3."""
    rig = Rig()
    rig.assign(P0, P1, P2, P3, at=5)
    fetches = rig.fetches()
    assert {node: asked(send) for node, send in fetches.items()} == {1: {0: 5, 2: 5}, 2: {1: 5, 3: 5}}
    assert not rig.due()
    rig.answer(fetches[1], data(0), data(2))
    assert list(rig.fetches()) == [1], "node 2 has not answered yet"


def test_c4_answers_queue_in_their_order_and_the_next_in_line_keeps_its_rest() -> None:
    """C4."""
    rig = Rig()
    rig.assign(P0, P1, P2)
    fetches = rig.fetches()
    rig.answer(fetches[2], data(1, batch(0, 4)))
    rig.answer(fetches[1], data(0, batch(0, 3)), data(2))
    assert rig.values(3) == [0, 1, 2]
    assert rig.core.subscription.states[P1].offset == 3
    assert [(one.partition, one.offset) for one in rig.core.take(3)] == [(1, 3), (0, 0), (0, 1)]
    assert [(one.partition, one.offset) for one in rig.core.take(3)] == [(0, 2)]


def test_c4_an_answer_for_other_partitions_is_ignored_whole_and_a_failed_one_fetched_again() -> None:
    """C4."""
    rig = Rig()
    rig.assign(P0, P2)
    rig.answer(rig.fetches()[1], data(0, batch(0, 3)), data(1, batch(0, 3)))
    assert not rig.values()
    assert not rig.due(), "a pause"
    rig.now_ms = 1_000
    again = rig.fetches()[1]
    assert asked(again) == {0: 0, 2: 0}
    rig.fail(again)
    rig.now_ms = 2_000
    assert asked(rig.fetches()[1]) == {0: 0, 2: 0}


def test_c4_a_failed_fetch_is_told_and_what_the_broker_held_back_is_measured() -> None:
    """C4."""
    rig = Rig()
    rig.assign(P0, P2)
    rig.fail(rig.fetches()[1])
    said = "a fetch of orders-0, orders-2 from broker 1 failed, and is repeated: cut"
    assert list(rig.core.fetcher.take_failures()) == [said]
    rig.now_ms = 1_000
    rig.answer(rig.fetches()[1], code=ErrorCode.UNKNOWN_SERVER_ERROR)
    (told,) = rig.core.fetcher.take_failures()
    assert told.endswith("is repeated: unknown server error")
    rig.now_ms = 2_000
    (send,) = rig.due()
    parts = [FetchableTopicResponse(topic_id=ID, partitions=[data(0), data(2)])]
    response = FetchResponse(throttle_time_ms=40, session_id=SESSION, responses=parts)
    rig.core.outcome(Outcome(send, response), rig.now_ms)
    rig.answer(rig.fetches()[1])
    assert not rig.core.fetcher.take_failures()
    figures = rig.core.figures(rig.now_ms)
    assert (figures["fetch-throttle-time-avg"], figures["fetch-throttle-time-max"]) == (20, 40)


def waits_ms(rig: Rig, kind: type[FetchRequest] | type[ListOffsetsRequest], attempts: int) -> list[int]:
    """How long the core waits after each of some attempts in a row that fail."""
    waited = []
    for _ in range(attempts):
        (send,) = rig.due()
        assert isinstance(send.request, kind)
        rig.fail(send)
        assert not rig.due()
        deadline_ms = rig.core.next_deadline_ms()
        assert deadline_ms is not None
        waited.append(deadline_ms - rig.now_ms)
        rig.now_ms = deadline_ms
    return waited


@pytest.mark.parametrize("kind", [FetchRequest, ListOffsetsRequest])
def test_after_failures_the_retry_backoff_grows_up_to_its_maximum(
    kind: type[FetchRequest] | type[ListOffsetsRequest],
) -> None:
    rig = Rig(retry_backoff_ms=3_000, retry_backoff_max_ms=10_000)
    rig.assign(P0)
    if kind is ListOffsetsRequest:
        rig.core.subscription.states[P0] = PartitionState()
    first, second, third, fourth = waits_ms(rig, kind, 4)
    assert 2_400 <= first <= 3_600
    assert 4_800 <= second <= 7_200
    assert 8_000 <= third <= 10_000
    assert 8_000 <= fourth <= 10_000


def test_after_an_answer_the_retry_backoff_is_the_first_one_again() -> None:
    rig = Rig(retry_backoff_ms=3_000, retry_backoff_max_ms=10_000)
    rig.assign(P0)
    waits_ms(rig, FetchRequest, 3)
    rig.answer(rig.fetches()[1], data(0))
    (first,) = waits_ms(rig, FetchRequest, 1)
    assert first <= 3_600


def test_a_new_leader_is_asked_at_once() -> None:
    rig = Rig(retry_backoff_ms=3_000, retry_backoff_max_ms=10_000)
    rig.assign(P0)
    rig.answer(rig.fetches()[1], data(0, error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER))
    assert not rig.due()
    rig.now_ms += 2_000
    rig.refresh(epoch=1, leaders=(2, 2, 1, 2))
    assert asked(rig.fetches()[2]) == {0: 0}


def test_c5_data_counts_only_while_assigned_and_at_the_position() -> None:
    """C5."""
    rig = Rig()
    rig.assign(P0, P2)
    rig.answer(rig.fetches()[1], data(0, batch(0, 5)), data(2, batch(0, 5)))
    rig.core.subscription.states[P0].seek(3)
    rig.core.subscription.set([P0])
    assert not rig.values(), "both are dropped: one moved, one gone"
    send = rig.fetches()[1]
    assert asked(send) == {0: 3}
    rig.answer(send, data(0, batch(0, 5)))
    assert rig.values() == [3, 4], "from within the batch"


def test_c5_a_seek_while_the_fetch_is_in_flight_drops_its_answer() -> None:
    """C5."""
    rig = Rig()
    rig.assign(P0)
    send = rig.fetches()[1]
    rig.core.subscription.states[P0].seek(40)
    rig.answer(send, data(0, batch(0, 5)))
    assert not rig.values()
    assert asked(rig.fetches()[1]) == {0: 40}


def test_c5_paused_data_is_kept_and_returned_after_resume() -> None:
    """C5."""
    rig = Rig()
    rig.assign(P0, P2)
    rig.answer(rig.fetches()[1], data(0, batch(0, 2)), data(2, batch(10, 2)))
    rig.core.subscription.states[P0].is_paused = True
    rig.core.subscription.states[P2].seek(10)
    rig.values()
    assert not rig.core.fetcher.has_data
    assert 0 not in asked(rig.fetches()[1]), "not fetched while paused"
    rig.core.subscription.states[P0].is_paused = False
    assert rig.values() == [0, 1]


def test_c5_the_position_steps_over_control_aborted_and_compacted_records() -> None:
    """C5."""
    rig = Rig(is_committed_only=True)
    rig.assign(P0)
    marker = build_marker(EndTxnMarker(False, 0), producer_id=9, producer_epoch=0, timestamp_ms=1_000)
    marker[:8] = (5).to_bytes(8, "big")
    records = batch(0, 2) + batch(2, 3, producer=9) + bytes(marker) + batch(8, 1)
    part = data(0, records, aborted_transactions=[AbortedTransaction(9, 2)])
    rig.answer(rig.fetches()[1], part)
    assert rig.values(2) == [0, 1]
    assert rig.values() == [8]
    assert rig.core.subscription.states[P0].offset == 9
    only_hidden = data(0, batch(9, 3, producer=9), aborted_transactions=[AbortedTransaction(9, 9)])
    rig.answer(rig.fetches()[1], only_hidden)
    assert not rig.values()
    assert asked(rig.fetches()[1]) == {0: 12}


def test_c6_a_partition_with_data_is_not_fetched_again() -> None:
    """C6."""
    rig = Rig()
    rig.assign(P0, P2)
    rig.answer(rig.fetches()[1], data(0, batch(0, 4)), data(2))
    second = rig.fetches()[1]
    assert forgotten(second) == [0]
    assert rig.values(2) == [0, 1]
    rig.answer(second, data(2, batch(0, 1)))
    assert not rig.due(), "0 is next in line, 2 in the queue"
    assert rig.values(2) == [2, 3]
    assert asked(rig.fetches()[1]) == {0: 4}
    assert rig.values() == [0]


def test_c7_the_core_joins_finds_committed_offsets_resets_validates_and_refreshes() -> None:
    """C7."""
    rig = Rig(group="billing")
    rig.core.subscription.subscribe(["orders"])
    rig.core.follow_subscription()
    rig.core.polled(0)
    (join,) = rig.due()
    assert isinstance(join.request, ConsumerGroupHeartbeatRequest)
    assigned = Assignment([TopicPartitions(ID, [0, 2])])
    response = ConsumerGroupHeartbeatResponse(
        member_epoch=1, heartbeat_interval_ms=5_000, assignment=assigned
    )
    rig.core.outcome(Outcome(join, response), 0)
    step = rig.core.change()
    assert step is not None
    assert step.partitions == {P0, P2}
    rig.core.carried_out(step)
    beat, committed = rig.due()
    assert isinstance(beat.request, ConsumerGroupHeartbeatRequest)
    assert beat.request.topic_partitions == [TopicPartitions(ID, [0, 2])]
    assert isinstance(committed.request, OffsetFetchRequest)
    offsets = [OffsetFetchResponsePartitions(0, 30, 0), OffsetFetchResponsePartitions(2, -1)]
    groups = [OffsetFetchResponseGroup("billing", [OffsetFetchResponseTopics("orders", partitions=offsets)])]
    rig.core.outcome(Outcome(committed, OffsetFetchResponse(groups=groups)), 0)
    reset, fetch = rig.due()
    assert isinstance(reset.request, ListOffsetsRequest)
    assert asked(fetch) == {0: 30}
    found = [ListOffsetsTopicResponse("orders", [ListOffsetsPartitionResponse(2, offset=4)])]
    rig.core.outcome(Outcome(reset, ListOffsetsResponse(topics=found)), 0)
    rig.answer(fetch, data(0))
    assert asked(rig.fetches()[1]) == {2: 4}, "what the session does not have yet"
    rig.now_ms = 10_000
    rig.view.refresh_soon(rig.now_ms)
    rig.refresh(epoch=1)
    (validation,) = rig.due()
    assert isinstance(validation.request, OffsetForLeaderEpochRequest)
    assert rig.core.subscription.states[P0].phase is Phase.NEEDS_VALIDATION
    ends = [OffsetForLeaderTopicResult("orders", [EpochEndOffset(0, 0, 0, 25)])]
    rig.core.outcome(Outcome(validation, OffsetForLeaderEpochResponse(topics=ends)), rig.now_ms)
    assert rig.core.subscription.states[P0].offset == 25, "the log was cut off there"
    assert any(isinstance(send.request, MetadataRequest) for send in rig.view.due(rig.now_ms + MAX_AGE_MS))


def test_a_session_sends_only_what_has_changed_and_begins_again_when_it_is_lost() -> None:
    rig = Rig()
    rig.assign(P0, P2)
    first = rig.fetches()[1]
    rig.answer(first, data(0, batch(0, 2)), data(2))
    second = rig.fetches()[1]
    assert isinstance(second.request, FetchRequest)
    assert (second.request.session_id, second.request.session_epoch) == (SESSION, 1)
    assert (asked(second), forgotten(second)) == ({}, [0])
    rig.values()
    rig.answer(second)
    third = rig.fetches()[1]
    assert asked(third) == {0: 2}
    rig.answer(third, code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND, session=0)
    fourth = rig.fetches()[1]
    assert isinstance(fourth.request, FetchRequest)
    assert (fourth.request.session_id, fourth.request.session_epoch) == (0, 0)
    assert asked(fourth) == {0: 2, 2: 0}


def test_a_preferred_replica_is_fetched_from_until_it_refuses() -> None:
    """KIP-392."""
    rig = Rig()
    rig.assign(P0)
    rig.answer(rig.fetches()[1], data(0, preferred_read_replica=2))
    send = rig.fetches()[2]
    rig.answer(send, data(0, error_code=ErrorCode.OFFSET_OUT_OF_RANGE))
    assert list(rig.fetches()) == [1]


@pytest.mark.parametrize("replica", [1, 77])
def test_a_preferred_replica_that_cannot_be_fetched_from_is_not_asked_for_at_once(replica: int) -> None:
    """KIP-392: the broker itself, or one that metadata does not have."""
    rig = Rig()
    rig.assign(P0)
    rig.answer(rig.fetches()[1], data(0, preferred_read_replica=replica))
    assert not rig.fetches()
    assert 80 <= (rig.core.next_deadline_ms() or 0) <= 120
    failed = rig.core.subscription.states[P0].failed
    assert f"broker 1 sends the consumer to replica {replica}" in str(failed)
    rig.now_ms = 120
    rig.answer(rig.fetches()[1], data(0, batch(0, 2)))
    assert rig.values() == [0, 1]


def test_a_session_that_a_full_fetch_does_not_need_is_not_missed_again_and_again() -> None:
    rig = Rig()
    rig.assign(P0)
    rig.answer(rig.fetches()[1], code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND, session=0)
    assert not rig.fetches()
    rig.now_ms = 120
    assert asked(rig.fetches()[1]) == {0: 0}


def test_batches_that_overlap_or_go_back_give_no_record_twice() -> None:
    """C5. No CRC covers a base offset."""
    rig = Rig()
    rig.assign(P0)
    back = bytearray(batch(0, 2))
    back[:8] = (3).to_bytes(8, "big")
    rig.answer(rig.fetches()[1], data(0, batch(0, 4) + batch(0, 4) + bytes(back) + batch(5, 2)))
    assert [record.offset for record in rig.core.take(500)] == [0, 1, 2, 3, 4, 5, 6]
    assert rig.core.subscription.states[P0].offset == 7


@pytest.mark.parametrize("base", [(1 << 63) - 1, (1 << 63) - 2])
def test_a_batch_behind_which_there_is_no_offset_is_told(base: int) -> None:
    rig = Rig()
    rig.assign(P0)
    last = bytearray(batch(0, 2))
    last[:8] = base.to_bytes(8, "big")
    rig.answer(rig.fetches()[1], data(0, batch(0, 2) + bytes(last)))
    assert rig.values() == [0, 1]
    with pytest.raises(ApiError, match="orders-0 cannot be read at offset 2: a batch ends at offset"):
        rig.values()


def based(base: int, count: int) -> bytes:
    """A batch whose base offset, which no CRC covers, is another one."""
    made = bytearray(batch(0, count))
    made[:8] = base.to_bytes(8, "big")
    return bytes(made)


@pytest.mark.parametrize("base", [101, 1_000, 1 << 62])
def test_a_leap_beyond_the_high_watermark_is_told_and_the_position_stays(base: int) -> None:
    rig = Rig()
    rig.assign(P0)
    rig.answer(rig.fetches()[1], data(0, batch(0, 2) + based(base, 1)))
    assert rig.values() == [0, 1]
    said = f"orders-0 cannot be read at offset 2: a batch begins at offset {base}, beyond the high watermark"
    for _ in range(2):
        with pytest.raises(ApiError, match=said) as refused:
            rig.values()
        assert refused.value.code is ErrorCode.CORRUPT_MESSAGE
    assert rig.core.subscription.states[P0].offset == 2
    assert not rig.fetches()


def test_gaps_below_the_high_watermark_and_records_behind_it_are_no_leap() -> None:
    """Compaction leaves gaps; a broker may send what was replicated since it read the high watermark."""
    rig = Rig()
    rig.assign(P0)
    rig.answer(rig.fetches()[1], data(0, batch(0, 1) + based(50, 1) + based(100, 2) + based(102, 1)))
    assert [record.offset for record in rig.core.take(500)] == [0, 50, 100, 101, 102]


@pytest.mark.parametrize("cut", [40, 70])
def test_an_answer_without_a_whole_batch_is_told(cut: int) -> None:
    """As Kafka's consumer does: to fetch it again would get the same."""
    rig = Rig()
    rig.assign(P0)
    rig.answer(rig.fetches()[1], data(0, batch(0, 9)[:cut]))
    for _ in range(2):
        with pytest.raises(ApiError, match=f"the broker sent {cut} bytes, in which no whole batch is"):
            rig.values()
    assert not rig.fetches()


def test_an_offset_below_zero_is_no_place_to_begin() -> None:
    rig = Rig()
    rig.core.subscription.assign([P0])
    (reset,) = rig.due()
    rig.core.outcome(Outcome(reset, listed(-1)), 0)
    assert not rig.due()
    rig.now_ms = 120
    (reset,) = rig.due()
    rig.core.outcome(Outcome(reset, listed(5)), 100)
    assert asked(rig.fetches()[1]) == {0: 5}


def test_a_new_leader_in_a_refusal_is_taken_over() -> None:
    rig = Rig()
    rig.assign(P0)
    moved = data(0, error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER, current_leader=LeaderIdAndEpoch(2, 1))
    rig.answer(rig.fetches()[1], moved)
    rig.now_ms = 1_000
    assert list(rig.fetches()) == [2]


@pytest.mark.parametrize("flips", [-1, -200])
def test_a_corrupt_batch_is_told_at_its_offset_and_nothing_before_it_is_lost(flips: int) -> None:
    rig = Rig()
    rig.assign(P0)
    broken = bytearray(batch(2, 40))
    broken[flips] ^= 1
    rig.answer(rig.fetches()[1], data(0, batch(0, 2) + bytes(broken)))
    assert rig.values() == [0, 1]
    with pytest.raises(ApiError, match=r"orders-0 cannot be read at offset 2: .*; seek behind it to go on"):
        rig.values()
    assert rig.core.subscription.states[P0].offset == 2
    rig.core.subscription.states[P0].seek(42)
    assert not rig.values()
    assert asked(rig.fetches()[1]) == {0: 42}


def test_a_damaged_batch_is_raised_until_a_seek_has_it_fetched_again() -> None:
    rig = Rig()
    rig.assign(P0, P2)
    broken = bytearray(batch(0, 2))
    broken[-1] ^= 1
    rig.answer(rig.fetches()[1], data(0, bytes(broken)), data(2, batch(0, 1)))
    for _ in range(2):
        with pytest.raises(ApiError, match="orders-0 cannot be read at offset 0"):
            rig.values()
        rig.now_ms += 5_000
        assert not rig.fetches()
    state = rig.core.subscription.states[P0]
    state.is_paused = True
    assert rig.values() == [0], "the other partition is read while this one is paused"
    state.is_paused = False
    state.seek(0)
    send = rig.fetches()[1]
    assert asked(send) == {2: 1}, "the session has the offset of the other one already"
    rig.answer(send, data(0, batch(0, 2)), data(2))
    assert rig.values() == [0, 1]


def test_a_record_that_cannot_be_converted_is_not_skipped() -> None:
    rig = Rig()
    rig.assign(P0)
    rig.answer(rig.fetches()[1], data(0, batch(0, 5)))

    def convert(record: ConsumerRecord) -> ConsumerRecord:
        if record.offset == 3:
            raise ValueError("no JSON")
        return record

    assert numbers(rig.core.take(10, convert)) == [0, 1, 2]
    for _ in range(2):
        with pytest.raises(ValueError, match="no JSON"):
            rig.core.take(10, convert)
    assert rig.values() == [3, 4]


def test_a_member_whose_application_does_not_poll_leaves_and_loses_its_partitions() -> None:
    rig = Rig(group="billing")
    rig.core.subscription.subscribe(["orders"])
    rig.core.follow_subscription()
    rig.core.polled(0)
    (join,) = rig.due()
    assigned = Assignment([TopicPartitions(ID, [0])])
    response = ConsumerGroupHeartbeatResponse(
        member_epoch=1, heartbeat_interval_ms=5_000, assignment=assigned
    )
    rig.core.outcome(Outcome(join, response), 0)
    step = rig.core.change()
    assert step is not None
    rig.core.carried_out(step)
    for send in rig.due():
        if isinstance(send.request, ConsumerGroupHeartbeatRequest):
            rig.core.outcome(
                Outcome(send, ConsumerGroupHeartbeatResponse(member_epoch=1, heartbeat_interval_ms=99_000)), 0
            )
    rig.now_ms = 60_000
    leaving = [one.request for one in rig.due() if isinstance(one.request, ConsumerGroupHeartbeatRequest)]
    assert [one.member_epoch for one in leaving] == [-1]
    assert rig.core.take_overslept()
    lost = rig.core.change()
    assert lost is not None
    assert (lost.change.name, lost.partitions) == ("LOST", frozenset({P0}))


def test_an_answer_about_a_position_counts_only_for_what_is_asked_now() -> None:
    """C7: the application moves to the end while the beginning is looked up."""
    rig = Rig()
    rig.core.subscription.assign([P0])
    (first,) = rig.due()
    rig.core.subscription.states[P0].reset(LATEST)
    rig.core.outcome(Outcome(first, listed(0)), 0)
    (second,) = rig.due()
    assert isinstance(second.request, ListOffsetsRequest)
    assert second.request.topics[0].partitions[0].timestamp == LATEST
    rig.core.outcome(Outcome(second, listed(90)), 0)
    assert asked(rig.fetches()[1]) == {0: 90}


def test_a_reset_by_duration_looks_up_the_same_time_until_it_is_answered() -> None:
    """C7, KIP-1106: a later time, after a retry, would leave records out."""
    rig = Rig(reset_to=Ago(60_000))
    rig.core.subscription.assign([P0])
    (first,) = rig.due()
    assert sought(first) == WALL_MS - 60_000
    refused = ListOffsetsPartitionResponse(0, error_code=ErrorCode.LEADER_NOT_AVAILABLE, offset=-1)
    topics = [ListOffsetsTopicResponse("orders", [refused])]
    rig.core.outcome(Outcome(first, ListOffsetsResponse(topics=topics)), 0)
    rig.clock.advance(30_000)
    rig.now_ms = 30_000
    (again,) = rig.due()
    assert sought(again) == WALL_MS - 60_000
    rig.core.outcome(Outcome(again, listed(7)), rig.now_ms)
    assert asked(rig.fetches()[1]) == {0: 7}


def test_a_reset_by_duration_goes_to_the_end_where_no_record_is_as_late() -> None:
    """C7, KIP-1106."""
    rig = Rig(reset_to=Ago(60_000))
    rig.core.subscription.assign([P0])
    (first,) = rig.due()
    rig.core.outcome(Outcome(first, listed(-1)), 0)
    (second,) = rig.due()
    assert sought(second) == LATEST
    rig.core.outcome(Outcome(second, listed(90)), 0)
    assert asked(rig.fetches()[1]) == {0: 90}


def test_committed_offsets_count_only_for_the_assignment_that_asked_for_them() -> None:
    """C7: another member may have read on, and committed, before the partition came back."""
    rig = Rig(group="billing")
    rig.core.subscription.assign([P0, P2])
    (before,) = rig.due()
    rig.core.subscription.assign([P2])
    rig.core.subscription.assign([P0, P2])
    rig.core.outcome(Outcome(before, committed_at(30)), 0)
    after = rig.due()[0]
    assert isinstance(after.request, OffsetFetchRequest)
    assert [one.partition_indexes for one in after.request.topics or []] == [[0]]
    rig.core.outcome(Outcome(after, committed_at(50)), 0)
    assert asked(rig.fetches()[1]) == {0: 50}


@pytest.mark.parametrize("kept", [[0], []])
def test_partitions_lost_while_the_application_is_told_of_others_are_told_too(kept: list[int]) -> None:
    """The group fences a member whose listener takes too long to give partitions back, or to take them."""
    rig = Rig(group="billing")
    rig.core.subscription.subscribe(["orders"])
    rig.core.follow_subscription()
    rig.core.polled(0)
    step = beat(rig, assigned=[0, 2])
    assert step is not None
    if kept:
        rig.core.carried_out(step)
        step = beat(rig, assigned=kept)
        assert step is not None
        assert step == Step(Change.REVOKED, frozenset([P2]))
    beat(rig, code=ErrorCode.FENCED_MEMBER_EPOCH)
    rig.core.carried_out(step)
    lost = rig.core.change()
    assert lost == Step(Change.LOST, frozenset([P0] if kept else [P0, P2]))
    rig.core.carried_out(lost)
    assert not rig.core.subscription.states
    rig.now_ms = 1_000
    (join,) = rig.due()
    assert isinstance(join.request, ConsumerGroupHeartbeatRequest)
    assert join.request.member_epoch == 0


def test_a_consumer_that_no_broker_lets_in_says_so_until_one_does() -> None:
    rig = Rig()
    rig.core.subscription.assign([P0])
    rig.view.refresh_soon(rig.now_ms)
    rig.now_ms = 1_000
    (send,) = rig.view.due(rig.now_ms)
    for error in (
        ConnectionFailed("cut"),
        NotConnected("who are you?", ErrorCode.SASL_AUTHENTICATION_FAILED),
    ):
        assert rig.core.take_error() is None, "what passes by itself is no error"
        rig.view.outcome(Outcome(send, error=error), rig.now_ms)
        rig.now_ms += 1_000
        (send,) = rig.view.due(rig.now_ms)
    for _ in range(2):
        told = rig.core.take_error()
        assert told is not None
        assert str(told) == "who are you?"
    rig.view.outcome(Outcome(send, MetadataResponse()), rig.now_ms)
    assert rig.core.take_error() is None


def test_nothing_is_looked_at_again_and_again_while_only_an_event_can_help() -> None:
    """A time that has come and changed nothing would have the driver ask a thousand times a second."""
    rig = Rig(group="billing")
    rig.core.subscription.assign([P0, P1])
    (first,) = rig.due()
    rig.core.outcome(Outcome(first, error=ConnectionFailed("cut")), rig.now_ms)
    rig.now_ms += 1_000
    (again,) = rig.due()
    assert is_quiet(rig), "it is being looked up"
    rig.core.outcome(Outcome(again, refused_at(ErrorCode.GROUP_AUTHORIZATION_FAILED)), rig.now_ms)
    assert not rig.due()
    assert is_quiet(rig), "the application has not been told yet"
    for state in rig.core.subscription.states.values():
        state.seek(0)
    for send in rig.fetches().values():
        rig.fail(send)
    assert not is_quiet(rig), "it is fetched again soon"
    rig.core.subscription.states[P0].is_paused = True
    rig.core.subscription.states[P1].is_leaving = True
    rig.now_ms += 1_000
    assert not rig.due()
    assert is_quiet(rig)


def test_a_member_that_has_lost_its_partitions_waits_for_the_application_in_peace() -> None:
    rig = Rig(group="billing")
    rig.core.subscription.subscribe(["orders"])
    rig.core.follow_subscription()
    step = beat(rig, assigned=[0])
    assert step is not None
    rig.core.carried_out(step)
    beat(rig, code=ErrorCode.FENCED_MEMBER_EPOCH)
    for state in rig.core.subscription.states.values():
        state.is_paused = True
        state.seek(0)
    rig.now_ms += 10_000
    assert not rig.due()
    assert is_quiet(rig)


@pytest.mark.parametrize("asks_for_heartbeats_every_ms", [0, -1, 1])
def test_a_broker_that_wants_heartbeats_without_a_pause_gets_ten_a_second(
    asks_for_heartbeats_every_ms: int,
) -> None:
    rig = Rig(group="billing")
    rig.core.subscription.subscribe(["orders"])
    rig.core.follow_subscription()
    (send,) = rig.due()
    answer = ConsumerGroupHeartbeatResponse(
        member_epoch=1, heartbeat_interval_ms=asks_for_heartbeats_every_ms
    )
    rig.core.outcome(Outcome(send, answer), 0)
    rig.now_ms = 99
    assert not rig.due()
    rig.now_ms = 100
    assert rig.due()


def test_what_answers_leave_out_is_not_asked_for_again_at_once() -> None:
    rig = Rig()
    rig.core.subscription.assign([P0])
    (reset,) = rig.due()
    rig.core.outcome(Outcome(reset, ListOffsetsResponse()), 0)
    assert not rig.due()
    rig.now_ms = 120
    (reset,) = rig.due()
    rig.core.outcome(Outcome(reset, listed(5)), 100)
    rig.core.subscription.states[P0].epoch = 0
    rig.view.refresh_soon(0)
    rig.now_ms = 1_000
    rig.refresh(epoch=1)
    validation = next(one for one in rig.due() if isinstance(one.request, OffsetForLeaderEpochRequest))
    rig.core.outcome(Outcome(validation, OffsetForLeaderEpochResponse()), 1_000)
    assert not [one for one in rig.due() if isinstance(one.request, OffsetForLeaderEpochRequest)]


def test_a_committed_offset_that_the_answer_leaves_out_is_told_and_not_taken_for_none() -> None:
    """To reset the position would skip or repeat records."""
    rig = Rig(group="billing")
    rig.core.subscription.assign([P0])
    (asks,) = rig.due()
    assert isinstance(asks.request, OffsetFetchRequest)
    rig.core.outcome(Outcome(asks, OffsetFetchResponse(groups=[OffsetFetchResponseGroup("billing")])), 0)
    assert not rig.due()
    error = rig.core.take_error()
    assert "leaves out the committed offset of orders-0" in str(error)


def is_quiet(rig: Rig) -> bool:
    """Whether no time is named at which the core wants to be asked."""
    return rig.core.next_deadline_ms() is None


def beat(rig: Rig, *, assigned: Sequence[int] | None = None, code: ErrorCode = ErrorCode.NONE) -> Step | None:
    """Answer the heartbeat that is due; returns the step that follows."""
    rig.now_ms += 100
    (send,) = [one for one in rig.due() if isinstance(one.request, ConsumerGroupHeartbeatRequest)]
    response = ConsumerGroupHeartbeatResponse(
        error_code=code,
        member_epoch=1,
        heartbeat_interval_ms=1,
        assignment=None if assigned is None else Assignment([TopicPartitions(ID, list(assigned))]),
    )
    rig.core.outcome(Outcome(send, response), rig.now_ms)
    return rig.core.change()


def sought(send: Send) -> int:
    """The timestamp of a lookup of one partition."""
    assert isinstance(send.request, ListOffsetsRequest)
    return send.request.topics[0].partitions[0].timestamp


def listed(offset: int) -> ListOffsetsResponse:
    partitions = [ListOffsetsPartitionResponse(0, offset=offset)]
    return ListOffsetsResponse(topics=[ListOffsetsTopicResponse("orders", partitions)])


def refused_at(code: ErrorCode) -> OffsetFetchResponse:
    return OffsetFetchResponse(groups=[OffsetFetchResponseGroup("billing", error_code=code)])


def committed_at(offset: int) -> OffsetFetchResponse:
    topics = [OffsetFetchResponseTopics("orders", partitions=[OffsetFetchResponsePartitions(0, offset)])]
    return OffsetFetchResponse(groups=[OffsetFetchResponseGroup("billing", topics)])


@pytest.mark.parametrize("code", [ErrorCode.UNSUPPORTED_VERSION, ErrorCode.SASL_AUTHENTICATION_FAILED])
def test_a_broker_that_refuses_every_fetch_is_told_again_and_again_until_it_serves_one(
    code: ErrorCode,
) -> None:
    rig = Rig()
    rig.assign(P0, P2)
    for _ in range(2):
        rig.now_ms += 5_000
        send = rig.fetches()[1]
        rig.core.outcome(Outcome(send, error=NotConnected("not here", code)), rig.now_ms)
        told = rig.core.take_error()
        assert told is not None
        assert str(told) == "not here"
        assert rig.core.take_error() is None, "one poll raises it, not one for each partition"
        assert not rig.fetches(), "it is asked again after a backoff"
    rig.now_ms += 5_000
    rig.answer(rig.fetches()[1], data(0, batch(0, 3)), data(2))
    assert rig.core.take_error() is None
    assert rig.values() == [0, 1, 2]


def test_brokers_that_serve_metadata_in_no_known_version_are_told() -> None:
    rig = Rig()
    rig.assign(P0)
    rig.view.refresh_soon(rig.now_ms)
    rig.now_ms = 1_000
    (send,) = rig.view.due(rig.now_ms)
    error = ConnectionFailed("b:9093 does not serve MetadataRequest", ErrorCode.UNSUPPORTED_VERSION)
    rig.view.outcome(Outcome(send, error=error), rig.now_ms)
    assert rig.core.take_error() is error
