"""When `odradek consume` says what it waits for, and when it gives up."""

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.ids import TopicPartition
from odradek.cli.outage import UNAVAILABLE_MAX_S, Outage
from odradek.cli.waiting import AGAIN_S, FIRST_S
from odradek.client.core.waiting import Cause, Why

ONE, TWO = TopicPartition("flights", 0), TopicPartition("flights", 1)
NOBODY = Why(Cause.NO_BROKER, "no broker answers: refused")


def without_leader(partition: TopicPartition) -> Why:
    return Why(Cause.NO_LEADER, f"{partition} has no leader", {"partition": str(partition)})


def test_brokers_that_are_away_are_named_once_and_given_up_later() -> None:
    outage = Outage()
    assert outage.sentence([NOBODY], [ONE], 100.0) == "no broker answers: refused; trying again for 30 s"
    assert outage.sentence([NOBODY], [ONE], 100.0 + UNAVAILABLE_MAX_S - 0.1) is None
    assert outage.is_away, "so that --timeout does not count it"
    with pytest.raises(ApiError, match="no broker answers: refused") as failed:
        outage.sentence([NOBODY], [ONE], 100.0 + UNAVAILABLE_MAX_S)
    assert failed.value.code is ErrorCode.NETWORK_EXCEPTION


def test_whoever_reads_again_has_all_the_time_again() -> None:
    outage = Outage()
    assert not outage.is_away
    outage.sentence([NOBODY], [ONE], 0.0)
    outage.over()
    assert outage.sentence([NOBODY], [ONE], UNAVAILABLE_MAX_S) is not None
    assert outage.sentence([], [ONE], UNAVAILABLE_MAX_S + 1) is None
    assert outage.sentence([NOBODY], [ONE], 2 * UNAVAILABLE_MAX_S) is not None


def test_one_partition_without_a_leader_is_told_of_and_does_not_end_the_command() -> None:
    outage = Outage()
    causes = [without_leader(ONE), Why(Cause.AT_END, "flights-1 is read to its end")]
    assert outage.sentence(causes, [ONE, TWO], 0.0) is None
    assert outage.sentence(causes, [ONE, TWO], FIRST_S) == "flights-0 has no leader"
    assert outage.sentence(causes, [ONE, TWO], FIRST_S + 1) is None
    assert outage.sentence(causes, [ONE, TWO], FIRST_S + AGAIN_S) == "flights-0 has no leader"
    assert outage.sentence(causes, [ONE, TWO], 10 * UNAVAILABLE_MAX_S) == "flights-0 has no leader"


def test_a_topic_without_any_leader_ends_it() -> None:
    outage = Outage()
    causes = [without_leader(ONE), without_leader(TWO)]
    assert outage.sentence(causes, [ONE, TWO], 0.0) is None
    with pytest.raises(ApiError, match="flights-0 has no leader") as failed:
        outage.sentence(causes, [ONE, TWO], UNAVAILABLE_MAX_S)
    assert failed.value.code is ErrorCode.LEADER_NOT_AVAILABLE


def test_a_topic_that_is_gone_ends_it_soon() -> None:
    outage = Outage()
    gone = Why(Cause.UNKNOWN_TOPIC, "topic flights: unknown topic or partition", {"topic": "flights"})
    assert outage.sentence([gone], [ONE], 0.0) is None
    with pytest.raises(ApiError, match=r"^there is no topic flights$"):
        outage.sentence([gone], [ONE], FIRST_S)


def test_a_member_without_partitions_is_told_so_once() -> None:
    outage = Outage()
    none = [Why(Cause.NO_PARTITIONS, "group g has given no partitions to this member")]
    assert outage.sentence(none, [], 0.0) is None
    assert outage.sentence(none, [], FIRST_S) == none[0].text
    assert outage.sentence(none, [], FIRST_S + 2 * AGAIN_S) is None


def test_what_is_usual_is_not_told() -> None:
    outage = Outage()
    at_end = [Why(Cause.AT_END, "flights-0 is read to its end")]
    assert outage.sentence(at_end, [ONE], 0.0) is None
    assert outage.sentence(at_end, [ONE], 10 * AGAIN_S) is None
