"""Which replica a consumer should read from, as its leader sees it (R13, KIP-392).

With `RackAwareReplicaSelector` a consumer that names its rack is sent to a replica in that rack:

    consumer's rack   leader's   in-sync followers that have its offset     it reads from
    a                 a          any                                        the leader
    a                 b          2 in a, ends at 10; 3 in a, ends at 12     3, which has more
    a                 b          2 in a, ends at 10; 3 in a, ends at 10     the one that was caught up last
    a                 b          none in a                                  the leader
    none              b          any                                        the leader

A follower out of sync is never chosen: a consumer would stay behind with it. Nor is one whose log does not
reach from its start to the fetch offset, or that has no address on the listener that the consumer uses.
"""

from odradek.base.ids import NO_BROKER, BrokerId, Offset
from odradek.replication.fetch_request import ClientMetadata
from odradek.replication.partition import Partition
from odradek.replication.remote_replica import RemoteReplica
from odradek.replication.replication_ports import ClusterView


class RackAwareSelection:
    """Chooses among the replicas of partitions that this broker leads."""

    __slots__ = ("_broker_id", "_cluster")

    def __init__(self, broker_id: BrokerId, cluster: ClusterView) -> None:
        self._broker_id = broker_id
        self._cluster = cluster

    def preferred_read_replica(
        self, partition: Partition, fetch_offset: Offset, client: ClientMetadata
    ) -> BrokerId:
        """Returns the follower that the consumer should read from; NO_BROKER: it should read here."""
        leadership = partition.leadership
        if leadership is None or not client.rack_id or self._is_in_rack(self._broker_id, client):
            return NO_BROKER
        best: RemoteReplica | None = None
        for remote in leadership.remotes.values():
            if (
                remote.broker_id in leadership.isr
                and remote.log_start_offset <= fetch_offset <= remote.log_end.offset
                and self._is_in_rack(remote.broker_id, client)
                and (best is None or _rank(remote) > _rank(best))
            ):
                best = remote
        return NO_BROKER if best is None else best.broker_id

    def _is_in_rack(self, broker_id: BrokerId, client: ClientMetadata) -> bool:
        return self._cluster.rack_on(broker_id, client.listener) == client.rack_id


def _rank(remote: RemoteReplica) -> tuple[Offset, int, BrokerId]:
    """The replica that has most is the best; of equals the one that was caught up last."""
    return remote.log_end.offset, remote.last_caught_up_ms, remote.broker_id
