"""Describes fetchers for a person: who is behind, by how much, since when, and why.

Invariant: nothing here changes state.
"""

from collections.abc import Iterable, Mapping
from heapq import nlargest
from typing import Any, Final

from odradek.base.ids import TopicPartition
from odradek.replication.fetcher.fetcher import Fetcher
from odradek.replication.fetcher.followed_partition import FollowedPartition, State

DESCRIBED_MAX: Final = 1_000
"""The largest number of partitions described; of the others only the number is shown."""


def describe_fetchers(
    fetchers: Iterable[Fetcher], leaderless: Mapping[TopicPartition, int], now_ms: int
) -> Mapping[str, Any]:
    """Describes all fetchers, and the partitions that do not fetch or are behind, the longest first."""
    found = list(fetchers)
    behind = [
        (since_ms, fetcher.source, followed)
        for fetcher in found
        for followed in fetcher.partitions.all()
        if (since_ms := _behind_since(followed)) is not None
    ]
    named = nlargest(DESCRIBED_MAX, behind, key=lambda one: now_ms - one[0])
    waiting = [
        {**_name(key), "state": "no leader", "since_ms": now_ms - since_ms}
        for key, since_ms in list(leaderless.items())[:DESCRIBED_MAX]
    ]
    return {
        "fetchers": [describe_fetcher(fetcher) for fetcher in found],
        "behind": [
            {**_name(followed.topic_partition), **describe_followed(source, followed, now_ms)}
            for _, source, followed in named
        ],
        "without_leader": waiting,
        "left_out": len(behind) - len(named) + len(leaderless) - len(waiting),
    }


def _behind_since(followed: FollowedPartition) -> int | None:
    if followed.state is State.FETCHING:
        return followed.behind_since_ms
    return followed.state_since_ms if followed.behind_since_ms is None else followed.behind_since_ms


def describe_fetcher(fetcher: Fetcher) -> Mapping[str, Any]:
    """Describes one fetcher: its source, its session, and how many partitions are in each state."""
    described: dict[str, Any] = {
        "source": fetcher.source,
        "number": fetcher.number,
        "partitions": len(fetcher.partitions),
        "session_id": fetcher.partitions.session.session_id,
        "is_asking": fetcher.is_asking,
        "fetched_bytes": fetcher.fetched_bytes,
        "stale_answers": fetcher.stale_answers,
    }
    described.update((state.name.lower(), fetcher.partitions.count(state)) for state in State)
    if fetcher.unreachable_because:
        described["unreachable_because"] = fetcher.unreachable_because
    return described


def describe_followed(source: int, followed: FollowedPartition, now_ms: int) -> Mapping[str, Any]:
    """Describes one followed partition, without its name."""
    since_ms = _behind_since(followed)
    described: dict[str, Any] = {
        "leader_id": source,
        "leader_epoch": followed.leader_epoch,
        "state": followed.state.value,
        "in_state_ms": now_ms - followed.state_since_ms,
        "behind_by": followed.lag,
        "behind_ms": None if since_ms is None else now_ms - since_ms,
    }
    if followed.reason:
        described["why"] = followed.reason
    if followed.state is State.DELAYED:
        described["goes_on_in_ms"] = max(0, followed.delayed_until_ms - now_ms)
    return described


def _name(topic_partition: TopicPartition) -> Mapping[str, Any]:
    return {"topic": topic_partition.topic, "partition": topic_partition.partition}
