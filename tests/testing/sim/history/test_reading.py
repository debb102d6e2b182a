"""What requests and answers say, in one line."""

from uuid import UUID

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.records.builder import BatchBuilder
from odradek.testing.sim.history.events import Message
from odradek.testing.sim.history.reading import SHOWN_MAX, read_answer, read_request
from odradek.wire.message import Message as WireMessage
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from odradek.wire.messages.fetch import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
)
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from odradek.wire.messages.leader_and_isr import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
)
from odradek.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
    ListOffsetsTopicResponse,
)
from odradek.wire.messages.offset_for_leader_epoch import EpochEndOffset as EpochEnd
from odradek.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
    OffsetForLeaderTopicResult,
)
from odradek.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from odradek.wire.messages.stop_replica import (
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaTopicState,
)
from odradek.wire.messages.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)

ORDERS = UUID(int=7)
NAMES = {ORDERS: "orders"}


def batch(*values: bytes, base_offset: int = 0) -> bytes:
    builder = BatchBuilder()
    for value in values:
        builder.append(1_000, None, value)
    return base_offset.to_bytes(8, "big") + bytes(builder.build())[8:]


def read(message: WireMessage, version: int) -> Message:
    reader = read_request if type(message).__name__.endswith("Request") else read_answer
    return reader(message.API_KEY, version, message.encode(version), 0, NAMES)


def fetched(data: PartitionData) -> FetchResponse:
    return FetchResponse(responses=[FetchableTopicResponse(topic_id=ORDERS, partitions=[data])])


CASES = [
    (
        ProduceRequest(
            None,
            -1,
            1_000,
            [TopicProduceData("orders", partition_data=[PartitionProduceData(3, batch(b"x"))])],
        ),
        9,
        "acks=all; orders-3: 1 record",
    ),
    (
        ProduceRequest(
            None, 0, 1_000, [TopicProduceData("orders", partition_data=[PartitionProduceData(0, b"??" * 40)])]
        ),
        9,
        "acks=0; orders-0: records that do not decode",
    ),
    (
        ProduceResponse(
            [TopicProduceResponse("orders", partition_responses=[PartitionProduceResponse(0, 0, 41)])]
        ),
        9,
        "orders-0: offset 41",
    ),
    (
        ProduceResponse(
            [
                TopicProduceResponse(
                    "orders",
                    partition_responses=[PartitionProduceResponse(0, ErrorCode.NOT_LEADER_OR_FOLLOWER)],
                )
            ]
        ),
        9,
        "orders-0: NOT_LEADER_OR_FOLLOWER",
    ),
    (
        FetchRequest(
            topics=[
                FetchTopic(
                    topic_id=ORDERS, partitions=[FetchPartition(0, fetch_offset=41, last_fetched_epoch=3)]
                )
            ],
            forgotten_topics_data=[ForgottenTopic(topic_id=ORDERS, partitions=[2])],
        ),
        13,
        "orders-0 at offset 41, last epoch 3; orders-2: no longer",
    ),
    (
        fetched(PartitionData(0, high_watermark=41, records=batch(b"a", b"b", base_offset=41))),
        13,
        "orders-0: offsets 41-42, HW 41",
    ),
    (fetched(PartitionData(0, high_watermark=41, records=b"")), 13, "orders-0: no records, HW 41"),
    (
        fetched(PartitionData(0, diverging_epoch=EpochEndOffset(3, 41), records=b"")),
        13,
        "orders-0: diverging, epoch 3 ends at 41",
    ),
    (fetched(PartitionData(0, error_code=6, records=b"")), 13, "orders-0: NOT_LEADER_OR_FOLLOWER"),
    (FetchResponse(error_code=70), 13, "FETCH_SESSION_ID_NOT_FOUND"),
    (
        OffsetForLeaderEpochRequest(2, [OffsetForLeaderTopic("orders", [OffsetForLeaderPartition(0, 4, 3)])]),
        4,
        "orders-0: where does epoch 3 end?",
    ),
    (
        OffsetForLeaderEpochResponse(
            topics=[OffsetForLeaderTopicResult("orders", [EpochEnd(0, 0, 3, 41), EpochEnd(0, 1, -1, -1)])]
        ),
        4,
        "orders-0: epoch 3 ends at 41; orders-1: the epoch is unknown",
    ),
    (
        ListOffsetsRequest(
            -1,
            0,
            [ListOffsetsTopic("orders", [ListOffsetsPartition(0, -1, -1), ListOffsetsPartition(1, -1, 5)])],
        ),
        6,
        "orders-0: latest offset?; orders-1: offset at timestamp 5?",
    ),
    (
        ListOffsetsResponse(
            0, [ListOffsetsTopicResponse("orders", [ListOffsetsPartitionResponse(0, 0, -1, 41)])]
        ),
        6,
        "orders-0: offset 41",
    ),
    (
        LeaderAndIsrRequest(
            3,
            controller_epoch=2,
            topic_states=[
                LeaderAndIsrTopicState(
                    "orders",
                    partition_states=[LeaderAndIsrPartitionState(0, leader=2, leader_epoch=4, isr=[2, 3])],
                )
            ],
        ),
        7,
        "controller 3 epoch 2; orders-0: leader 2, epoch 4, ISR 2,3",
    ),
    (
        UpdateMetadataRequest(
            topic_states=[
                UpdateMetadataTopicState(
                    "orders", partition_states=[UpdateMetadataPartitionState(0, leader=-1, leader_epoch=4)]
                )
            ],
            live_brokers=[UpdateMetadataBroker(2, [UpdateMetadataEndpoint()]), UpdateMetadataBroker(1)],
        ),
        8,
        "live brokers 1,2; orders-0: no leader, epoch 4, ISR ",
    ),
    (
        StopReplicaRequest(
            topic_states=[
                StopReplicaTopicState(
                    "orders",
                    [StopReplicaPartitionState(0), StopReplicaPartitionState(1, delete_partition=True)],
                )
            ]
        ),
        4,
        "orders-0: stop; orders-1: stop and delete",
    ),
    (CreateTopicsRequest([CreatableTopic("a"), CreatableTopic("b")]), 5, "a; b"),
    (FindCoordinatorRequest("g"), 3, ""),
    (FindCoordinatorResponse(error_code=15), 3, "COORDINATOR_NOT_AVAILABLE"),
]


