"""What fetchers ask, as the wire's bytes, and what they are answered."""

from uuid import UUID

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import exhaust
from odradek.base.ids import TopicId, TopicPartition
from odradek.replication.fetcher import (
    EpochAsk,
    EpochEndAnswer,
    EpochEndsAsk,
    FetchAsk,
    OffsetAnswer,
    OffsetAsk,
    OffsetsAsk,
    PartitionAnswer,
    PartitionAsk,
)
from odradek.server.node.fetcher_messages import (
    FetchSender,
    epoch_end_answers,
    fetch_answer,
    offset_answers,
    to_request,
)
from odradek.storage import EpochEnd
from odradek.wire.messages.fetch import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from odradek.wire.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from odradek.wire.messages.offset_for_leader_epoch import EpochEndOffset as EpochEndOfPartition
from odradek.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)

SENDER = FetchSender(3, 77, 500, 1, 1_048_576, 10_485_760)
ORDERS, FLIGHTS = UUID(int=1), UUID(int=2)
P, Q = TopicPartition("orders", 4), TopicPartition("flights", 0)


def ask_for(partition: TopicPartition, topic_id: TopicId, offset: int = 9) -> PartitionAsk:
    return PartitionAsk(partition, topic_id, 6, offset, 5, 2)


def names(topic_id: TopicId) -> str | None:
    return {ORDERS: "orders", FLIGHTS: "flights"}.get(topic_id)


def test_a_fetch_names_its_sender_and_what_it_asks_for() -> None:
    """X1, R16, KIP-903, KIP-516."""
    ask = FetchAsk(12, 34, [ask_for(P, ORDERS), ask_for(Q, FLIGHTS)], [ask_for(P, ORDERS)])
    request = exhaust(to_request(ask, SENDER))
    assert isinstance(request, FetchRequest)
    got = FetchRequest.decode(request.encode(18), 18)
    assert got.replica_state is not None
    assert (got.replica_state.replica_id, got.replica_state.replica_epoch) == (3, 77)
    assert (got.session_id, got.session_epoch) == (12, 34)
    assert (got.max_wait_ms, got.min_bytes, got.max_bytes) == (500, 1, 10_485_760)
    assert [topic.topic_id for topic in got.topics] == [ORDERS, FLIGHTS]
    (part,) = got.topics[0].partitions
    assert (part.partition, part.current_leader_epoch, part.fetch_offset) == (4, 6, 9)
    assert (part.last_fetched_epoch, part.log_start_offset, part.partition_max_bytes) == (5, 2, 1_048_576)
    assert [(topic.topic_id, topic.partitions) for topic in got.forgotten_topics_data] == [(ORDERS, [4])]


def test_a_fetch_that_is_to_be_followed_at_once_does_not_wait() -> None:
    request = exhaust(to_request(FetchAsk(12, 34, [], may_wait=False), SENDER))
    assert isinstance(request, FetchRequest)
    assert request.max_wait_ms == 0


def test_a_wide_fetch_is_made_in_steps() -> None:
    ask = FetchAsk(0, 0, [ask_for(TopicPartition("orders", number), ORDERS) for number in range(160)])
    assert sum(1 for _ in to_request(ask, SENDER)) == 10


def test_the_question_about_epochs() -> None:
    """X4."""
    ask = EpochEndsAsk([EpochAsk(P, 6, 5), EpochAsk(Q, 1, 0)])
    request = exhaust(to_request(ask, SENDER))
    assert isinstance(request, OffsetForLeaderEpochRequest)
    got = OffsetForLeaderEpochRequest.decode(request.encode(4), 4)
    assert got.replica_id == 3
    assert [
        (topic.topic, part.partition, part.current_leader_epoch, part.leader_epoch)
        for topic in got.topics
        for part in topic.partitions
    ] == [("orders", 4, 6, 5), ("flights", 0, 1, 0)]


def test_the_question_about_offsets() -> None:
    """X3: as a replica, which is told LEO and not HW."""
    ask = OffsetsAsk([OffsetAsk(P, 6, is_earliest=False), OffsetAsk(Q, 1, is_earliest=True)])
    request = exhaust(to_request(ask, SENDER))
    assert isinstance(request, ListOffsetsRequest)
    got = ListOffsetsRequest.decode(request.encode(11), 11)
    assert got.replica_id == 3
    assert [
        (topic.name, part.partition_index, part.current_leader_epoch, part.timestamp)
        for topic in got.topics
        for part in topic.partitions
    ] == [("orders", 4, 6, -1), ("flights", 0, 1, -2)]


def test_the_answer_to_a_fetch() -> None:
    """F9: a diverging epoch is absent, or has an epoch."""
    diverged = PartitionData(5, 0, 8, -1, 1, EpochEndOffset(3, 7), records=None)
    response = FetchResponse(
        session_id=12,
        responses=[
            FetchableTopicResponse("", ORDERS, [PartitionData(4, 0, 10, 9, 1, records=b"batch"), diverged]),
            FetchableTopicResponse("", UUID(int=9), [PartitionData(0, 0, 10, 9, 1)]),
            FetchableTopicResponse("", FLIGHTS, [PartitionData(0, 6, -1, -1, -1)]),
        ],
    )
    answer = fetch_answer(FetchResponse.decode(response.encode(18), 18), names)
    assert (answer.error_code, answer.session_id) == (ErrorCode.NONE, 12)
    assert [one._replace(records=bytes(one.records)) for one in answer.partitions] == [
        PartitionAnswer(P, ErrorCode.NONE, 10, 1, b"batch"),
        PartitionAnswer(TopicPartition("orders", 5), ErrorCode.NONE, 8, 1, b"", EpochEnd(3, 7)),
        PartitionAnswer(Q, ErrorCode.NOT_LEADER_OR_FOLLOWER, -1, -1),
    ]


def test_a_code_that_is_not_known_here_is_an_error() -> None:
    answer = fetch_answer(FetchResponse(error_code=9_999), names)
    assert answer.error_code is ErrorCode.UNKNOWN_SERVER_ERROR


def test_the_answers_about_epochs_and_offsets() -> None:
    """X3, X4."""
    ends = OffsetForLeaderEpochResponse(
        topics=[OffsetForLeaderTopicResult("orders", [EpochEndOfPartition(0, 4, 5, 90)])]
    )
    assert list(epoch_end_answers(ends)) == [EpochEndAnswer(P, ErrorCode.NONE, EpochEnd(5, 90))]
    offsets = ListOffsetsResponse(
        topics=[ListOffsetsTopicResponse("orders", [ListOffsetsPartitionResponse(4, 6, -1, -1)])]
    )
    assert list(offset_answers(offsets)) == [OffsetAnswer(P, ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)]
