"""A consumer group with members that come, go, stall and come back in any order, over a log that may be slow.

Whatever happens: nobody reads what another may read, epochs never go back, a group is what its log says,
nobody is answered twice, and when everybody behaves for a while everything is read by exactly one member.
"""

from dataclasses import dataclass

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import TopicId
from odradek.coordinator.consumer.consumer_membership import ConsumerMembership
from odradek.coordinator.consumer.states import MemberState
from odradek.records.builder import BatchBuilder
from odradek.records.framing import Record, iter_records
from odradek.records.header import iter_headers
from tests.coordinator.group_bench import GroupBench
from tests.coordinator.members import ConsumerClient, HeartbeatReply

MEMBERS_MAX = 4
FENCED = {
    ErrorCode.FENCED_MEMBER_EPOCH,
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.FENCED_INSTANCE_ID,
    ErrorCode.GROUP_ID_NOT_FOUND,
}

numbers = st.integers(0, MEMBERS_MAX - 1)


def alone(record: Record) -> bytes:
    """A batch of one record, at its offset."""
    builder = BatchBuilder()
    builder.append(0, record.key, record.value)
    batch = builder.build()
    batch[:8] = record.offset.to_bytes(8, "big")
    return bytes(batch)


@dataclass(eq=False)
class BusyClient(ConsumerClient):
    """It sends nothing while it waits for an answer."""

    is_busy: bool = False


