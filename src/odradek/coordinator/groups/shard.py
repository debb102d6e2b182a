"""The groups of one partition of `__consumer_offsets`, led here: what is known of them, and their log.

    lead      loading    requests are answered COORDINATOR_LOAD_IN_PROGRESS
    loaded    active     groups by id
    close     gone       whoever waits is told NOT_COORDINATOR, and looks for the coordinator again

Law: everything that is true of a group is in the log first; memory follows when the log has it.
"""

from collections.abc import Callable, Iterable

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.execution import Defer
from odradek.base.ids import NO_OFFSET, LeaderEpoch, Offset, ProducerId, TopicPartition
from odradek.coordinator.classic import ClassicCoordinator, ClassicGroup
from odradek.coordinator.classic.coordinator import GroupPurgatories
from odradek.coordinator.classic.group import GroupSnapshot
from odradek.coordinator.consumer.coordinator import ConsumerCoordinator
from odradek.coordinator.consumer.draft import Draft
from odradek.coordinator.consumer.effects import Answer, BecomeClassic, Effects
from odradek.coordinator.consumer.group import ConsumerGroup
from odradek.coordinator.consumer.surroundings import Surroundings
from odradek.coordinator.groups.consumer_records import record_of
from odradek.coordinator.groups.gathering import GatheredCommits
from odradek.coordinator.groups.group import Group
from odradek.coordinator.groups.log_records import (
    KeyValue,
    build_batch,
    group_record,
    group_tombstone,
    offset_tombstone,
)
from odradek.coordinator.groups.migrating import downgraded, may_downgrade
from odradek.coordinator.groups.offsets import CommittedOffset, GroupOffsets, TransactionalProducer
from odradek.coordinator.groups.write_errors import CONSUMER_ERRORS, GROUP_ERRORS, told
from odradek.coordinator.groups.written import Written
from odradek.coordinator.ports import PartitionWriter