@pytest.mark.parametrize(("message", "version", "words"), CASES, ids=[type(one[0]).__name__ for one in CASES])
def test_a_message_in_one_line(message: WireMessage, version: int, words: str) -> None:
    said = read(message, version).words
    assert said == words or (words.endswith("do not decode") and said.startswith(words))


def test_a_produce_without_acks_is_not_answered() -> None:
    for acks, is_answered in ((-1, True), (1, True), (0, False)):
        assert read(ProduceRequest(None, acks, 1_000, []), 9).is_answered is is_answered


def test_a_fetch_that_names_nothing_says_nothing_new() -> None:
    assert read(FetchRequest(session_id=4, session_epoch=9), 13).is_quiet
    assert read(FetchResponse(session_id=4), 13).is_quiet
    assert not read(FetchResponse(error_code=70), 13).is_quiet
    assert not read(
        FetchRequest(topics=[FetchTopic(topic_id=ORDERS, partitions=[FetchPartition()])]), 13
    ).is_quiet


def test_a_message_of_many_partitions_names_a_few() -> None:
    partitions = [FetchPartition(number) for number in range(SHOWN_MAX + 5)]
    said = read(FetchRequest(topics=[FetchTopic(topic_id=ORDERS, partitions=partitions)]), 13)
    assert said.words.endswith("orders-2 at offset 0; and 22 more")
    assert (len(said.parts), said.unnamed) == (SHOWN_MAX, 5)


def test_a_topic_without_a_name_is_shown_by_its_id() -> None:
    unknown = FetchTopic(topic_id=UUID(int=8), partitions=[FetchPartition(0)])
    (part,) = read(FetchRequest(topics=[unknown]), 13).parts
    assert part[0].topic == str(UUID(int=8))


def test_bytes_that_are_no_message_are_shown_as_such() -> None:
    assert read_request(1, 13, b"\xff" * 20, 0, {}).words.startswith("does not decode: ")
    assert read_request(1, 999, b"", 0, {}).words.startswith("does not decode: ")
    assert read_request(9_999, 0, b"", 0, {}) == Message("API 9999", "version 0, 0 bytes")