class GroupModel(RuleBasedStateMachine):
    """Members are what clients would be; the bench is the coordinator that they talk to."""

    @initialize()
    def begin(self) -> None:
        self.bench = GroupBench()
        self.members: list[BusyClient] = []
        self.born = 0
        self.in_flight: list[tuple[BusyClient, HeartbeatReply]] = []
        self.replies: list[HeartbeatReply] = []
        self.epoch = self.target_epoch = 0

    def group(self) -> ConsumerMembership | None:
        """As the log has it."""
        found = [group for group in self.bench.coordinator._groups() if group.group_id == "g"]
        return found[0].consumer.membership if found and found[0].consumer is not None else None

    def pick(self, number: int) -> BusyClient:
        return self.members[number % len(self.members)]

    def sent(self, member: BusyClient, reply: HeartbeatReply) -> None:
        self.replies.append(reply)
        self.in_flight.append((member, reply))
        self.collect()

    def collect(self) -> None:
        """Let members read the answers that have come."""
        waiting = []
        for member, reply in self.in_flight:
            if not reply.is_answered:
                waiting.append((member, reply))
                continue
            member.is_busy = False
            if member not in self.members:
                continue
            answer = member.take(reply)
            if answer.error_code in FENCED:
                # It gives everything up and joins again, as it has to.
                member.epoch, member.told, member.owned = 0, {}, {}
        self.in_flight = waiting

    @precondition(lambda self: len(self.members) < MEMBERS_MAX)
    @rule(
        is_static=st.booleans(),
        topics=st.sampled_from([["t"], ["u"], ["t", "u"]]),
        expression=st.sampled_from([None, "t|u", "t.*"]),
    )
    def come(self, is_static: bool, topics: list[str], expression: str | None) -> None:
        taken = {member.instance_id for member in self.members}
        name = next(f"i-{number}" for number in range(MEMBERS_MAX) if f"i-{number}" not in taken)
        self.born += 1
        member = BusyClient(
            self.bench,
            f"m-{self.born}",
            name if is_static else None,
            topics=topics,
            expression=expression,
            rebalance_timeout_ms=20_000,
        )
        self.members.append(member)
        self.join(len(self.members) - 1)

    @precondition(lambda self: self.members)
    @rule(number=numbers)
    def join(self, number: int) -> None:
        member = self.pick(number)
        if not member.is_busy:
            member.is_busy = True
            self.sent(member, member.send_join())

    @precondition(lambda self: self.members)
    @rule(number=numbers, tells=st.booleans(), adopts=st.booleans())
    def beat(self, number: int, tells: bool, adopts: bool) -> None:
        member = self.pick(number)
        if member.is_busy or member.epoch == 0:
            return
        if adopts:
            member.owned = member.told
        member.is_busy = True
        self.sent(member, member.send(topic_partitions=member.owned) if tells else member.send())

    @precondition(lambda self: self.members)
    @rule(number=numbers, topics=st.sampled_from([["t"], ["u"], ["t", "u"], []]))
    def subscribe(self, number: int, topics: list[str]) -> None:
        member = self.pick(number)
        member.topics = topics
        if not member.is_busy and member.epoch > 0:
            member.is_busy = True
            self.sent(member, member.send(subscribed_topic_names=topics))

    @precondition(lambda self: self.members)
    @rule(number=numbers, is_back_soon=st.booleans())
    def leave(self, number: int, is_back_soon: bool) -> None:
        member = self.pick(number)
        if member.is_busy or member.epoch == 0:
            return
        self.members.remove(member)
        epoch = -2 if is_back_soon and member.instance_id is not None else -1
        self.replies.append(member.send(member_epoch=epoch))

    @precondition(lambda self: self.members)
    @rule(number=numbers)
    def vanish(self, number: int) -> None:
        self.members.remove(self.pick(number))

    @rule(by_ms=st.sampled_from([1, 1_000, 5_000, 20_000, 45_000]))
    def advance(self, by_ms: int) -> None:
        self.bench.advance(by_ms)
        self.collect()

    @rule(count=st.integers(1, 5))
    def change_topics(self, count: int) -> None:
        self.bench.topics.counts["t"] = count
        self.bench.touch_topics()

    @rule()
    def create_or_delete_a_topic(self) -> None:
        self.bench.known_topics.symmetric_difference_update({"t2"})
        self.bench.touch_topics()

    @rule()
    def slow_log(self) -> None:
        self.bench.log.lags = True

    @rule()
    def quick_log(self) -> None:
        self.bench.log.catch_up()
        self.collect()

    @rule(keeps_tombstones=st.booleans())
    def compact_the_log(self, keeps_tombstones: bool) -> None:
        """L5: of each key the last record stays, where it was."""
        self.quick_log()
        for batches in self.bench.log.batches.values():
            records = [
                record
                for batch in batches
                for at, header in iter_headers(batch)
                for record in iter_records(batch, header, at)
            ]
            last = {bytes(record.key or b""): record for record in records}
            kept = [record for record in last.values() if keeps_tombstones or record.value is not None]
            batches[:] = [alone(record) for record in sorted(kept, key=lambda record: record.offset)]

    @rule()
    def lose_patience_with_the_log(self) -> None:
        """R19: nobody knows what became of it."""
        self.bench.log.time_out()
        self.collect()

    def told(self) -> dict[str, int]:
        """The epochs of the members that were told of them, and are in the group."""
        group = self.group()
        return {
            member.member_id: member.epoch
            for member in self.members
            if member.epoch > 0 and not member.is_busy
            if group is not None and member.member_id in group.members
        }

    @rule(batches=st.integers(1, 2))
    def let_replicas_come_nearer(self, batches: int) -> None:
        self.bench.log.replicate(batches)
        self.collect()

    @rule(is_replicated=st.booleans())
    def move_to_another_broker(self, is_replicated: bool) -> None:
        """R19: what was not replicated may be lost by that."""
        if is_replicated:
            self.bench.coordinator.resign_all()
            self.bench.log.catch_up()
            self.bench.start()
        else:
            told = self.told()
            self.bench.fail_over()
            group = self.group()
            for member_id, epoch in told.items():
                known = None if group is None else group.members.get(member_id)
                assert known is not None, f"{member_id} was told that it is a member"
                assert known.share.epoch == -2 or known.share.epoch >= epoch, f"{member_id} was at {epoch}"
        self.epoch = self.target_epoch = 0  # looked at anew: what was not written may not have happened
        for member in self.members:
            member.is_busy = False
        self.in_flight = [entry for entry in self.in_flight if entry[1].is_answered]
        self.collect()

    @invariant()
    def nobody_reads_what_another_may_read(self) -> None:
        group = self.group()
        if group is None:
            return
        holders: dict[tuple[TopicId, int], str] = {}
        for member in group.members.values():
            for share in (member.share.assigned, member.share.revoking):
                for topic, parts in share.items():
                    for part in parts:
                        other = holders.setdefault((topic, part), member.member_id)
                        assert other == member.member_id, f"{part} is {other}'s and {member.member_id}'s"
        derived = {(topic, part): who for topic, own in group.owners.items() for part, who in own.items()}
        assert derived == holders, "the owners are not those that the shares tell"

    @invariant()
    def a_target_has_no_partition_twice(self) -> None:
        group = self.group()
        targets = [] if group is None else list(group.target.values())
        flat = [(topic, part) for target in targets for topic, parts in target.items() for part in parts]
        assert len(flat) == len(set(flat))

    @invariant()
    def epochs_never_go_back(self) -> None:
        group = self.group()
        if group is None:
            self.epoch = self.target_epoch = 0
            return
        assert group.epoch >= self.epoch
        assert group.target_epoch >= self.target_epoch
        assert group.target_epoch <= group.epoch
        self.epoch, self.target_epoch = group.epoch, group.target_epoch

    @invariant()
    def states_are_whole(self) -> None:
        group = self.group()
        if group is None:
            return
        for member in group.members.values():
            share = member.share
            assert bool(share.revoking) == (share.state is MemberState.UNREVOKED_PARTITIONS)
            assert share.epoch <= group.target_epoch
            if member.metadata.instance_id is not None:
                assert group.static_members[member.metadata.instance_id] == member.member_id

    @invariant()
    def nobody_is_answered_twice(self) -> None:
        assert all(len(reply.answers) <= 1 for reply in self.replies)

    def teardown(self) -> None:
        """What the log says is the group; and everybody who behaves comes to rest."""
        self.bench.log.catch_up()
        self.collect()
        before = self.group()
        for _ in range(2):
            self.bench.coordinator.resign_all()
            self.bench.start()
        after = self.group()
        if before is not None and after is not None:
            assert (after.epoch, after.target_epoch, after.members) == (
                before.epoch,
                before.target_epoch,
                before.members,
            )
            assert (after.target, after.owners) == (before.target, before.owners)
        self.bench.advance(46_000)  # whoever is not here any more is gone
        for _ in range(4 * MEMBERS_MAX):
            for member in self.members:
                member.is_busy = False
                if member.epoch == 0:
                    member.join()
                elif member.settle() in FENCED:
                    member.epoch = 0
        group = self.group()
        if self.members and group is not None and group.members:
            assert group.state.value == "Stable", group.state
            read = {name for name in group.subscribed_topics() if self.bench.topics.by_name(name)}
            topics = [topic for topic in map(self.bench.topics.by_name, read) if topic is not None]
            assert {topic_id: len(own) for topic_id, own in group.owners.items()} == {
                topic.topic_id: topic.partition_count for topic in topics
            }
            told = {one.member_id: one.told for one in self.members}
            shares = {key: one.share.assigned for key, one in group.members.items()}
            assert {key: {t: set(p) for t, p in one.items()} for key, one in told.items()} == shares
        self.bench.coordinator.resign_all()
        self.bench.run()
        assert [one.delayed for one in self.bench.coordinator.purgatories.all()] == [0, 0, 0, 0]


TestGroupModel = GroupModel.TestCase
TestGroupModel.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
