"""What live brokers have said of their replicas: failed disks, ends of logs, deletions that are under way.

All of it is about one registration of a broker, and is forgotten with it. Nothing here is in the store: a
controller that takes over asks again, by the orders with which it sends the whole state.

    LeaderAndIsr is answered KAFKA_STORAGE_ERROR for p    p has failed there
    a later one is answered NONE for p                    it has not any more
    one of a partition without a leader                   where the log of p ends (R15e), until p has a leader
    StopReplica that deletes, not answered yet            which replicas its answer is about
"""

from collections.abc import Mapping, Sequence

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import BrokerId, TopicPartition
from odradek.metadata.controller.replica_states import Replica
from odradek.metadata.orders import LogEnd


class ReplicaReports:
    """The reports that one elected controller has got."""

    __slots__ = ("_deleting", "_failed", "_log_ends")

    def __init__(self) -> None:
        # Replicas whose brokers are live and reported a failed disk (the values mean nothing).
        self._failed: dict[Replica, None] = {}
        # Where the logs of live brokers end, as they last said it of a partition without a leader.
        self._log_ends: dict[Replica, LogEnd] = {}
        # The replicas that a StopReplica not answered yet deletes, by order; each of one broker.
        self._deleting: dict[int, tuple[Replica, ...]] = {}

    # --- disks

    @property
    def have_failures(self) -> bool:
        """Whether the disk of any replica has failed."""
        return bool(self._failed)

    def has_failed(self, replica: Replica) -> bool:
        """Whether its disk has failed, as far as its broker has said."""
        return replica in self._failed

    def note_disks(
        self,
        broker_id: BrokerId,
        errors: Mapping[TopicPartition, ErrorCode],
        failed: Sequence[TopicPartition],
    ) -> list[TopicPartition]:
        """Note an answer of a live broker, with `failed` of it; returns those that had not failed before."""
        for replica in list(self._failed):
            if replica.broker_id == broker_id and errors.get(replica.topic_partition) is ErrorCode.NONE:
                del self._failed[replica]
        replicas = [Replica(named, broker_id) for named in failed]
        newly = [replica.topic_partition for replica in replicas if replica not in self._failed]
        self._failed.update(dict.fromkeys(replicas))
        return newly

    # --- ends of logs

    def log_end(self, replica: Replica) -> LogEnd | None:
        """Where its log ends; None if its broker has not said so."""
        return self._log_ends.get(replica)

    def note_log_end(self, replica: Replica, end: LogEnd) -> None:
        """Note where the log of a replica ends; its partition has no leader."""
        self._log_ends[replica] = end

    def forget_log_end(self, replica: Replica) -> None:
        """Called when its partition has a leader: the log may grow."""
        self._log_ends.pop(replica, None)

    # --- deletions

    def note_deleting(self, order_id: int, replicas: tuple[Replica, ...]) -> None:
        """Note that an order to a broker deletes these replicas, at least one."""
        self._deleting[order_id] = replicas

    def take_deleting(self, order_id: int) -> tuple[Replica, ...]:
        """Called when an order is answered: returns the replicas that it deletes, and forgets them."""
        return self._deleting.pop(order_id, ())

    # --- what is over

    def forget_replica(self, replica: Replica) -> None:
        """Called when a replica has left its partition."""
        self._failed.pop(replica, None)
        self._log_ends.pop(replica, None)

    def forget_broker(self, broker_id: BrokerId) -> None:
        """Called when a broker is gone: with it what it was asked, and what is known of its disks."""
        for replica in [replica for replica in self._failed if replica.broker_id == broker_id]:
            del self._failed[replica]
        for replica in [replica for replica in self._log_ends if replica.broker_id == broker_id]:
            del self._log_ends[replica]
        for order_id, replicas in list(self._deleting.items()):
            if replicas[0].broker_id == broker_id:
                del self._deleting[order_id]
