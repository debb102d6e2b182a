"""R7, R15e: ISR and ELR over any history of one partition: what was committed stays with their members.

The decisions are the real ones: `election` for the controller, `Leadership` for the leaders. The rest is a
model: logs are lists, a fetch copies, the store is one state with a version. Brokers obey late, so one that
leads no more may go on for a while, with followers that do not know either.
"""

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import ClassVar, Final

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from odradek.base.ids import NO_BROKER, NO_EPOCH, BrokerId, TopicPartition
from odradek.metadata.controller import election
from odradek.metadata.image import BrokerGone, BrokerImage, BrokerRegistered, ClusterImage, PartitionImage
from odradek.replication import StoredState
from odradek.replication.isr import IsrChange, LostRace, classify_lost_race
from odradek.replication.leadership import Leadership
from odradek.storage import LogPosition

NAMED: Final = TopicPartition("orders", 0)
BROKERS: Final = (1, 2, 3, 4)
LAG_MS: Final = 10
FETCHED_MAX: Final = 2
some_broker: Final = st.sampled_from(BROKERS)


def at(offset: int) -> LogPosition:
    return LogPosition(offset, 0, offset)


@dataclass
class Replica:
    """A broker with its log: each record is (leader epoch, a number that no other has)."""

    broker_id: BrokerId
    log: list[tuple[int, int]] = field(default_factory=list)
    synced: int = 0
    """How many records a power cut leaves."""
    runs: bool = True
    lacks: bool = False
    """Whether it has lost something and was not in the ISR since."""
    is_trusted: bool = True
    """Whether nothing was lost since it registered last."""
    obeyed: PartitionImage | None = None
    """The last order; None after a start."""
    leadership: Leadership | None = None
    high_watermark: int = 0


