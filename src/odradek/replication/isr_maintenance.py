"""Maintains the stored ISRs: shrinks and expands them, and handles the store's answers (R2, R3, R4).

`Leadership` makes the decisions, `Effects.write_isr` writes them. An answer for an earlier leader epoch is
ignored: a LeaderAndIsr has brought the current state since. Each change of the ISR in memory is an event of
its partition (R14): HW may rise, a quota holds back who is out of it (F8), and a follower that is out of it
is looked at again with its next fetch (R3, F10).
"""

from odradek.base.clock import Clock
from odradek.base.execution import Steps, stepwise
from odradek.base.ids import BrokerId, TopicPartition
from odradek.replication.hosted_partitions import HostedPartitions
from odradek.replication.isr import IsrChange, LostRace, StoredState, classify_lost_race
from odradek.replication.isr_announcements import IsrAnnouncements
from odradek.replication.leadership import Leadership
from odradek.replication.metering import Meters
from odradek.replication.partition import Partition
from odradek.replication.purgatories import Purgatories
from odradek.replication.replication_ports import Effects
from odradek.replication.role_changes import RoleChanger


class IsrMaintenance:
    """The ISRs of the partitions that this broker leads."""

    __slots__ = (
        "_announcements",
        "_clock",
        "_effects",
        "_hosted",
        "_meters",
        "_purgatories",
        "_role_changer",
    )

    def __init__(
        self,
        hosted: HostedPartitions,
        role_changer: RoleChanger,
        purgatories: Purgatories,
        meters: Meters,
        clock: Clock,
        effects: Effects,
    ) -> None:
        self._hosted = hosted
        self._role_changer = role_changer
        self._purgatories = purgatories
        self._meters = meters
        self._clock = clock
        self._effects = effects
        self._announcements = IsrAnnouncements()

    def expire(self) -> Steps[None]:
        """R2, every half `replica.lag.time.max.ms`: drop replicas out of sync, for every partition led here.

        HW is recomputed too: a replica that was about to join and has died no longer holds it back (R7). On a
        partition without traffic nothing else recomputes it.
        """
        yield from stepwise(list(self._hosted.all()), self._expire)

    def _expire(self, partition: Partition) -> None:
        leadership = partition.leadership
        if leadership is None or not leadership.remotes:
            return
        if self._hosted.get(partition.topic_partition) is not partition:
            return  # stopped since an earlier step
        now_ms = self._clock.monotonic_ms()
        change = leadership.propose_shrink(partition.log.end_offset, now_ms, partition.min_isr)
        if change is not None:
            self._effects.write_isr(change)
        if partition.raise_high_watermark(now_ms):
            self._purgatories.wake_soon(partition.topic_partition)

    def consider_joining(self, partition: Partition, broker_id: BrokerId, broker_epoch: int) -> None:
        """R3, R16: after a fetch of this follower, add it to the ISR if it has caught up.

        `broker_epoch` is the one in the fetch: another than the registered one is of an earlier life, or of a
        registration that is not known here yet.
        """
        leadership = partition.leadership
        if leadership is None or broker_id in leadership.isr:
            return
        change = leadership.propose_expansion(
            broker_id, partition.log.high_watermark.offset, partition.min_isr, broker_epoch
        )
        if change is not None:
            self._effects.write_isr(change)

    def on_written(self, change: IsrChange, state_version: int) -> None:
        """Called when the new ISR is stored: update memory, R4's set, meter, HW, waiters, in this order."""
        leadership = self._leadership_of(change)
        if leadership is None:
            return
        leadership.isr_written(state_version)
        now_ms = self._clock.monotonic_ms()
        self._announcements.note(change.topic_partition, now_ms)
        if change.is_expansion:
            self._meters.isr_expansions += 1
        elif change.is_shrink:
            self._meters.isr_shrinks += 1
        self._isr_changed(change.topic_partition, now_ms)

    def on_lost_race(self, change: IsrChange, stored: StoredState) -> None:
        """R2: called when the stored state had another version; `stored` is the state read since."""
        leadership = self._leadership_of(change)
        if leadership is None:
            return
        match classify_lost_race(change, stored, self._role_changer.controller_epoch):
            case LostRace.ALREADY_WRITTEN:
                self.on_written(change, stored.version)
            case LostRace.TRY_NEXT_ROUND:
                self._meters.isr_update_failures += 1
                leadership.isr_found(stored)
                self._isr_changed(change.topic_partition, self._clock.monotonic_ms())
            case LostRace.SUPERSEDED:
                self._meters.isr_update_failures += 1
                leadership.isr_superseded()

    def on_failed(self, change: IsrChange) -> None:
        """Called when the write has no answer: it may have happened; the next round decides again."""
        leadership = self._leadership_of(change)
        if leadership is not None:
            self._meters.isr_update_failures += 1
            leadership.isr_unanswered()

    def take_due_announcement(self) -> list[TopicPartition]:
        """R4, every 2.5 s: the partitions to announce in one notification now; usually none."""
        return self._announcements.take_due(self._clock.monotonic_ms())

    def _isr_changed(self, topic_partition: TopicPartition, now_ms: int) -> None:
        partition = self._hosted.get(topic_partition)
        assert partition is not None, f"{topic_partition} leads without being here"
        is_raised = partition.raise_high_watermark(now_ms)
        self._purgatories.wake_soon(topic_partition, readers_only=not is_raised)

    def _leadership_of(self, change: IsrChange) -> Leadership | None:
        """Returns the leadership that waits for the answer to `change`; None if none does any more."""
        partition = self._hosted.get(change.topic_partition)
        leadership = None if partition is None else partition.leadership
        return leadership if leadership is not None and leadership.pending is change else None
