"""Computes how far the high watermark may rise (R7): a pure function.

It only proposes a value: the log ensures that HW never moves back and never passes LEO (R11), and `partition`
does not ask while the ISR is below `min.insync.replicas`.

Broker 1 leads with LEO 10, ISR = {1, 2}; broker 3 is assigned, not in the ISR, and fetches again:

    LEO of 2   LEO of 3                      candidate
    8          3, caught up 20 s ago         8     too far behind to count
    8          7, caught up 1 s ago          7     about to join: HW must not run away from it
    unknown    -                             none  2 has not fetched in this epoch yet
"""

from collections.abc import Iterable

from odradek.base.ids import BrokerId
from odradek.replication.remote_replica import RemoteReplica
from odradek.replication.replication_ports import ClusterView
from odradek.storage.positions import LogPosition


def high_watermark_candidate(
    leader_end: LogPosition,
    remotes: Iterable[RemoteReplica],
    isr: tuple[BrokerId, ...],
    cluster: ClusterView,
    now_ms: int,
    lag_time_max_ms: int,
) -> LogPosition:
    """R7: the least LEO over the leader, the ISR, and the replicas about to join it.

    `isr` includes a member whose joining or leaving is still being written. Returns an unknown position
    (offset -1) while a member has not fetched yet; that is below every HW, so HW does not move.
    """
    lowest = leader_end
    for remote in remotes:
        if remote.log_end.offset >= lowest.offset:
            continue
        if remote.broker_id in isr or (
            now_ms - remote.last_caught_up_ms <= lag_time_max_ms and cluster.is_live(remote.broker_id)
        ):
            lowest = remote.log_end
    return lowest
