"""Applies the controller's LeaderAndIsr and StopReplica: leading, following, stopping (R5a-R5d).

The messages are values of `metadata`. The result, `RoleChanges`, holds what the broker must do next. A
partition's new role depends on its present role on this broker and on the message:

    here          message                      becomes
    anything      leader epoch not above ours  unchanged: STALE_CONTROLLER_EPOCH for it
    anything      not a topic's name           unchanged: INVALID_TOPIC_EXCEPTION for it
    anything      leads, is not in the ISR     unchanged: INVALID_REQUEST for it
    absent        leader is this broker        leading, HW from the checkpoint
    absent        leader is another, or none   following, HW from the checkpoint
    leading       leader is this broker        leading, under the new epoch, followers forgotten (R5b)
    leading       leader is another, or none   following: its waiting produces are answered NOT_LEADER (R5c)
    following     leader is this broker        leading
    any of these  StopReplica                  absent
"""

from dataclasses import dataclass, field
from typing import Final

from odradek.base.clock import Clock
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import StorageFailure
from odradek.base.ids import NO_BROKER, NO_TOPIC_ID, BrokerId, LeaderEpoch, TopicPartition
from odradek.base.topic_names import fault_in_name
from odradek.metadata.orders import (
    LeaderAndIsr,
    LeaderAndIsrPartition,
    LogEnd,
    StopReplica,
    StopReplicaPartition,
)
from odradek.replication.hosted_partitions import HostedPartitions
from odradek.replication.partition import Partition
from odradek.replication.replication_ports import ClusterView, Logs

NO_CONTROLLER_OBEYED: Final = 0
EPOCH_DURING_DELETE: Final[LeaderEpoch] = -2
"""The leader epoch of a StopReplica for a topic that is being deleted; treated as above all others."""


@dataclass(slots=True)
class RoleChanges:
    """The answer to an order, and what its fetchers, coordinators and tasks must do next."""

    error_code: ErrorCode = ErrorCode.NONE
    """STALE_CONTROLLER_EPOCH: nothing was changed."""
    partition_errors: dict[TopicPartition, ErrorCode] = field(default_factory=dict)
    """One entry per partition of the order, NONE included."""
    log_ends: dict[TopicPartition, LogEnd] = field(default_factory=dict)
    """Where the logs of the order's partitions without a leader end (R15e)."""
    leading: list[LeaderAndIsrPartition] = field(default_factory=list)
    """Led here from now on, under a new epoch: stop fetching them (R5b)."""
    following: list[LeaderAndIsrPartition] = field(default_factory=list)
    """Followed from now on: truncate by epoch and fetch from their leader (R5c)."""
    stopped: list[TopicPartition] = field(default_factory=list)
    """No longer hosted: stop fetching them (R5d)."""

    def changed(self) -> list[TopicPartition]:
        """Every partition whose role changed, in the sequence of the order; R14 applies to each."""
        return [part.topic_partition for part in (*self.leading, *self.following)] + self.stopped


