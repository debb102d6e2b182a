"""Answers to the StopReplica of a deletion."""

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import TopicPartition
from odradek.metadata.controller import BrokerAnswered, SendToBroker
from odradek.metadata.controller.requests import CreateTopics, DeleteTopics, NewTopic, TopicToDelete
from odradek.metadata.orders import StopReplica
from tests.metadata.controllers import Cluster


def test_a_deletion_that_a_broker_refused_whole_is_not_done(three: Cluster) -> None:
    """R16: a StopReplica for an earlier registration changed nothing."""
    three.ask(CreateTopics((NewTopic("flights", assignments=((0, (1, 2, 3)),)),)))
    three.answer_to_stop = lambda broker_id, order: None if broker_id == 2 else {}
    three.ask(DeleteTopics((TopicToDelete("flights"),)))
    (number,) = [
        effect.order_id
        for effect in three.controller.effects
        if isinstance(effect, SendToBroker)
        and effect.broker_id == 2
        and isinstance(effect.order, StopReplica)
    ]
    three.controller.event(BrokerAnswered(number, 2, {}, ErrorCode.STALE_BROKER_EPOCH))
    assert "flights" in three.image.deleting
    three.answer_to_stop = lambda broker_id, order: {}
    three.kill(2)
    three.start(2)
    assert three.image.partition(TopicPartition("flights", 0)) is None
    assert "flights" not in three.image.topics
