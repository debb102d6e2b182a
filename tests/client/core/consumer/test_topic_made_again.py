"""C7 for a topic that was deleted and made again: its offsets and leader epochs begin anew."""

from uuid import UUID

import pytest

from odradek.base.offset_timestamps import EARLIEST
from odradek.client.core.consumer.positions import NoPosition
from odradek.client.core.requests import Outcome, Send
from odradek.client.reset_policy import ResetPolicy
from odradek.wire.messages.fetch import FetchableTopicResponse, FetchRequest, FetchResponse
from odradek.wire.messages.list_offsets import ListOffsetsRequest
from odradek.wire.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from tests.batches import numbered_batch as batch
from tests.client.core.consumer.test_fetching import ID, P0, Rig, asked, data, listed

NEW_ID = UUID(int=8)


def rig_before(reset_to: ResetPolicy = EARLIEST) -> Rig:
    """It reads orders 0 at offset 5, under leader epoch 3."""
    rig = Rig(reset_to=reset_to)
    rig.view.refresh_soon(0)
    rig.now_ms = 1_000
    rig.refresh(epoch=3)
    rig.assign(P0, at=5)
    return rig


def make_again(rig: Rig) -> None:
    """The metadata has a topic of this name with another id, whose leader has epoch 0."""
    rig.view.refresh_soon(rig.now_ms)
    rig.now_ms += 1_000
    (send,) = rig.view.due(rig.now_ms)
    partition = MetadataResponsePartition(partition_index=0, leader_id=1, leader_epoch=0)
    topic = MetadataResponseTopic(name="orders", topic_id=NEW_ID, partitions=[partition])
    brokers = [MetadataResponseBroker(1, "b", 9093)]
    rig.view.outcome(Outcome(send, MetadataResponse(brokers=brokers, topics=[topic])), rig.now_ms)


def reset_to_offset(rig: Rig, offset: int) -> None:
    (reset,) = (one for one in rig.due() if isinstance(one.request, ListOffsetsRequest))
    rig.core.outcome(Outcome(reset, listed(offset)), rig.now_ms)


def test_c7_a_topic_made_again_is_read_as_the_setting_says_under_its_own_epochs() -> None:
    """C7."""
    rig = rig_before()
    rig.answer(rig.fetches()[1], data(0))
    make_again(rig)
    reset_to_offset(rig, 0)
    fetch = rig.fetches()[1]
    assert asked(fetch) == {0: 0}
    assert isinstance(fetch.request, FetchRequest)
    (topic,) = fetch.request.topics
    assert (topic.topic_id, topic.partitions[0].current_leader_epoch) == (NEW_ID, 0)


def test_c7_what_came_of_the_topic_before_is_not_taken_for_the_new_one() -> None:
    """C7."""
    rig = rig_before()
    rig.answer(rig.fetches()[1], data(0, batch(5, 3)))
    make_again(rig)
    reset_to_offset(rig, 5)
    assert not rig.values()
    assert asked(rig.fetches()[1]) == {0: 5}


def late_answer(rig: Rig, send: Send) -> None:
    """An answer that names the topic by name, as those of older brokers do."""
    topics = [FetchableTopicResponse(topic="orders", partitions=[data(0, batch(5, 3))])]
    rig.core.outcome(Outcome(send, FetchResponse(responses=topics)), rig.now_ms)


def test_c7_an_answer_of_the_topic_before_that_comes_late_is_dropped() -> None:
    """C7."""
    rig = rig_before()
    fetch = rig.fetches()[1]
    make_again(rig)
    reset_to_offset(rig, 5)
    late_answer(rig, fetch)
    assert not rig.values()
    assert asked(rig.fetches()[1]) == {0: 5}


def test_c7_nothing_of_the_topic_before_is_committed_for_the_new_one() -> None:
    """C7."""
    rig = rig_before()
    assert rig.fetches()
    assert P0 in rig.core.subscription.positions()
    make_again(rig)
    rig.due()
    assert P0 not in rig.core.subscription.positions()


def test_c7_without_a_reset_policy_the_application_is_told() -> None:
    """C7."""
    rig = rig_before(reset_to=None)
    rig.answer(rig.fetches()[1], data(0))
    make_again(rig)
    assert not rig.due()
    error = rig.core.take_error()
    assert isinstance(error, NoPosition)
    assert "made again" in str(error)
    assert (error.partition, error.offset) == (P0, 5)


@pytest.mark.parametrize("reset_to", [EARLIEST, None])
def test_c7_a_topic_that_is_only_missing_for_a_while_keeps_its_position(reset_to: ResetPolicy) -> None:
    """C7."""
    rig = rig_before(reset_to=reset_to)
    rig.due()
    rig.view._forget("orders")
    rig.view.refresh_soon(rig.now_ms)
    rig.now_ms += 1_000
    rig.refresh(epoch=3)
    assert rig.core.subscription.states[P0].topic_id == ID
    assert rig.core.subscription.states[P0].offset == 5
    assert rig.core.take_error() is None
