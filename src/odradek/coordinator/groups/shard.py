"""The groups of one partition of `__consumer_offsets`, led here: their state, and their log.

    lead      loading    requests are answered COORDINATOR_LOAD_IN_PROGRESS
    loaded    active     groups by id
    close     gone       requests that wait are answered NOT_COORDINATOR; clients look for it again

Memory follows the log: appended records count, and answers that depend on them wait until they are replicated
(R19).
"""

from collections.abc import Iterable
from functools import partial
from typing import Never, TypeAlias

from odradek.base.buffers import Buffer
from odradek.base.error_codes import ErrorCode
from odradek.base.execution import COUNTED_PER_STEP, Defer, Steps
from odradek.base.ids import NO_OFFSET, LeaderEpoch, Offset, ProducerId, TopicPartition
from odradek.coordinator.classic import ClassicMembership, ClassicProtocol
from odradek.coordinator.classic.classic_membership import GroupSnapshot
from odradek.coordinator.classic.group_purgatories import GroupPurgatories
from odradek.coordinator.consumer.changes import topics_in
from odradek.coordinator.consumer.consumer_membership import ConsumerMembership
from odradek.coordinator.consumer.consumer_protocol import ConsumerProtocol
from odradek.coordinator.consumer.draft import Draft
from odradek.coordinator.consumer.effects import BecomeClassic
from odradek.coordinator.consumer.surroundings import GroupSurroundings
from odradek.coordinator.groups.consumer_records import record_of, record_of_in_steps
from odradek.coordinator.groups.gathering import GatheredWrite, GatheredWrites
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
from odradek.coordinator.runtime.answers import AnyHeldAnswer
from odradek.coordinator.runtime.partition_log import AppendResult, PartitionLog
from odradek.coordinator.runtime.trampoline import Step, Trampoline

GroupLog: TypeAlias = PartitionLog[Never]
"""Groups have no effects but answers."""