class RoleChanger:
    """Applies orders to the hosted partitions.

    The caller wakes waiting operations (R14), and takes a directory offline if an answer is
    KAFKA_STORAGE_ERROR.
    """

    __slots__ = (
        "_broker_id",
        "_clock",
        "_cluster",
        "_hosted",
        "_lag_time_max_ms",
        "_logs",
        "controller_epoch",
    )

    def __init__(
        self,
        broker_id: BrokerId,
        hosted: HostedPartitions,
        logs: Logs,
        cluster: ClusterView,
        clock: Clock,
        lag_time_max_ms: int,
    ) -> None:
        self._broker_id = broker_id
        self._hosted = hosted
        self._logs = logs
        self._cluster = cluster
        self._clock = clock
        self._lag_time_max_ms = lag_time_max_ms
        self.controller_epoch = NO_CONTROLLER_OBEYED
        """The epoch of the controller last obeyed; never falls."""

    def become_leader_or_follower(self, order: LeaderAndIsr) -> RoleChanges:
        """R5a."""
        if not self._obeys(order.controller_epoch):
            return RoleChanges(ErrorCode.STALE_CONTROLLER_EPOCH)
        changes = RoleChanges()
        for wanted in order.partitions:
            changes.partition_errors[wanted.topic_partition] = self._change_role(wanted, changes)
            if wanted.state.leader == NO_BROKER:
                self._note_log_end(wanted, changes)
        return changes

    def stop_replica(self, order: StopReplica) -> RoleChanges:
        """R5d."""
        if not self._obeys(order.controller_epoch):
            return RoleChanges(ErrorCode.STALE_CONTROLLER_EPOCH)
        changes = RoleChanges()
        for wanted in order.partitions:
            changes.partition_errors[wanted.topic_partition] = self._stop(wanted, changes)
        return changes

    def _obeys(self, controller_epoch: int) -> bool:
        if controller_epoch < self.controller_epoch:
            return False
        self.controller_epoch = controller_epoch
        return True

    def _change_role(self, wanted: LeaderAndIsrPartition, changes: RoleChanges) -> ErrorCode:
        topic_partition, state = wanted.topic_partition, wanted.state
        partition = self._hosted.get(topic_partition)
        if partition is not None:
            if (
                NO_TOPIC_ID not in (partition.topic_id, wanted.topic_id)
                and partition.topic_id != wanted.topic_id
            ):
                return ErrorCode.INCONSISTENT_TOPIC_ID
            if state.leader_epoch <= partition.leader_epoch:
                return ErrorCode.STALE_CONTROLLER_EPOCH
        if self._broker_id not in state.replicas:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if fault_in_name(topic_partition.topic) is not None or topic_partition.partition < 0:
            return ErrorCode.INVALID_TOPIC_EXCEPTION  # it names the log's directory
        if state.leader == self._broker_id and state.leader not in state.isr:
            return ErrorCode.INVALID_REQUEST
        if partition is None and state.does_without(self._broker_id):
            self._logs.give_up_missing(topic_partition)
        if self._logs.is_offline(topic_partition):
            return ErrorCode.KAFKA_STORAGE_ERROR
        try:
            if partition is None:
                partition = self._host(wanted)
            now_ms = self._clock.monotonic_ms()
            if state.leader == self._broker_id:
                partition.make_leader(state, self._cluster, now_ms)
                changes.leading.append(wanted)
            else:
                partition.make_follower(state)
                changes.following.append(wanted)
        except StorageFailure:
            return ErrorCode.KAFKA_STORAGE_ERROR
        return ErrorCode.NONE

    def _note_log_end(self, wanted: LeaderAndIsrPartition, changes: RoleChanges) -> None:
        """Say where the log ends, also to a controller whose order came before; not under another epoch."""
        partition = self._hosted.get(wanted.topic_partition)
        if partition is None or partition.leader_epoch != wanted.state.leader_epoch:
            return
        if not self._logs.is_offline(wanted.topic_partition):
            log, epoch = partition.log, partition.leader_epoch
            changes.log_ends[wanted.topic_partition] = LogEnd(epoch, log.latest_epoch, log.end_offset)

    def _host(self, wanted: LeaderAndIsrPartition) -> Partition:
        topic_partition = wanted.topic_partition
        topic_id = None if wanted.topic_id == NO_TOPIC_ID else wanted.topic_id
        log = self._logs.create(topic_partition, topic_id, is_new=wanted.is_new)
        log.restore_high_watermark(self._logs.checkpointed_high_watermark(topic_partition))
        partition = Partition(topic_partition, wanted.topic_id, self._broker_id, log, self._lag_time_max_ms)
        self._hosted.add(partition)
        return partition

    def _stop(self, wanted: StopReplicaPartition, changes: RoleChanges) -> ErrorCode:
        topic_partition = wanted.topic_partition
        may_be_given_up = wanted.delete and self._logs.is_missing(topic_partition)
        if self._logs.is_offline(topic_partition) and not may_be_given_up:
            return ErrorCode.KAFKA_STORAGE_ERROR
        partition = self._hosted.get(topic_partition)
        if partition is not None:
            if wanted.leader_epoch != EPOCH_DURING_DELETE and wanted.leader_epoch < partition.leader_epoch:
                return ErrorCode.FENCED_LEADER_EPOCH
            self._hosted.remove(topic_partition)
            changes.stopped.append(topic_partition)
        if wanted.delete:
            try:
                self._logs.delete(topic_partition)
            except StorageFailure:
                return ErrorCode.KAFKA_STORAGE_ERROR
        return ErrorCode.NONE
