"""Says in words who is behind, by how much, since when, and why; for a person.

    the leader says     broker 3: last fetch 120 ms ago, LEO 41 of 57, last caught up 12 s ago, out of the ISR
                        broker 2: is not live, no fetch in leader epoch 7, out of the ISR
    a follower says     16 records behind broker 1 for 3 s
                        waits after an error: the leader answered UNKNOWN_LEADER_EPOCH; asks again in 800 ms
                        no answer of broker 1 for 17 s: broker 1 did not answer within 30 s (fetch)

Invariant: nothing here changes state.
"""

from typing import Final

from odradek.base.ids import BrokerId
from odradek.replication.fetcher import FetcherManager, State
from odradek.replication.fetcher.followed_partition import FollowedPartition
from odradek.replication.leadership import Leadership
from odradek.replication.partition import Partition
from odradek.replication.remote_replica import NEVER_MS, RemoteReplica
from odradek.replication.replication_ports import ClusterView, ReplicationQuota

NOTABLE_LAG_MS: Final = 1_000
"""A member of the ISR that was caught up more recently than this is not called behind."""


def lasting(duration_ms: int) -> str:
    """Returns a duration in its largest unit: 812 ms, 12 s, 3 min, 2 h."""
    if duration_ms < 1_000:
        return f"{duration_ms} ms"
    if duration_ms < 120_000:
        return f"{duration_ms // 1_000} s"
    if duration_ms < 7_200_000:
        return f"{duration_ms // 60_000} min"
    return f"{duration_ms // 3_600_000} h"


def followers_behind(
    partition: Partition, cluster: ClusterView, quota: ReplicationQuota, now_ms: int
) -> list[str]:
    """Returns a sentence for each follower that the leader of a partition finds behind; none elsewhere."""
    leadership = partition.leadership
    if leadership is None:
        return []
    is_throttled = quota.throttles(partition.topic_partition, partition.log.config) and quota.is_exceeded()
    throttle = ["throttled by leader.replication.throttled.rate"] if is_throttled else []
    return [
        _of_follower(remote, partition, leadership, cluster, now_ms)
        + "".join(f", {words}" for words in throttle if remote.broker_id not in leadership.isr)
        for remote in leadership.remotes.values()
        if _is_behind(remote, partition, leadership, now_ms)
    ]


def _is_behind(remote: RemoteReplica, partition: Partition, leadership: Leadership, now_ms: int) -> bool:
    if remote.broker_id not in leadership.isr:
        return True
    is_late = now_ms - remote.last_caught_up_ms > NOTABLE_LAG_MS
    return is_late and remote.log_end.offset != partition.log.end_offset


def _of_follower(
    remote: RemoteReplica, partition: Partition, leadership: Leadership, cluster: ClusterView, now_ms: int
) -> str:
    parts = [] if cluster.is_live(remote.broker_id) else ["is not live"]
    if remote.last_fetch_ms == NEVER_MS:
        parts.append(f"no fetch in leader epoch {leadership.epoch}")
    else:
        parts.append(f"last fetch {lasting(now_ms - remote.last_fetch_ms)} ago")
        parts.append(f"LEO {remote.log_end.offset} of {partition.log.end_offset}")
        if remote.log_end.offset < leadership.epoch_start_offset:
            parts.append(f"leader epoch {leadership.epoch} begins at {leadership.epoch_start_offset}")
        if remote.last_caught_up_ms != NEVER_MS:
            parts.append(f"last caught up {lasting(now_ms - remote.last_caught_up_ms)} ago")
    parts += _of_isr(remote.broker_id, leadership)
    return f"broker {remote.broker_id}: {', '.join(parts)}"


def _of_isr(broker_id: BrokerId, leadership: Leadership) -> list[str]:
    pending = leadership.pending
    if broker_id not in leadership.isr:
        is_joining = pending is not None and broker_id in pending.new_isr
        return ["joins the ISR"] if is_joining else ["out of the ISR"]
    return ["leaves the ISR"] if pending is not None and broker_id not in pending.new_isr else []


def following(partition: Partition, fetchers: FetcherManager, now_ms: int) -> list[str]:
    """Returns why a followed partition is behind its leader; nothing if it is not."""
    named = partition.topic_partition
    leaderless_ms = fetchers.leaderless_since_ms(named)
    if leaderless_ms is not None:
        return [f"no leader for {lasting(now_ms - leaderless_ms)}"]
    fetcher = fetchers.fetcher(named)
    followed = None if fetcher is None else fetcher.partitions.get(named)
    if fetcher is None or followed is None:
        return ["is not fetched"]
    if fetcher.unreachable_because:
        unanswered = lasting(now_ms - fetcher.unreachable_since_ms)
        return [f"no answer of broker {fetcher.source} for {unanswered}: {fetcher.unreachable_because}"]
    words = _of_followed(followed, fetcher.source, now_ms)
    return [words] if words else []


def _of_followed(followed: FollowedPartition, leader_id: BrokerId, now_ms: int) -> str:
    in_state = lasting(now_ms - followed.state_since_ms)
    match followed.state:
        case State.FAILED:
            return f"failed {in_state} ago: {followed.reason}"
        case State.DELAYED:
            left_ms = max(0, followed.delayed_until_ms - now_ms)
            return f"waits after an error: {followed.reason}; asks again in {lasting(left_ms)}"
        case State.THROTTLED:
            return f"held back by follower.replication.throttled.rate for {in_state}, {_lag(followed)}"
        case State.TRUNCATING | State.LOCATING | State.SETTLING:
            return f"{followed.state.value} for {in_state}"
    if followed.lag is None:
        return f"fetches from broker {leader_id} for {in_state}, without an answer yet"
    if not followed.lag or followed.behind_since_ms is None:
        return ""
    return f"{_lag(followed)} broker {leader_id} for {lasting(now_ms - followed.behind_since_ms)}"


def _lag(followed: FollowedPartition) -> str:
    return "1 record behind" if followed.lag == 1 else f"{followed.lag} records behind"
