"""The settings of groups are read where they are used: what changes is in force for the next request."""

from collections.abc import Callable
from typing import NamedTuple

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import TopicPartition
from odradek.base.settings import BrokerSettings
from tests.coordinator.group_bench import GroupBench

T0 = TopicPartition("t", 0)


class Case(NamedTuple):
    """Other settings, and what a client sees of those in force."""

    settings: BrokerSettings
    seen: Callable[[GroupBench], object]


def session_is_taken(bench: GroupBench) -> bool:
    reply = bench.member(session_timeout_ms=10_000).send_join()
    return not reply.is_answered or reply.code is not ErrorCode.INVALID_SESSION_TIMEOUT


def second_member_is_taken(bench: GroupBench) -> bool:
    bench.member().join()
    reply = bench.member().join()
    bench.advance(60_000)
    return not reply.answers or reply.code is not ErrorCode.GROUP_MAX_SIZE_REACHED


def second_consumer_is_taken(bench: GroupBench) -> bool:
    codes = [bench.consumer(name).join() for name in ("a", "b")]
    bench.advance(60_000)
    return codes == [ErrorCode.NONE, ErrorCode.NONE]


def heartbeat_interval_ms(bench: GroupBench) -> int:
    member = bench.consumer("m")
    told = member.send_join().answer.heartbeat_interval_ms
    bench.advance(60_000)
    return told


def metadata_is_taken(bench: GroupBench) -> bool:
    return bench.commit("offsets", {T0: 1}, "long words").answer[T0] is ErrorCode.NONE


CASES = {
    "group_min_session_timeout_ms": Case(
        BrokerSettings(group_min_session_timeout_ms=20_000), session_is_taken
    ),
    "group_max_session_timeout_ms": Case(
        BrokerSettings(group_max_session_timeout_ms=9_000), session_is_taken
    ),
    "group_max_size": Case(BrokerSettings(group_max_size=1), second_member_is_taken),
    "group_consumer_max_size": Case(BrokerSettings(group_consumer_max_size=1), second_consumer_is_taken),
    "group_consumer_heartbeat_interval_ms": Case(
        BrokerSettings(group_consumer_heartbeat_interval_ms=6_000), heartbeat_interval_ms
    ),
    "group_consumer_max_heartbeat_interval_ms": Case(
        BrokerSettings(
            group_consumer_min_heartbeat_interval_ms=1_000, group_consumer_max_heartbeat_interval_ms=2_000
        ),
        heartbeat_interval_ms,
    ),
    "offset_metadata_max_bytes": Case(BrokerSettings(offset_metadata_max_bytes=4), metadata_is_taken),
}


@pytest.mark.parametrize("name", CASES)
def test_what_changes_is_in_force_and_what_changes_back_is_not(bench: GroupBench, name: str) -> None:
    """R18."""
    settings, seen = CASES[name]
    usual = bench.settings
    before = seen(bench)
    bench.settings = settings
    assert seen(bench) != before
    bench.settings = usual
    assert seen(bench) == before
