"""The entry point of replication: the operations that handlers call on the partitions hosted here (R1).

It looks up partitions, starts operations and wakes waiting ones. The state and decisions of a leader are in
`partition` and `leadership`; the conditions for completing an operation are in the `delayed_*` files.

A produce with acks=all and three in-sync replicas, and the fetches that complete it (S1 is the long form):

    append(p1, acks=-1)       the log takes it: LEO 1, HW 0        the produce waits under p1
    fetch(p1, replica 2, 1)   its LEO 1; HW candidate min(1,1,0)   HW stays
    fetch(p1, replica 3, 1)   its LEO 1; HW candidate 1            HW 1 → wake(p1) → the produce is answered
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from odradek.base.buffers import Buffer
from odradek.base.clock import Clock
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import OdradekError, StorageFailure, code_of
from odradek.base.execution import Defer, Later, RunSteps, Steps, freed, stepwise
from odradek.base.ids import NO_BROKER, NO_EPOCH, BrokerId, LeaderEpoch, Offset, TopicId, TopicPartition
from odradek.base.ordering import in_order
from odradek.base.settings import RACK_AWARE_SELECTOR, BrokerSettings
from odradek.metadata.orders import LeaderAndIsr, StopReplica
from odradek.records.work import RecordSteps
from odradek.replication.append import ACKS, Appender, Batches
from odradek.replication.delayed_fetch import DelayedFetch
from odradek.replication.delayed_produce import DelayedProduce, outcomes_of
from odradek.replication.delayed_session_fetch import DelayedSessionFetch
from odradek.replication.fetch_request import FetchParams, Isolation, PartitionFetch
from odradek.replication.fetch_session import FetchSession, SessionOutcomes
from odradek.replication.fetching import Fetching
from odradek.replication.follower_calls import FollowerCalls
from odradek.replication.hosted_partitions import HostedPartitions
from odradek.replication.isr_maintenance import IsrMaintenance
from odradek.replication.list_offsets import list_offset
from odradek.replication.metering import Meters
from odradek.replication.outcomes import (
    AppendOutcome,
    AppendOutcomes,
    DeleteRecordsOutcomes,
    EpochEndOutcome,
    FetchOutcome,
    ListedOffset,
)
from odradek.replication.partition import Partition
from odradek.replication.partition_description import describe_partition
from odradek.replication.produce_status import ProduceStatus, close_decided
from odradek.replication.purgatories import Purgatories
from odradek.replication.record_deletion import RecordDeletion
from odradek.replication.replica_selection import RackAwareSelection
from odradek.replication.replication_ports import ClusterView, Effects, Logs, ReplicatedLog
from odradek.replication.role_changes import RoleChanger, RoleChanges
from odradek.replication.session_fetching import SessionFetching
from odradek.storage import Origin
from odradek.timer import Timer


class ReplicaManager:
    """The replicas that this broker hosts; used by one thread only."""

    def __init__(
        self,
        broker_id: BrokerId,
        settings: BrokerSettings,
        *,
        clock: Clock,
        timer: Timer,
        logs: Logs,
        cluster: ClusterView,
        effects: Effects,
        defer: Defer,
        run_steps: RunSteps,
    ) -> None:
        self.broker_id = broker_id
        """This broker."""
        self._clock = clock
        self._logs = logs
        self._effects = effects
        self._defer = defer
        self._run_steps = run_steps
        self._failed_directories = dict(logs.failed_directories())
        """Log directories that are offline until the broker restarts, each with the reason."""
        self._failing_directories: set[str] = set()
        """Log directories that failed during a request and go offline in the next turn."""
        self.meters = Meters()
        self.purgatories = Purgatories(timer, settings, defer, run_steps)
        self._hosted = HostedPartitions(logs, cluster)
        self._role_changer = RoleChanger(
            broker_id,
            self._hosted,
            logs,
            cluster,
            clock,
            settings.replica_lag_time_max_ms,
        )
        self.isr_maintenance = IsrMaintenance(
            self._hosted, self._role_changer, self.purgatories, self.meters, clock, effects
        )
        """The server runs its periodic tasks, and passes it the results of ISR writes."""
        self._appender = Appender(self._hosted, clock, self.meters, self._on_storage_failure)
        self._follower_calls = FollowerCalls(self._hosted, self.purgatories)
        self._fetching = Fetching(
            self._hosted,
            self.purgatories,
            self._follower_calls,
            self.isr_maintenance,
            self.meters,
            clock,
            self._on_storage_failure,
            run_steps,
            selection=RackAwareSelection(broker_id, cluster)
            if settings.replica_selector_class == RACK_AWARE_SELECTOR
            else None,
        )
        self._session_fetching = SessionFetching(
            self._fetching, self._hosted, self.purgatories, self.meters, clock, run_steps
        )
        self._record_deletion = RecordDeletion(
            self._hosted, self.purgatories, clock, self._on_storage_failure
        )

    # --- records in and out

    def check(
        self, entries: Mapping[TopicPartition, Buffer]
    ) -> RecordSteps[Mapping[TopicPartition, Batches]]:
        """Validate a client's batches before `append`, which then does not validate them."""
        return self._appender.check(entries)

    def append(
        self,
        entries: Mapping[TopicPartition, Batches],
        *,
        acks: int,
        timeout_ms: int,
        later: Later[AppendOutcomes],
        origin: Origin = Origin.CLIENT,
        internal_allowed: bool = False,
    ) -> AppendOutcomes | None:
        """R6, P1: append to the partitions led here; the result is ready when `acks` is satisfied.

        With acks=0 it is always ready at once: the handler sends no response, and closes the connection if
        any partition failed. `internal_allowed` is for coordinators and `__admin_client`.
        """
        statuses = self.write(entries, acks=acks, origin=origin, internal_allowed=internal_allowed)
        return self.await_acks(statuses, timeout_ms=timeout_ms, later=later)

    def append_in_steps(
        self,
        entries: Iterable[tuple[TopicPartition, Batches]],
        *,
        acks: int,
        timeout_ms: int,
        later: Later[AppendOutcomes],
        origin: Origin = Origin.CLIENT,
        internal_allowed: bool = False,
    ) -> Steps[AppendOutcomes | None]:
        """`append` for very many partitions, one in each step; each is taken from `entries` in its step."""
        statuses: list[ProduceStatus] = []
        for entry in entries:
            statuses += self.write(
                dict((entry,)), acks=acks, origin=origin, internal_allowed=internal_allowed
            )
            yield
        outcomes = self.await_acks(statuses, timeout_ms=timeout_ms, later=later)
        if outcomes is not None:
            spent: list[object] = [statuses]
            del statuses
            yield from freed(spent)
        return outcomes

    def write(
        self,
        entries: Mapping[TopicPartition, Batches],
        *,
        acks: int,
        origin: Origin = Origin.CLIENT,
        internal_allowed: bool = False,
    ) -> list[ProduceStatus]:
        """Append to the local logs; returns the status of each partition, with what its acks wait for."""
        if acks not in ACKS:
            return [ProduceStatus(key, AppendOutcome(ErrorCode.INVALID_REQUIRED_ACKS)) for key in entries]
        statuses = [
            self._appender.append(
                topic_partition, batches, acks=acks, origin=origin, internal_allowed=internal_allowed
            )
            for topic_partition, batches in entries.items()
        ]
        for status in statuses:
            if status.flush_due:
                self._effects.flush(status.topic_partition)
            if status.is_appended:
                self.purgatories.wake_soon(
                    status.topic_partition, readers_only=not status.high_watermark_rose
                )
                if not status.high_watermark_rose:
                    self._follower_calls.call(status.topic_partition)
        return statuses

    def await_acks(
        self, statuses: Sequence[ProduceStatus], *, timeout_ms: int, later: Later[AppendOutcomes]
    ) -> AppendOutcomes | None:
        """Returns the result of an append once no partition is pending, or at the timeout.

        A coordinator calls it again after a timeout: its records may still be replicated (R19).
        """
        if not close_decided(statuses, self._hosted):
            return outcomes_of(statuses)
        operation = DelayedProduce(
            self._clock.monotonic_ms() + max(0, timeout_ms),
            statuses,
            self._hosted,
            self._clock,
            self.meters,
            later,
        )
        return operation.park(self.purgatories.produce, [status.topic_partition for status in statuses])

    def fetch(
        self, params: FetchParams, fetches: Sequence[PartitionFetch], later: Later[list[FetchOutcome]]
    ) -> list[FetchOutcome] | DelayedFetch:
        """R9, F1: read the partitions in order; returns the outcomes in that order if there is enough data.

        Otherwise returns the delayed fetch, which the caller abandons if the client disconnects.
        """
        return self._fetching.fetch(params, fetches, later)

    def fetch_in_steps(
        self, params: FetchParams, fetches: Sequence[PartitionFetch], later: Later[list[FetchOutcome]]
    ) -> Steps[list[FetchOutcome] | DelayedFetch]:
        """`fetch` for very many partitions, a few in each step."""
        return self._fetching.fetch_in_steps(params, fetches, later)

    def fetch_news(
        self, params: FetchParams, session: FetchSession, later: Later[SessionOutcomes]
    ) -> SessionOutcomes | DelayedSessionFetch:
        """F10: `fetch` all partitions of a session; returns the outcomes of those that may have news."""
        return self._session_fetching.fetch(params, session, later)

    def fetch_news_in_steps(
        self, params: FetchParams, session: FetchSession, later: Later[SessionOutcomes]
    ) -> Steps[SessionOutcomes | DelayedSessionFetch]:
        """`fetch_news` where very many partitions are to be read, a few in each step."""
        return self._session_fetching.fetch_in_steps(params, session, later)

    def delete_records(
        self,
        offsets: Mapping[TopicPartition, Offset],
        *,
        timeout_ms: int,
        later: Later[DeleteRecordsOutcomes],
        internal_allowed: bool = False,
    ) -> Steps[DeleteRecordsOutcomes | None]:
        """Raise log starts to the offsets (-1: to HW), one partition in each step; the caller runs the steps.

        The result is ready when all live replicas have followed.
        """
        return self._record_deletion.delete(
            offsets, timeout_ms=timeout_ms, later=later, internal_allowed=internal_allowed
        )

    def on_log_start_rose(self, topic_partition: TopicPartition) -> None:
        """Called when retention has raised a log's start: the next answers of sessions hold it (F10).

        Where retention left no records, the log has begun a segment, which completes fetches that wait for
        records of the one before (F4, case F).
        """
        partition = self._hosted.get(topic_partition)
        if partition is not None and partition.log.log_start_offset == partition.log.end_offset:
            self.purgatories.wake_soon(topic_partition, readers_only=True)
        else:
            self.purgatories.note_change(topic_partition)

    # --- lookups

    def list_offset(
        self,
        topic_partition: TopicPartition,
        timestamp_ms: int,
        *,
        isolation: Isolation = Isolation.HIGH_WATERMARK,
        current_leader_epoch: LeaderEpoch = NO_EPOCH,
        leader_only: bool = True,
    ) -> RecordSteps[ListedOffset]:
        """L6: find the offset for a timestamp or for one of -1 ... -5; offset -1 when there is none."""
        found = self._hosted.replica(
            topic_partition, leader_only=leader_only, current_leader_epoch=current_leader_epoch
        )
        if isinstance(found, ErrorCode):
            return ListedOffset(found)
        try:
            return (yield from list_offset(found, timestamp_ms, isolation))
        except OdradekError as error:
            self._note_failure(found, error)
            return ListedOffset(code_of(error))

    def end_offset_for_epoch(
        self,
        topic_partition: TopicPartition,
        epoch: LeaderEpoch,
        *,
        current_leader_epoch: LeaderEpoch = NO_EPOCH,
    ) -> EpochEndOutcome:
        """OffsetForLeaderEpoch (X4): the largest epoch not above `epoch` in the leader's log, and its end."""
        found = self._hosted.replica(topic_partition, current_leader_epoch=current_leader_epoch)
        if isinstance(found, ErrorCode):
            return EpochEndOutcome(found)
        end = found.log.end_offset_for_epoch(epoch)
        return EpochEndOutcome(ErrorCode.NONE, end.epoch, end.end_offset)

    def current_leader(self, topic_partition: TopicPartition) -> tuple[BrokerId, LeaderEpoch]:
        """Leader and epoch of a partition hosted here, for NOT_LEADER_OR_FOLLOWER answers; else (-1, -1)."""
        partition = self._hosted.get(topic_partition)
        return (NO_BROKER, NO_EPOCH) if partition is None else (partition.leader_id, partition.leader_epoch)

    def partition(self, topic_partition: TopicPartition) -> Partition | None:
        """The partition, when it is hosted here and its log works."""
        return self._hosted.get(topic_partition)

    def replica(self, topic_partition: TopicPartition) -> Partition | ErrorCode:
        """The partition, led or followed here, or the error code that says why it is not."""
        return self._hosted.replica(topic_partition, leader_only=False)

    def topic_name(self, topic_id: TopicId) -> str | None:
        """The name of the topic with that id; None if no partition of it with a working log is hosted here.

        A leader knows it from LeaderAndIsr, which may arrive before the UpdateMetadata with the topic.
        """
        return self._hosted.topic_name(topic_id)

    def partitions(self) -> Iterable[Partition]:
        """The partitions hosted here whose logs work."""
        return self._hosted.all()

    def describe(self) -> Iterator[Mapping[str, Any]]:
        """Yields a description of every hosted partition for a person, by name."""
        for partition in in_order(self._hosted.all(), lambda one: one.topic_partition):
            yield describe_partition(partition, self._clock.monotonic_ms())

    # --- the controller's orders

    @property
    def controller_epoch(self) -> int:
        """The epoch of the controller whose message was applied last; 0 at start (R1)."""
        return self._role_changer.controller_epoch

    def become_leader_or_follower(self, order: LeaderAndIsr) -> RoleChanges:
        """R5a-R5c: change roles; returns what the broker must do next. Waiting operations are woken later."""
        return self._after_role_changes(self._role_changer.become_leader_or_follower(order))

    def stop_replica(self, order: StopReplica) -> RoleChanges:
        """R5d: stop hosting; returns what the broker must do next. Waiting operations are woken later."""
        return self._after_role_changes(self._role_changer.stop_replica(order))

    def _after_role_changes(self, changes: RoleChanges) -> RoleChanges:
        self._forget_meters(changes.stopped)
        if ErrorCode.KAFKA_STORAGE_ERROR in changes.partition_errors.values():
            self._defer(self.notice_failed_directories)
        self._wake_all(changes.changed())
        return changes

    def on_leader_answered(
        self, topic_partition: TopicPartition, batches: Buffer, high_watermark: Offset, log_start: Offset
    ) -> None:
        """R11, called by a fetcher: append the leader's answer for a partition that this broker follows.

        Raises the log's errors (X5). Wakes the partition's waiting operations if HW or the log start moved.
        """
        partition = self._hosted.get(topic_partition)
        if partition is None or partition.leadership is not None:
            return
        try:
            info = partition.append_from_leader(batches) if len(batches) > 0 else None
            moved = partition.follow_leader(high_watermark, log_start)
        except OdradekError as error:
            self._note_failure(partition, error)
            raise
        if info is not None and info.flush_due:
            self._effects.flush(topic_partition)
        if moved or info is not None:
            self.purgatories.wake_soon(topic_partition)

    # --- the disk

    def on_log_moved(self, topic_partition: TopicPartition, log: ReplicatedLog) -> None:
        """Called when a log is in another log directory from now on (KIP-113): the replica uses that one."""
        partition = self._hosted.get(topic_partition)
        if partition is not None:
            partition.move_to(log)
            self.purgatories.wake_soon(topic_partition)

    def on_flushed(self, topic_partition: TopicPartition) -> None:
        """Called when the log's flushed offset rose: produces that wait for the disk may complete."""
        self.purgatories.produce.check_and_complete(topic_partition)

    def directory_failed(self, directory: str, reason: str | OSError) -> None:
        """Take a log directory offline, with every partition in it (R6, L7); a second report is ignored.

        Called as an event of its own, never within another operation of this object.
        """
        if directory in self._failed_directories:
            return
        self._logs.fail_directory(directory, reason)
        why = self._logs.failed_directories()[directory]
        self._failed_directories[directory] = why
        self._run_steps(self._give_up(directory, why))

    def _give_up(self, directory: str, why: str) -> Steps[None]:
        """Stop hosting a failed directory's partitions; until a partition's step, its log raises errors."""
        lost: list[TopicPartition] = []

        def leave(partition: Partition) -> None:
            topic_partition = partition.topic_partition
            if partition.log.directory == directory and self._hosted.get(topic_partition) is partition:
                self._hosted.remove(topic_partition)
                lost.append(topic_partition)

        # One partition in each step: to free ten thousand at once takes ten milliseconds.
        hosted = deque(self._hosted.all())
        yield from stepwise((hosted.popleft() for _ in range(len(hosted))), leave)
        self._effects.directory_failed(directory, why, is_last=not self._logs.online_directories())
        yield from stepwise(lost, self.purgatories.wake_soon)

    def notice_failed_directories(self) -> None:
        """Called after a background task that wrote to logs: take directories that failed in it offline."""
        for directory, reason in self._logs.failed_directories().items():
            self.directory_failed(directory, reason)

    def _on_storage_failure(self, partition: Partition, error: StorageFailure) -> None:
        """Called within a request, which is answered first: the directory goes offline in a later event.

        Until then every other request to the directory's logs gets the same error.
        """
        directory, reason = partition.log.directory, str(error)
        if directory not in self._failing_directories:
            self._failing_directories.add(directory)
            self._defer(lambda: self.directory_failed(directory, reason))

    def _note_failure(self, partition: Partition, error: OdradekError) -> None:
        if isinstance(error, StorageFailure):
            self._on_storage_failure(partition, error)

    def _wake_all(self, topic_partitions: Iterable[TopicPartition]) -> None:
        for topic_partition in topic_partitions:
            self.purgatories.wake_soon(topic_partition)

    def _forget_meters(self, stopped: Iterable[TopicPartition]) -> None:
        for topic_partition in stopped:
            if not self._hosted.has_topic(topic_partition.topic):
                self.meters.forget_topic(topic_partition.topic)