class Shard:
    """One partition's groups; the `Persistence` of their members."""

    __slots__ = (
        "_gathered",
        "_open_transactions",
        "_purgatories",
        "_terms",
        "_trampoline",
        "groups",
        "is_loading",
        "leader_epoch",
        "log",
        "surroundings",
    )

    def __init__(
        self,
        log: GroupLog,
        leader_epoch: LeaderEpoch,
        surroundings: GroupSurroundings,
        purgatories: GroupPurgatories,
        trampoline: Trampoline,
        defer: Defer,
    ) -> None:
        self.log = log
        self.leader_epoch = leader_epoch
        """The epoch in which this broker leads the partition."""
        self.is_loading = True
        """Whether the log is not read yet; `groups` is empty until it is."""
        self.groups: dict[str, Group] = {}
        """By id; none is Dead."""
        self.surroundings = surroundings
        self._terms = surroundings.terms
        self._purgatories = purgatories
        self._trampoline = trampoline
        # What is to be appended when this turn of the loop is over.
        self._gathered = GatheredWrites(self._append, lambda flush: defer(lambda: trampoline.run(flush)))
        # The groups with pending offsets of each producer's open transaction.
        self._open_transactions: dict[ProducerId, dict[str, None]] = {}

    @property
    def topic_partition(self) -> TopicPartition:
        """Which partition it is."""
        return self.log.topic_partition

    @property
    def is_closed(self) -> bool:
        """Whether this broker leads the partition no longer, in this epoch; nothing happens here then."""
        return not self.log.is_open

    def run(self, step: Step) -> None:
        """Run a step of one of the groups, unless the leadership is over by then."""
        self._trampoline.run(lambda: None if self.is_closed else step())

    def answer(self, answer: AnyHeldAnswer) -> None:
        """Answer when all that was appended so far is replicated."""
        self.log.answer(answer)

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

    def _new_classic(self, group_id: str) -> ClassicProtocol:
        members = ClassicMembership(group_id, self._terms.clock)
        return ClassicProtocol(members, self._terms, self._purgatories, self)

    def new_consumer(self, members: ConsumerMembership) -> ConsumerProtocol:
        """The consumer protocol for a group of this shard that has these members."""
        return ConsumerProtocol(members, self.surroundings, self._purgatories, self)

    def end_classic(self, group_id: str) -> None:
        """See `ChangeLog.end_classic`: those that wait are to join there."""
        group = self.groups[group_id]
        ended, group.classic, group.is_stored = group.classic, self._new_classic(group.group_id), False
        ended.close(ErrorCode.REBALANCE_IN_PROGRESS)

    def end_consumer(self, group: Group) -> None:
        """The group is not of the consumer protocol any more, or never was."""
        ended, group.consumer = group.consumer, None
        if ended is not None:
            ended.close()

    def leave_to_classic(self, draft: Draft) -> BecomeClassic | None:
        """See `ChangeLog.leave_to_classic`."""
        if not may_downgrade(draft.group, self.surroundings):
            return None
        snapshot = downgraded(draft.group, draft.first_epoch, self.surroundings)
        draft.put_all(draft.group.tombstones())
        draft.after.append(group_record(draft.group.group_id, snapshot))
        return BecomeClassic(snapshot)

    def become_classic(self, group_id: str, snapshot: GroupSnapshot) -> None:
        """See `ChangeLog.become_classic`."""
        group = self.groups[group_id]
        self.end_consumer(group)
        group.is_stored = True
        group.membership.restore(snapshot)
        group.classic.resume()
        group.classic.rebalance()

    def forget_if_void(self, group: Group) -> None:
        """Drop a group that has neither records in the log nor members."""
        if group.is_forgettable:
            self.drop(group)

    def drop(self, group: Group, code: ErrorCode = ErrorCode.COORDINATOR_NOT_AVAILABLE) -> None:
        """Remove a group; requests that wait in it are answered `code`."""
        if self.groups.get(group.group_id) is group:
            del self.groups[group.group_id]
            group.close(code)

    def close(self) -> None:
        """Called when the leadership ends: append the gathered writes while requests can be answered."""
        self.flush()
        self.log.close()
        self._open_transactions.clear()

    def drop_all(self) -> Steps[None]:
        """After `close`: answer NOT_COORDINATOR to the requests that wait in groups; in slices."""
        for group in list(self.groups.values()):
            self._trampoline.run(partial(self.drop, group, ErrorCode.NOT_COORDINATOR))
            yield

    # --- the log

    def append(self, records: list[KeyValue], producer: TransactionalProducer | None = None) -> AppendResult:
        """Append the records as one batch, in the producer's transaction if there is one.

        They count when this returns without an error; answers that build on them wait for HW.
        """
        self._gathered.flush()
        return self._append(records, producer)

    def append_batch(self, batch: Buffer) -> AppendResult:
        """Append a batch that was built before; see `append`."""
        self._gathered.flush()
        return self.log.append(batch)

    def gather(self, write: GatheredWrite) -> None:
        """Append records in one batch with others of this turn of the loop."""
        self._gathered.add(write)

    def flush(self) -> None:
        """Append what was gathered."""
        self._gathered.flush()

    def _append(self, records: list[KeyValue], producer: TransactionalProducer | None = None) -> AppendResult:
        return self.log.append(build_batch(records, self._terms.clock.wall_ms(), producer))

    def persist(self, group_id: str, snapshot: GroupSnapshot) -> ErrorCode:
        """See `Persistence.persist`."""
        error = self.append([group_record(group_id, snapshot)]).error
        group = self.groups.get(group_id)
        if error is ErrorCode.NONE and group is not None:
            group.is_stored = True
        return error

    def encode(self, draft: Draft) -> Steps[None]:
        """See `ChangeLog.encode`."""
        for change in draft.changes:
            topics = topics_in(change)
            if topics > COUNTED_PER_STEP:
                record = yield from record_of_in_steps(draft.group.group_id, change)
            else:
                record = record_of(draft.group.group_id, change)
            draft.encoded.append(record)
            if draft.pace.is_over(topics):
                yield

    def write_draft(self, draft: Draft) -> ErrorCode:
        """See `ChangeLog.write_draft`."""
        ahead = draft.encoded
        others = (record_of(draft.group.group_id, change) for change in draft.changes[len(ahead) :])
        result = self.append([*draft.before, *ahead, *others, *draft.after])
        draft.log_offset = result.base_offset
        return result.error

    def delete(self, group: Group) -> ErrorCode:
        """Take an empty group and all its offsets out of the log and out of memory; the log's error."""
        # What only just came to be committed goes with the rest.
        self.flush()
        tombstones = [offset_tombstone(group.group_id, key) for key in group.offsets.known()]
        if group.consumer is not None:
            return self._delete_consumer(group, group.consumer, tombstones)
        records = tombstones + ([group_tombstone(group.group_id)] if group.is_stored else [])
        if not records:
            self._deleted(group, NO_OFFSET)
            return ErrorCode.NONE
        result = self.append(records)
        if result.error is ErrorCode.NONE:
            self._deleted(group, result.base_offset)
        return result.error

    def delete_spent(self, group: Group) -> None:
        """Take a group whose offsets are on their way out of the log after them, in one batch with others."""
        if group.consumer is not None:
            self.delete(group)
        elif group.is_stored:

            def appended(base_offset: Offset) -> None:
                group.is_stored = False
                self.forget_if_void(group)

            # What could not be written now is written the next time.
            write = GatheredWrite([group_tombstone(group.group_id)], appended, lambda error: None)
            self.gather(write)
        else:
            self.forget_if_void(group)

    def _deleted(self, group: Group, log_offset: Offset) -> None:
        """A group was taken out of the log there; what came after it, commits or members, lives on.

        A member id that was only handed out is no member.
        """
        group.is_stored = False
        group.offsets.forget_all(log_offset)
        is_joined = group.has_members if group.consumer is not None else bool(group.membership.members)
        if group.offsets.is_empty and not is_joined:
            self.drop(group)

    def _delete_consumer(
        self, group: Group, consumer: ConsumerProtocol, tombstones: list[KeyValue]
    ) -> ErrorCode:
        draft = consumer.draft()
        if draft.group.members:
            return ErrorCode.NON_EMPTY_GROUP
        draft.before += tombstones
        if draft.group.is_stored:
            draft.put_all(draft.group.tombstones())
        error = consumer.commit(draft)
        if error is ErrorCode.NONE:
            self._deleted(group, draft.log_offset)
        return error

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
