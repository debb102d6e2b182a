"""Fetches of many partitions: read, parked, woken and answered in steps."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from odradek.replication.purgatories import WOKEN_AT_ONCE
from odradek.server.handlers.fetch import FETCHED_AT_ONCE
from odradek.testing.sim import CountedTime, SimNode
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

WIDE = 3 * FETCHED_AT_ONCE
WAIT_MS = 5_000


@pytest.fixture
def node(new_node: Callable[..., SimNode]) -> SimNode:
    """A broker with a wide topic, whose slices have one step each."""
    node = new_node()
    node.ask(CreateTopicsRequest([CreatableTopic("wide", WIDE, 1)], timeout_ms=1000))
    node.settle()
    node.short_clock = CountedTime()
    return node


def fetching(numbers: range, *, min_bytes: int = 1, offset: int = 0) -> FetchRequest:
    wanted = [FetchPartition(number, fetch_offset=offset, partition_max_bytes=1000) for number in numbers]
    return FetchRequest(
        replica_id=-1,
        max_wait_ms=WAIT_MS,
        min_bytes=min_bytes,
        max_bytes=1 << 20,
        topics=[FetchTopic("wide", partitions=wanted)],
    )


def produce(node: SimNode, number: int, records: bytes) -> None:
    data = TopicProduceData("wide", partition_data=[PartitionProduceData(number, records)])
    sent = node.send(ProduceRequest(None, -1, 1000, [data]), 9)
    while not sent.answers:
        assert node.world.step()


def read(answer: Any) -> list[int]:
    """The partitions with records."""
    return [
        part.partition_index for topic in answer.responses for part in topic.partitions if len(part.records)
    ]


def test_a_wide_fetch_is_answered_as_a_narrow_one(node: SimNode, batch: Callable[..., bytes]) -> None:
    for number in range(WIDE):
        produce(node, number, batch(b"v"))
    sent = node.send(fetching(range(WIDE)), 11)
    turns = 0
    while not sent.answers:
        assert node.world.step()
        turns += 1
    assert turns >= WIDE // FETCHED_AT_ONCE
    assert read(sent.answer) == [*range(WIDE)]
    (topic,) = sent.answer.responses
    for begin in range(0, WIDE, FETCHED_AT_ONCE // 2):
        narrow = node.ask(fetching(range(begin, begin + FETCHED_AT_ONCE // 2)), 11)
        assert narrow.responses[0].partitions == topic.partitions[begin : begin + FETCHED_AT_ONCE // 2]


@pytest.mark.parametrize("steps_before", range(0, 40, 3))
def test_what_is_written_while_a_wide_fetch_is_parked_is_not_missed(
    node: SimNode, batch: Callable[..., bytes], steps_before: int
) -> None:
    """Whether its partition was read, watched or looked at already, or is yet to be."""
    sent = node.send(fetching(range(WIDE)), 11)
    for _ in range(steps_before):
        node.world.step()
    assert sent.answers == []
    produce(node, WIDE // 2, batch(b"v"))
    node.settle()
    assert read(sent.answer) == [WIDE // 2]


def test_a_wide_fetch_completes_by_the_sum_over_its_partitions(
    node: SimNode, batch: Callable[..., bytes]
) -> None:
    """S2: also where one partition grows in several steps."""
    records = batch(b"v" * 100)
    sent = node.send(fetching(range(WIDE), min_bytes=3 * len(records)), 11)
    node.settle()
    for number in (5, 5):
        produce(node, number, records)
        node.settle()
        assert sent.answers == []
    produce(node, WIDE - 1, records)
    node.settle()
    assert read(sent.answer) == [5, WIDE - 1]


def test_a_wide_fetch_that_finds_too_little_is_answered_at_its_deadline(node: SimNode) -> None:
    sent = node.send(fetching(range(WIDE)), 11)
    node.settle()
    assert sent.answers == []
    node.advance(WAIT_MS)
    node.settle()
    assert read(sent.answer) == []
    assert len(sent.answer.responses[0].partitions) == WIDE


def test_a_wide_fetch_ends_with_its_connection(node: SimNode, batch: Callable[..., bytes]) -> None:
    sent = node.send(fetching(range(WIDE)), 11)
    node.settle()
    sent.client.lose()
    produce(node, 0, batch(b"v"))
    node.settle()
    node.advance(2 * WAIT_MS)
    assert sent.answers == []


def test_one_append_wakes_many_fetches_in_steps(node: SimNode, batch: Callable[..., bytes]) -> None:
    """Others are served between two of them."""
    count = 4 * WOKEN_AT_ONCE
    waiting = [node.send(fetching(range(1)), 11) for _ in range(count)]
    node.settle()
    produce(node, 0, batch(b"v"))
    answered = [0]
    while node.world.step():
        answered.append(sum(bool(sent.answers) for sent in waiting))
    assert answered[-1] == count
    steps = [after - before for before, after in itertools.pairwise(answered)]
    assert max(steps) <= WOKEN_AT_ONCE
    assert all(read(sent.answer) == [0] for sent in waiting)
