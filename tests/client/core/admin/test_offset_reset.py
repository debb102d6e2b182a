"""Plans of moves of committed offsets, in logs of offsets 5 to 10."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.ids import TopicPartition
from odradek.client.core.admin.offset_reset import (
    At,
    AtEach,
    AtTime,
    Current,
    Earliest,
    Latest,
    Move,
    ShiftBy,
    Target,
    plan_moves,
)
from odradek.client.core.operation import Operation
from odradek.client.core.requests import Send
from odradek.wire.message import Message
from odradek.wire.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from odradek.wire.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from odradek.wire.messages.offset_fetch import (
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from tests.client.core.running import Running

FIRST, SECOND = TopicPartition("flights", 0), TopicPartition("flights", 1)
OFFSETS = {-2: 5, -1: 10, 1_000: 8, 9_000: -1}
"""By the time that is asked for."""


@dataclass
class Cluster:
    """A topic `flights` of two partitions; the group has committed 7 in the first."""

    committed: dict[int, int] = field(default_factory=lambda: {0: 7})

    def plan(
        self, target: Target, topics: Sequence[str] = ("flights",), partition: int | None = None
    ) -> list[Move]:
        return self._result(plan_moves("g", topics, target, partition))

    def _result(self, operation: Operation[list[Move]]) -> list[Move]:
        running = Running(operation)
        while not running.is_done:
            running.answer(*map(self._answer, running.sends))
        return running.result

    def _answer(self, send: Send) -> Message:
        request = send.request
        if isinstance(request, MetadataRequest):
            return MetadataResponse(topics=[self._topic(one.name or "") for one in request.topics or []])
        if isinstance(request, ListOffsetsRequest):
            return ListOffsetsResponse(
                topics=[
                    ListOffsetsTopicResponse(
                        topic.name,
                        [
                            ListOffsetsPartitionResponse(
                                partition_index=one.partition_index, offset=OFFSETS[one.timestamp]
                            )
                            for one in topic.partitions
                        ],
                    )
                    for topic in request.topics
                ]
            )
        parts = [OffsetFetchResponsePartition(number, one) for number, one in self.committed.items()]
        return OffsetFetchResponse(topics=[OffsetFetchResponseTopic("flights", parts)])

    def _topic(self, name: str) -> MetadataResponseTopic:
        if name != "flights":
            return MetadataResponseTopic(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, name)
        return MetadataResponseTopic(
            0, name, partitions=[MetadataResponsePartition(0, one, 1) for one in (0, 1)]
        )


@pytest.mark.parametrize(
    ("target", "after"),
    [
        (Earliest(), [5, 5]),
        (Latest(), [10, 10]),
        (Current(), [7, 10]),
        (At(6), [6, 6]),
        (At(999), [10, 10]),
        (At(1), [5, 5]),
        (AtTime(1_000), [8, 8]),
        (AtTime(9_000), [10, 10]),
    ],
)
def test_each_partition_moves_to_its_target_or_the_nearer_end_of_its_log(
    target: Target, after: list[int]
) -> None:
    moves = Cluster().plan(target)
    assert [one.after for one in moves] == after
    assert [(one.partition, one.before) for one in moves] == [(FIRST, 7), (SECOND, None)]


def test_what_was_asked_for_is_kept_beside_what_is_possible() -> None:
    assert Cluster().plan(ShiftBy(-3), topics=()) == [Move(FIRST, 7, 5, 4)]


def test_without_topics_the_partitions_are_those_with_a_committed_offset() -> None:
    assert [one.partition for one in Cluster().plan(Latest(), topics=())] == [FIRST]
    assert Cluster(committed={}).plan(Latest(), topics=()) == []


def test_a_file_names_the_partitions_itself() -> None:
    assert Cluster().plan(AtEach({SECOND: 6}), topics=()) == [Move(SECOND, None, 6, 6)]
    with pytest.raises(ApiError, match="there is no partition 7 of topic flights"):
        Cluster().plan(AtEach({TopicPartition("flights", 7): 6}), topics=())


@pytest.mark.parametrize(
    ("topics", "partition", "said"),
    [
        (["planes"], None, "there is no topic planes"),
        (["flights"], 2, "there is no partition 2 of topic flights"),
    ],
)
def test_what_does_not_exist_is_named(topics: list[str], partition: int | None, said: str) -> None:
    with pytest.raises(ApiError, match=said):
        Cluster().plan(Latest(), topics, partition)


def test_nothing_is_shifted_that_is_not_committed() -> None:
    with pytest.raises(ApiError, match="group g has committed nothing for flights-1 that could be shifted"):
        Cluster().plan(ShiftBy(1))
