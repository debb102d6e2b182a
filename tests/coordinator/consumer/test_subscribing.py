from odradek.base.error_codes import ErrorCode
from odradek.base.execution import exhaust
from odradek.base.ids import TopicPartition
from odradek.coordinator.consumer.changes import (
    EpochChanged,
    ExpressionChanged,
    GroupChange,
    MemberChanged,
    ResolvedExpression,
)
from odradek.coordinator.consumer.member import MemberMetadata
from odradek.coordinator.groups.consumer_records import record_of
from odradek.coordinator.groups.log_records import build_batch
from tests.coordinator.group_bench import GroupBench

NONE = ErrorCode.NONE


def test_a_topic_that_is_created_later_is_assigned(bench: GroupBench) -> None:
    member = bench.consumer("a", topics=["t", "new"])
    member.join()
    assert member.count("new") == 0
    bench.known_topics.add("new")
    bench.touch_topics()
    member.settle()
    assert (member.epoch, member.count("new")) == (2, 4)


def test_a_topic_that_grows_is_assigned_whole(bench: GroupBench) -> None:
    member = bench.consumer("a")
    member.join()
    bench.topics.counts["t"] = 7
    bench.touch_topics()
    member.settle()
    assert (member.epoch, member.count()) == (2, 7)


def test_a_topic_that_is_deleted_is_given_back(bench: GroupBench) -> None:
    member = bench.consumer("a", topics=["t", "u"])
    member.join()
    bench.known_topics.discard("u")
    bench.touch_topics()
    member.beat()
    assert (member.epoch, member.count("t"), member.count("u")) == (1, 4, 0)
    member.settle()
    assert member.epoch == 2


def test_a_topic_created_again_is_another_topic(bench: GroupBench) -> None:
    member = bench.consumer("a")
    member.join()
    bench.topics.lives["t"] = 1
    bench.touch_topics()
    member.beat()
    assert member.told == {}, "the partitions of the topic that is gone"
    member.settle()
    assert (member.epoch, member.count()) == (2, 4)


def test_topics_that_the_group_does_not_read_do_not_concern_it(bench: GroupBench) -> None:
    member = bench.consumer("a")
    member.join()
    before = len(bench.log.records())
    bench.known_topics.add("new")
    bench.touch_topics()
    assert member.settle() is NONE
    assert member.epoch == 1
    assert len(bench.log.records()) == before


def test_a_changed_subscription_raises_the_epoch_and_the_same_one_does_not(bench: GroupBench) -> None:
    member = bench.consumer("a")
    member.join()
    member.beat(subscribed_topic_names=["t"])
    assert bench.consumers().epoch == 1
    member.beat(subscribed_topic_names=["t", "t", "u"])
    assert bench.consumers().epoch == 2
    member.settle()
    assert member.count("u") == 4


def test_nobody_gets_what_it_did_not_subscribe_to(bench: GroupBench) -> None:
    first, second = bench.consumer("a"), bench.consumer("b", topics=["u"])
    first.join()
    second.join()
    bench.settle_all(first, second)
    assert (first.count("t"), first.count("u")) == (4, 0)
    assert (second.count("t"), second.count("u")) == (0, 4)


def test_an_expression_reads_what_it_matches_as_a_whole(bench: GroupBench) -> None:
    bench.known_topics.update({"tt", "flights.de", "flights.at"})
    member = bench.consumer("a", topics=None, expression="flights\\..*|t")
    assert member.join() is NONE
    assert [member.count(name) for name in ("t", "tt", "flights.de", "flights.at")] == [4, 0, 4, 4]
    assert list(bench.consumers().expressions) == ["flights\\..*|t"]


def test_an_expression_reads_topics_that_are_created_later(bench: GroupBench) -> None:
    member = bench.consumer("a", topics=None, expression="flights.*")
    member.join()
    assert member.told == {}
    bench.known_topics.add("flights")
    bench.touch_topics()
    member.settle()
    assert (member.epoch, member.count("flights")) == (2, 4)
    bench.known_topics.discard("flights")
    bench.touch_topics()
    member.settle()
    assert member.told == {}


def test_an_expression_goes_with_the_last_member_that_uses_it(bench: GroupBench) -> None:
    first = bench.consumer("a", topics=None, expression="t.*")
    second = bench.consumer("b", topics=None, expression="t.*")
    first.join()
    second.join()
    first.beat(subscribed_topic_regex="", subscribed_topic_names=["u"])
    assert list(bench.consumers().expressions) == ["t.*"]
    second.leave()
    assert not bench.consumers().expressions


def test_an_invalid_expression_is_refused_and_changes_nothing(bench: GroupBench) -> None:
    answer = bench.consumer("a", topics=None, expression="(").send_join().answer
    assert answer.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION
    assert (answer.error_message or "").startswith("'(' is no regular expression: ")
    assert exhaust(bench.coordinator.list_groups())[1] == []
    member = bench.consumer("b")
    member.join()
    before = len(bench.log.records())
    assert member.send(subscribed_topic_regex="[").code is ErrorCode.INVALID_REGULAR_EXPRESSION
    assert len(bench.log.records()) == before
    assert member.beat() is NONE


def test_topics_that_changed_while_nobody_coordinated_are_noticed(bench: GroupBench) -> None:
    member = bench.consumer("a")
    member.join()
    bench.coordinator.resign_all()
    bench.topics.counts["t"] = 6
    bench.start()
    member.settle()
    assert (member.epoch, member.count()) == (2, 6)


def test_an_expression_that_only_kafka_takes_keeps_what_kafka_found(bench: GroupBench) -> None:
    """It is in the log; its member must not keep the others from going on."""
    changes: list[GroupChange] = [
        MemberChanged("k", MemberMetadata(expression="(")),
        EpochChanged(1),
        ExpressionChanged("(", ResolvedExpression(frozenset({"u"}), 0, 0)),
    ]
    batch = build_batch([record_of("g", change) for change in changes], 0)
    partition = TopicPartition("__consumer_offsets", bench.coordinator._partition_of("g"))
    bench.log.append(partition, batch, timeout_ms=1, settled=lambda code: None)
    bench.start()
    assert bench.consumer("a").join() is NONE
    assert bench.consumers().target_of("k") == {bench.topics.topic_id("u"): frozenset(range(4))}
