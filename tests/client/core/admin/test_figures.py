"""Figures of partitions: offsets and sizes, as their leaders tell them."""

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ElementsRefused
from odradek.base.ids import TopicPartition
from odradek.client.core.admin.figures import Figures, figures_of, partitions_with_figures
from odradek.client.core.admin.topics import PartitionDescription, TopicDescription
from odradek.client.core.requests import ToNode
from odradek.net.request_pipeline import ConnectionFailed
from odradek.wire.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from odradek.wire.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from odradek.wire.messages.metadata import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from tests.client.core.running import Running

FIRST, SECOND = TopicPartition("flights", 0), TopicPartition("flights", 1)


def topic(*leaders: int) -> TopicDescription:
    parts = [PartitionDescription(number, one, 0, [1, 2], [1, 2]) for number, one in enumerate(leaders)]
    return TopicDescription("flights", "", internal=False, partitions=parts)


def led(*leaders: int) -> MetadataResponse:
    parts = [MetadataResponsePartition(0, number, leader) for number, leader in enumerate(leaders)]
    return MetadataResponse(topics=[MetadataResponseTopic(0, "flights", partitions=parts)])


def offsets(number: int, offset: int, code: ErrorCode = ErrorCode.NONE) -> ListOffsetsResponse:
    part = ListOffsetsPartitionResponse(partition_index=number, error_code=code, offset=offset)
    return ListOffsetsResponse(topics=[ListOffsetsTopicResponse("flights", [part])])


def logs(number: int, *sizes: tuple[int, bool]) -> DescribeLogDirsResponse:
    parts = [DescribeLogDirsPartition(number, size, 0, is_copy) for size, is_copy in sizes]
    found = DescribeLogDirsResult(log_dir="/d", topics=[DescribeLogDirsTopic("flights", parts)])
    return DescribeLogDirsResponse(results=[found])


def test_leaders_are_asked_for_offsets_and_sizes() -> None:
    running = Running(figures_of([topic(1, 2)]))
    for place in (5, 20):
        running.answer(led(1, 2))
        assert [send.to for send in running.sends] == [ToNode(1), ToNode(2)]
        running.answer(offsets(0, place), offsets(1, place + 1))
    assert [send.to for send in running.sends] == [ToNode(1), ToNode(2)]
    # The log of a move to another directory is not its size.
    running.answer(logs(0, (300, False), (7, True)), ConnectionFailed("it hung up"))
    assert running.result == {FIRST: Figures(5, 20, 300), SECOND: Figures(6, 21, None)}
    assert running.result[FIRST].offsets == 15


def test_a_partition_without_a_leader_has_none_and_is_not_waited_for() -> None:
    running = Running(partitions_with_figures([topic(1, -1)]))
    running.answer(led(1, -1))
    running.answer(offsets(0, 5))
    running.answer(led(1, -1))
    running.answer(offsets(0, 20))
    running.answer(logs(0, (300, False)))
    assert [(one.partition, held) for _, one, held in running.result] == [(0, Figures(5, 20, 300)), (1, None)]


def test_one_that_loses_its_leader_meanwhile_has_none_either() -> None:
    running = Running(figures_of([topic(1, 2)]))
    running.answer(led(1, -1))
    running.answer(offsets(0, 5))
    running.answer(led(-1))
    assert running.result == {}


def test_nothing_is_asked_of_topics_without_leaders() -> None:
    assert Running(figures_of([topic(-1)])).result == {}


def test_what_a_leader_refuses_is_an_error() -> None:
    running = Running(figures_of([topic(1)]))
    running.answer(led(1))
    with pytest.raises(ElementsRefused, match="flights-0: topic authorization failed"):
        running.answer(offsets(0, -1, ErrorCode.TOPIC_AUTHORIZATION_FAILED))
