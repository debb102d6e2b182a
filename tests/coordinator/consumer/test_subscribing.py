from typing import Any

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import TopicPartition
from odradek.coordinator.consumer.changes import (
    EpochChanged,
    ExpressionChanged,
    MemberChanged,
    ResolvedExpression,
)
from odradek.coordinator.consumer.member import MemberMetadata
from odradek.coordinator.groups.consumer_records import record_of
from odradek.coordinator.groups.log_records import build_batch

NONE = ErrorCode.NONE


def test_a_topic_that_is_created_later_is_assigned(world: Any) -> None:
    member = world.consumer("a", topics=["t", "new"])
    member.join()
    assert member.count("new") == 0
    world.known_topics.add("new")
    world.touch_topics()
    member.settle()
    assert (member.epoch, member.count("new")) == (2, 4)


def test_a_topic_that_grows_is_assigned_whole(world: Any) -> None:
    member = world.consumer("a")
    member.join()
    world.topics.counts["t"] = 7
    world.touch_topics()
    member.settle()
    assert (member.epoch, member.count()) == (2, 7)


def test_a_topic_that_is_deleted_is_given_back(world: Any) -> None:
    member = world.consumer("a", topics=["t", "u"])
    member.join()
    world.known_topics.discard("u")
    world.touch_topics()
    member.beat()
    assert (member.epoch, member.count("t"), member.count("u")) == (1, 4, 0)
    member.settle()
    assert member.epoch == 2


def test_a_topic_created_again_is_another_topic(world: Any) -> None:
    member = world.consumer("a")
    member.join()
    world.topics.lives["t"] = 1
    world.touch_topics()
    member.beat()
    assert member.told == {}, "the partitions of the topic that is gone"
    member.settle()
    assert (member.epoch, member.count()) == (2, 4)


def test_topics_that_the_group_does_not_read_do_not_concern_it(world: Any) -> None:
    member = world.consumer("a")
    member.join()
    before = len(world.log.records())
    world.known_topics.add("new")
    world.touch_topics()
    assert member.settle() is NONE
    assert member.epoch == 1
    assert len(world.log.records()) == before


def test_a_changed_subscription_raises_the_epoch_and_the_same_one_does_not(world: Any) -> None:
    member = world.consumer("a")
    member.join()
    member.beat(subscribed_topic_names=["t"])
    assert world.consumers().epoch == 1
    member.beat(subscribed_topic_names=["t", "t", "u"])
    assert world.consumers().epoch == 2
    member.settle()
    assert member.count("u") == 4


def test_nobody_gets_what_it_did_not_subscribe_to(world: Any) -> None:
    first, second = world.consumer("a"), world.consumer("b", topics=["u"])
    first.join()
    second.join()
    world.settle_all(first, second)
    assert (first.count("t"), first.count("u")) == (4, 0)
    assert (second.count("t"), second.count("u")) == (0, 4)


def test_an_expression_reads_what_it_matches_as_a_whole(world: Any) -> None:
    world.known_topics.update({"tt", "flights.de", "flights.at"})
    member = world.consumer("a", topics=None, expression="flights\\..*|t")
    assert member.join() is NONE
    assert [member.count(name) for name in ("t", "tt", "flights.de", "flights.at")] == [4, 0, 4, 4]
    assert list(world.consumers().expressions) == ["flights\\..*|t"]


def test_an_expression_reads_topics_that_are_created_later(world: Any) -> None:
    member = world.consumer("a", topics=None, expression="flights.*")
    member.join()
    assert member.told == {}
    world.known_topics.add("flights")
    world.touch_topics()
    member.settle()
    assert (member.epoch, member.count("flights")) == (2, 4)
    world.known_topics.discard("flights")
    world.touch_topics()
    member.settle()
    assert member.told == {}


def test_an_expression_goes_with_the_last_member_that_uses_it(world: Any) -> None:
    first = world.consumer("a", topics=None, expression="t.*")
    second = world.consumer("b", topics=None, expression="t.*")
    first.join()
    second.join()
    first.beat(subscribed_topic_regex="", subscribed_topic_names=["u"])
    assert list(world.consumers().expressions) == ["t.*"]
    second.leave()
    assert not world.consumers().expressions


def test_an_invalid_expression_is_refused_and_changes_nothing(world: Any) -> None:
    answer = world.consumer("a", topics=None, expression="(").send_join().answer
    assert answer.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION
    assert answer.error_message.startswith("'(' is no regular expression: ")
    assert world.coordinator.list_groups()[1] == []
    member = world.consumer("b")
    member.join()
    before = len(world.log.records())
    assert member.send(subscribed_topic_regex="[").code is ErrorCode.INVALID_REGULAR_EXPRESSION
    assert len(world.log.records()) == before
    assert member.beat() is NONE


def test_topics_that_changed_while_nobody_coordinated_are_noticed(world: Any) -> None:
    member = world.consumer("a")
    member.join()
    world.coordinator.resign_all()
    world.topics.counts["t"] = 6
    world.start()
    member.settle()
    assert (member.epoch, member.count()) == (2, 6)


def test_an_expression_that_only_kafka_takes_keeps_what_kafka_found(world: Any) -> None:
    """It is in the log; its member must not keep the others from going on."""
    changes = [
        MemberChanged("k", MemberMetadata(expression="(")),
        EpochChanged(1),
        ExpressionChanged("(", ResolvedExpression(frozenset({"u"}), 0, 0)),
    ]
    batch = build_batch([record_of("g", change) for change in changes], 0)
    partition = TopicPartition("__consumer_offsets", world.coordinator._partition_of("g"))
    world.log.append(partition, batch, timeout_ms=1, settled=lambda code: None)
    world.start()
    assert world.consumer("a").join() is NONE
    assert world.consumers().target_of("k") == {world.topics.topic_id("u"): frozenset(range(4))}