class Shard:
    """One partition's groups; the `Persistence` of their members."""

    __slots__ = (
        "_commits",
        "_open_transactions",
        "_purgatories",
        "_terms",
        "_writer",
        "groups",
        "is_closed",
        "is_loading",
        "leader_epoch",
        "surroundings",
        "topic_partition",
    )

    def __init__(
        self,
        topic_partition: TopicPartition,
        leader_epoch: LeaderEpoch,
        surroundings: Surroundings,
        purgatories: GroupPurgatories,
        writer: PartitionWriter,
        defer: Defer,
    ) -> None:
        self.topic_partition = topic_partition
        self.leader_epoch = leader_epoch
        """The epoch in which this broker leads the partition."""
        self.is_loading = True
        """Whether the log is not read yet; `groups` is empty until it is."""
        self.is_closed = False
        """Whether this broker leads the partition no longer, in this epoch; nothing happens here then."""
        self.groups: dict[str, Group] = {}
        """By id; none is Dead."""
        self.surroundings = surroundings
        self._terms = surroundings.terms
        self._purgatories = purgatories
        self._writer = writer
        # Those that are to be written when this turn of the loop is over.
        self._commits = GatheredCommits(self._append, defer)
        # The groups with pending offsets of each producer's open transaction.
        self._open_transactions: dict[ProducerId, dict[str, None]] = {}

    # --- groups

    def group(self, group_id: str) -> Group:
        """The group, which begins to exist, empty, if it did not."""
        found = self.groups.get(group_id)
        if found is None:
            found = self.groups[group_id] = self.new_group(group_id)
        return found

    def new_group(self, group_id: str, offsets: GroupOffsets | None = None) -> Group:
        """A group for this shard, not in it yet."""
        return Group(group_id, self._new_classic(group_id), offsets or GroupOffsets())

    def _new_classic(self, group_id: str) -> ClassicCoordinator:
        members = ClassicGroup(group_id, self._terms.clock)
        return ClassicCoordinator(members, self._terms, self._purgatories, self)

    def make_consumer(self, group: Group, members: ConsumerGroup | None = None) -> ConsumerCoordinator:
        """Let a group be one of the consumer protocol, with these members."""
        found = members or ConsumerGroup(group.group_id)
        group.consumer = ConsumerCoordinator(
            found,
            self.surroundings,
            self._purgatories,
            self,
            lambda draft: self._leave_to_classic(group, draft),
        )
        return group.consumer

    def end_classic(self, group: Group) -> None:
        """The group's members are in `consumer` now: those that wait are to join there."""
        ended, group.classic, group.is_stored = group.classic, self._new_classic(group.group_id), False
        ended.close(ErrorCode.REBALANCE_IN_PROGRESS)

    def end_consumer(self, group: Group) -> None:
        """The group is not of the consumer protocol any more, or never was."""
        ended, group.consumer = group.consumer, None
        if ended is not None:
            ended.close(ErrorCode.COORDINATOR_NOT_AVAILABLE)

    def _leave_to_classic(self, group: Group, draft: Draft) -> BecomeClassic | None:
        if not may_downgrade(draft.group, self.surroundings):
            return None
        snapshot = downgraded(draft.group, draft.first_epoch, self.surroundings)
        draft.put_all(draft.group.tombstones())
        draft.after.append(group_record(group.group_id, snapshot))

        def become() -> None:
            self.end_consumer(group)
            group.is_stored = True
            group.membership.restore(snapshot)
            group.classic.resume()
            group.classic.rebalance()

        return BecomeClassic(become)

    def forget_if_void(self, group: Group) -> None:
        """Drop a group of which the log knows nothing and that nobody is in."""
        if group.is_forgettable:
            self.drop(group)

    def drop(self, group: Group, code: ErrorCode = ErrorCode.COORDINATOR_NOT_AVAILABLE) -> None:
        """Let a group be no more; whoever waits in it is told `code`."""
        if self.groups.get(group.group_id) is group:
            del self.groups[group.group_id]
            group.close(code)

    def close(self) -> None:
        """Lead no longer. What was to be written is tried now, while there is somebody to be told."""
        self._commits.flush()
        self.is_closed = True
        for group in list(self.groups.values()):
            self.drop(group, ErrorCode.NOT_COORDINATOR)
        self._open_transactions.clear()

    # --- the log

    def write(
        self,
        records: list[KeyValue],
        done: Callable[[Written], None],
        producer: TransactionalProducer | None = None,
    ) -> None:
        """Append the records as one batch, in the producer's transaction if there is one.

        `done` may be called before this returns.
        """
        self._commits.flush()
        self._append(records, done, producer)

    def write_commit(self, records: list[KeyValue], done: Callable[[Written], None]) -> None:
        """Append the records of a commit, in one batch with others of this turn of the loop."""
        self._commits.add(records, done)

    def _append(
        self,
        records: list[KeyValue],
        done: Callable[[Written], None],
        producer: TransactionalProducer | None = None,
    ) -> None:
        terms = self._terms
        base_offset, is_done = NO_OFFSET, False

        def settled(code: ErrorCode) -> None:
            nonlocal is_done
            if not is_done:
                is_done = True
                done(Written(code, base_offset))

        appended = self._writer.append(
            self.topic_partition,
            build_batch(records, terms.clock.wall_ms(), producer),
            timeout_ms=terms.settings.offsets_commit_timeout_ms,
            settled=settled,
        )
        base_offset = appended.base_offset
        if appended.error is not ErrorCode.NONE:
            done(Written(appended.error))
        elif appended.outcome is not None:
            settled(appended.outcome)

    def persist(self, group_id: str, snapshot: GroupSnapshot, done: Callable[[ErrorCode], None]) -> None:
        """See `Persistence.persist`."""

        def written(result: Written) -> None:
            group = self.groups.get(group_id)
            if result.error is ErrorCode.NONE and group is not None:
                group.is_stored = True
            done(told(GROUP_ERRORS, result.error))

        self.write([group_record(group_id, snapshot)], written)

    def write_draft(self, draft: Draft, done: Callable[[ErrorCode], None]) -> None:
        """See `ChangeLog.write_draft`."""
        changes = (record_of(draft.group.group_id, change) for change in draft.changes)
        records = [*draft.before, *changes, *draft.after]

        def written(result: Written) -> None:
            draft.log_offset = result.base_offset
            done(told(CONSUMER_ERRORS, result.error))

        self.write(records, written)

    def delete(self, group: Group, done: Callable[[ErrorCode], None]) -> None:
        """Take an empty group and all its offsets out of the log, then out of memory."""
        # What only just came to be committed goes with the rest.
        self._commits.flush()
        tombstones = [offset_tombstone(group.group_id, key) for key in group.offsets.known()]
        if group.consumer is not None:
            self._delete_consumer(group, group.consumer, tombstones, done)
            return
        records = tombstones + ([group_tombstone(group.group_id)] if group.is_stored else [])

        def written(result: Written) -> None:
            if result.error is ErrorCode.NONE:
                group.is_stored = False
                self._deleted(group, result.base_offset)
            done(told(GROUP_ERRORS, result.error))

        if records:
            self.write(records, written)
        else:
            self._deleted(group, NO_OFFSET)
            done(ErrorCode.NONE)

    def _deleted(self, group: Group, log_offset: Offset) -> None:
        """A group was taken out of the log there; what came after it, commits or members, lives on.

        A member id that was only handed out is no member.
        """
        group.offsets.forget_all(log_offset)
        is_joined = group.has_members if group.consumer is not None else bool(group.membership.members)
        if group.offsets.is_empty and not is_joined:
            self.drop(group)

    def _delete_consumer(
        self,
        group: Group,
        consumer: ConsumerCoordinator,
        tombstones: list[KeyValue],
        done: Callable[[ErrorCode], None],
    ) -> None:
        def step(draft: Draft) -> Effects:
            if draft.group.members:
                raise ApiError(ErrorCode.NON_EMPTY_GROUP)
            draft.before += tombstones
            if draft.group.is_stored:
                draft.put_all(draft.group.tombstones())
            return [Answer(deleted, draft)]

        def deleted(draft: Draft) -> None:
            self._deleted(group, draft.log_offset)
            done(ErrorCode.NONE)

        consumer.take(step, lambda code, words: done(code))

    # --- transactions

    def stage(
        self, producer_id: ProducerId, group: Group, offsets: Iterable[tuple[TopicPartition, CommittedOffset]]
    ) -> None:
        """Take commits of an open transaction."""
        for topic_partition, offset in offsets:
            group.offsets.stage(producer_id, topic_partition, offset)
        self._open_transactions.setdefault(producer_id, {})[group.group_id] = None

    def complete_transaction(self, producer_id: ProducerId, *, committed: bool) -> None:
        """The marker of a producer's transaction is in the log: its offsets count now, or never."""
        for group_id in self._open_transactions.pop(producer_id, {}):
            group = self.groups.get(group_id)
            if group is not None:
                group.offsets.complete(producer_id, committed=committed)
                self.forget_if_void(group)


def stamped(offset: CommittedOffset, log_offset: Offset) -> CommittedOffset:
    """The commit as it stands in the log from `log_offset` on."""
    return CommittedOffset(*offset[:-1], log_offset)