class Histories(RuleBasedStateMachine):
    """One partition on four brokers; fewer disks than min ISR lack something at any time."""

    is_promised: ClassVar[bool] = True

    def __init__(self) -> None:
        super().__init__()
        self.now_ms = 0
        self.min_isr = self.leaders_min_isr = 2
        self.numbers = 0
        self.image = ClusterImage()
        self.replicas = {broker_id: Replica(broker_id) for broker_id in BROKERS}
        self.stored = PartitionImage(BROKERS, BROKERS, 1)
        # Writes of leaders that are on their way to the store.
        self.writes: list[tuple[Leadership, IsrChange]] = []
        # The longest log below the HW of any leader.
        self.committed: list[tuple[int, int]] = []
        for broker_id in BROKERS:
            self.image.apply(BrokerRegistered(BrokerImage(broker_id, ())))
            self.obey(broker_id)

    # --- brokers come and go, and the controller decides

    def decide(self, after: PartitionImage | None) -> None:
        if after is None:
            return
        assert after.state_version == self.stored.state_version + 1
        if after.unclean_epoch != self.stored.unclean_epoch:
            elected = self.replicas[after.leader].log
            shared = shared_length(elected, self.committed)
            assert not self.is_promised or shared == len(self.committed)
            del self.committed[shared:]
        self.stored = after

    def settle(self) -> None:
        self.decide(election.settle(self.stored, self.image.brokers, self.min_isr, None))

    def notice_gone(self, broker_id: BrokerId) -> None:
        if self.image.is_live(broker_id):
            self.image.apply(BrokerGone(broker_id))
            self.settle()

    @rule(broker_id=some_broker)
    def expire(self, broker_id: BrokerId) -> None:
        """The store gives a broker up; the broker itself goes on."""
        self.notice_gone(broker_id)

    @rule(broker_id=some_broker, loses_power=st.booleans())
    def die(self, broker_id: BrokerId, loses_power: bool) -> None:
        replica = self.replicas[broker_id]
        replica.runs, replica.leadership, replica.obeyed, replica.high_watermark = False, None, None, 0
        lacking = [one for one in self.replicas.values() if one.lacks and one is not replica]
        if loses_power and not (self.is_promised and len(lacking) + 1 >= self.min_isr):
            del replica.log[replica.synced :]
            replica.lacks, replica.is_trusted = True, False
        self.notice_gone(broker_id)

    @rule(broker_ids=st.lists(some_broker, min_size=1, unique=True))
    def register(self, broker_ids: list[BrokerId]) -> None:
        """Brokers come back, also several at once; a join of before comes too late where it matters (R16)."""
        came = {one: self.replicas[one].is_trusted for one in broker_ids if not self.image.is_live(one)}
        for broker_id in came:
            replica = self.replicas[broker_id]
            replica.runs = replica.is_trusted = True
            self.image.apply(BrokerRegistered(BrokerImage(broker_id, ())))
        if came:
            self.decide(election.readmit(self.stored, came, self.image.brokers, self.min_isr))
            self.settle()

    @rule(broker_id=some_broker)
    def obey(self, broker_id: BrokerId) -> None:
        """An order of the controller arrives."""
        replica = self.replicas[broker_id]
        known = replica.obeyed
        if not replica.runs or (known is not None and known.leader_epoch >= self.stored.leader_epoch):
            return
        replica.obeyed, replica.leadership = self.stored, None
        if self.stored.leader == broker_id:
            replica.leadership = Leadership(
                NAMED, broker_id, self.stored, len(replica.log), self.image, self.now_ms, LAG_MS
            )
            self.raise_high_watermark(replica)

    # --- leaders and followers

    @rule(broker_id=some_broker)
    def append(self, broker_id: BrokerId) -> None:
        replica = self.replicas[broker_id]
        if replica.leadership is not None:
            self.numbers += 1
            replica.log.append((replica.leadership.epoch, self.numbers))
            self.raise_high_watermark(replica)

    @rule(broker_id=some_broker)
    def sync(self, broker_id: BrokerId) -> None:
        self.replicas[broker_id].synced = len(self.replicas[broker_id].log)

    @rule(broker_id=some_broker, leader_id=some_broker)
    def fetch(self, broker_id: BrokerId, leader_id: BrokerId) -> None:
        """X4, R10, R3: cut what the leader does not have, say where the log ends, take a few records."""
        follower, leader = self.replicas[broker_id], self.replicas[leader_id]
        leadership, order = leader.leadership, follower.obeyed
        if leadership is None or order is None or follower is leader:
            return
        if (order.leader, order.leader_epoch) != (leader_id, leadership.epoch):
            return
        end = shared_length(follower.log, leader.log)
        del follower.log[end:]
        follower.synced = min(follower.synced, end)
        leadership.remotes[broker_id].note_fetch(at(end), 0, len(leader.log), self.now_ms)
        if broker_id not in leadership.isr:
            self.write(
                leadership,
                leadership.propose_expansion(broker_id, leader.high_watermark, self.leaders_min_isr),
            )
        self.raise_high_watermark(leader)
        follower.log += leader.log[end : end + FETCHED_MAX]

    @rule(broker_id=some_broker)
    def expire_isr(self, broker_id: BrokerId) -> None:
        """R2: a round of isr-expiration, after the lag that a follower may have."""
        leader = self.replicas[broker_id]
        self.now_ms += LAG_MS + 1
        if leader.leadership is not None:
            change = leader.leadership.propose_shrink(len(leader.log), self.now_ms, self.leaders_min_isr)
            self.write(leader.leadership, change)
            self.raise_high_watermark(leader)

    def raise_high_watermark(self, leader: Replica) -> None:
        """As `Partition.raise_high_watermark` does."""
        leadership = leader.leadership
        assert leadership is not None
        if len(leadership.isr) < self.leaders_min_isr or leadership.elr:
            return
        offset = leadership.high_watermark_candidate(at(len(leader.log)), self.now_ms).offset
        if offset <= leader.high_watermark:
            return
        leader.high_watermark = offset
        if leadership.epoch < self.stored.unclean_epoch:
            return  # what it acknowledges may be lost, and that is reported
        below = leader.log[:offset]
        shared = shared_length(below, self.committed)
        assert shared == min(len(below), len(self.committed)), "two leaders committed different records"
        if len(below) > shared:
            self.committed = below

    @rule()
    def go_on(self) -> None:
        """A quiet while: orders are obeyed, a record is written, followers fetch, the store answers."""
        for broker_id in BROKERS:
            self.obey(broker_id)
        leader_id = self.stored.leader
        if leader_id == NO_BROKER:
            return
        self.append(leader_id)
        for _ in range(2):
            for broker_id in BROKERS:
                self.fetch(broker_id, leader_id)
            while self.writes:
                self.execute(0, is_answered=True, is_done=True)

    # --- the store

    def write(self, leadership: Leadership, change: IsrChange | None) -> None:
        if change is not None:
            self.writes.append((leadership, change))

    @precondition(lambda self: self.writes)
    @rule(number=st.integers(0, 10), is_answered=st.booleans(), is_done=st.booleans())
    def execute(self, number: int, is_answered: bool, is_done: bool) -> None:
        """R2: a write is done if its version still stands; without an answer it may or may not be done."""
        leadership, change = self.writes.pop(number % len(self.writes))
        stands = change.state_version == self.stored.state_version
        if stands and (is_done or is_answered):
            self.stored = replace(
                self.stored,
                isr=change.new_isr,
                elr=change.new_elr,
                state_version=change.state_version + 1,
            )
        leader = self.replicas[leadership.broker_id]
        if leader.leadership is not leadership or leadership.pending is not change:
            return
        if not is_answered:
            leadership.isr_unanswered()
            return
        self.answer(leadership, change, is_written=stands)
        self.raise_high_watermark(leader)

    def answer(self, leadership: Leadership, change: IsrChange, *, is_written: bool) -> None:
        stored = self.stored
        if is_written:
            leadership.isr_written(stored.state_version)
            return
        found = StoredState(
            stored.leader, stored.leader_epoch, 0, stored.isr, stored.state_version, stored.elr
        )
        match classify_lost_race(change, found, 0):
            case LostRace.ALREADY_WRITTEN:
                leadership.isr_written(stored.state_version)
            case LostRace.TRY_NEXT_ROUND:
                leadership.isr_found(found)
            case LostRace.SUPERSEDED:
                leadership.isr_superseded()

    # --- what holds

    def members(self) -> Collection[BrokerId]:
        return (*self.stored.isr, *self.stored.elr)

    @invariant()
    def members_have_all_that_was_committed(self) -> None:
        """R7, R15e: except those that lost something and have not registered since."""
        for member in self.members():
            replica = self.replicas[member]
            if replica.is_trusted:
                assert replica.log[: len(self.committed)] == self.committed, f"broker {member} lacks records"

    @invariant()
    def a_state_is_sound(self) -> None:
        stored = self.stored
        assert not set(stored.isr) & set(stored.elr)
        assert stored.leader == NO_BROKER or stored.leader in stored.isr
        assert (stored.last_known_leader != NO_BROKER) <= (not stored.isr and not stored.elr)
        for replica in self.replicas.values():
            replica.lacks &= replica.broker_id not in stored.isr or not replica.is_trusted

    @invariant()
    def something_is_left(self) -> None:
        """R15e: while fewer disks than min ISR lack something, no election is unclean."""
        if self.is_promised:
            assert self.stored.unclean_epoch == NO_EPOCH
            assert any(self.replicas[member].is_trusted for member in self.members())


class AnyHistories(Histories):
    """Any disk may lose something, and min ISR changes, for leaders and controller at different times."""

    is_promised: ClassVar[bool] = False

    @rule(min_isr=st.integers(1, 4))
    def change_min_isr(self, min_isr: int) -> None:
        self.min_isr = min_isr

    @rule(min_isr=st.integers(1, 4))
    def change_min_isr_of_leaders(self, min_isr: int) -> None:
        self.leaders_min_isr = min_isr


def shared_length(ours: list[tuple[int, int]], theirs: list[tuple[int, int]]) -> int:
    """How many records two logs have in common at their beginnings."""
    pairs = enumerate(zip(ours, theirs, strict=False))
    return next((number for number, (one, other) in pairs if one != other), min(len(ours), len(theirs)))


@pytest.mark.slow
@pytest.mark.parametrize("machine", [Histories, AnyHistories])
def test_isr_and_elr_have_all_that_was_committed(machine: type[Histories]) -> None:
    """R7, R15e: after whatever happened."""
    bounds = settings(max_examples=40, stateful_step_count=50, deadline=None, derandomize=True)
    run_state_machine_as_test(machine, settings=bounds)
