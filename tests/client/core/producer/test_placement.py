"""Where records without a key go, one by one and many at once."""

from collections import Counter
from itertools import accumulate

import pytest

from odradek.base.chance import SeededChance
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.ids import TopicPartition
from odradek.client.core.cluster_view import ClusterView
from odradek.client.core.producer.placement import Placement
from odradek.client.core.producer.settings import ProducerSettings
from odradek.client.core.requests import Outcome
from odradek.wire.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)


def placement(queues: Counter[int], partitions: int = 3, leaderless: int = -1) -> Placement:
    view = ClusterView(SeededChance(1))
    view.want(["t"])
    (send,) = view.due(0)
    parts = [
        MetadataResponsePartition(partition_index=number, leader_id=-1 if number == leaderless else 1)
        for number in range(partitions)
    ]
    broker = MetadataResponseBroker(node_id=1, host="h", port=9)
    topics = [MetadataResponseTopic(name="t", partitions=parts)]
    view.outcome(Outcome(send, MetadataResponse(brokers=[broker], topics=topics)), 0)
    settings = ProducerSettings(batch_size=1_000)
    return Placement(settings, view, SeededChance(5), lambda partition: queues[partition.partition])


def test_each_run_fills_a_batch_and_the_last_one_is_gone_on_with() -> None:
    made = placement(Counter())
    runs = made.spread("t", list(accumulate([300] * 9)))
    assert [behind for _, behind in runs] == [4, 8, 9]
    assert made.find("t", None, None, 0) == TopicPartition("t", runs[-1][0])
    made.appended(TopicPartition("t", runs[-1][0]), 300, is_batch_full=False)
    ((partition, behind),) = made.spread("t", [400])
    assert (partition, behind) == (runs[-1][0], 1)
    assert made.spread("t", []) == []


def test_it_draws_as_records_one_by_one_do() -> None:
    runs = placement(Counter()).spread("t", list(accumulate([1_000] * 60)))
    queues: Counter[int] = Counter()
    other = placement(queues)
    drawn = []
    for _ in range(60):
        partition = other.find("t", None, None, 0)
        assert partition is not None
        other.appended(partition, 1_000, is_batch_full=True)
        queues[partition.partition] += 1
        drawn.append(partition.partition)
    assert [partition for partition, _ in runs] == drawn
    assert set(Counter(drawn)) == {0, 1, 2}


def test_a_long_queue_and_a_missing_leader_get_fewer() -> None:
    counts = Counter(
        one for one, _ in placement(Counter({0: 50})).spread("t", list(accumulate([1_000] * 40)))
    )
    assert counts[0] < min(counts[1], counts[2])
    counts = Counter(
        one for one, _ in placement(Counter(), leaderless=1).spread("t", list(accumulate([1_000] * 40)))
    )
    assert set(counts) == {0, 2}


@pytest.mark.parametrize(
    ("code", "is_over_by_itself"),
    [
        (ErrorCode.UNKNOWN_SERVER_ERROR, True),
        (ErrorCode.LEADER_NOT_AVAILABLE, True),
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, False),
        (ErrorCode.INVALID_TOPIC_EXCEPTION, False),
    ],
)
def test_a_topic_of_which_a_broker_has_no_word_now_is_waited_for(
    code: ErrorCode, *, is_over_by_itself: bool
) -> None:
    """Seed 141 of ./dev clients: a broker answered UNKNOWN_SERVER_ERROR once, and the producer gave up."""
    view = ClusterView(SeededChance(1))
    view.want(["t"])
    (send,) = view.due(0)
    broker = MetadataResponseBroker(node_id=1, host="h", port=9)
    topics = [MetadataResponseTopic(name="t", error_code=code)]
    view.outcome(Outcome(send, MetadataResponse(brokers=[broker], topics=topics)), 0)
    made = Placement(ProducerSettings(), view, SeededChance(5), lambda _: 0)
    if is_over_by_itself:
        assert made.find("t", None, None, 0) is None
        assert view.due(10_000), "it is asked again soon"
    else:
        with pytest.raises(ApiError, match="topic t: "):
            made.find("t", None, None, 0)
        assert not view.due(10_000)
