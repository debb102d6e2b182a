"""The state of one classic group, and the changes that keep it consistent.

Pure state: no answers are sent and no timers are set here; the other files of this folder return those as
effects. Invariant: every change of state goes through `take`, and so through the table of `states`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from odradek.base.clock import Clock
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import MalformedRequest
from odradek.coordinator.classic.member import Member, Protocols
from odradek.coordinator.classic.states import GroupEvent, GroupState, outcome
from odradek.wire.messages.consumer_protocol import ConsumerProtocolSubscription
from odradek.wire.versioned import VERSION_BYTES

CONSUMER_PROTOCOL_TYPE = "consumer"
SUBSCRIPTION_VERSION_READ: Final = 0


@dataclass(frozen=True, slots=True)
class MemberSnapshot:
    """One member as it is written to the log."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    subscription: bytes
    assignment: bytes


@dataclass(frozen=True, slots=True)
class GroupSnapshot:
    """A group as it is written to the log, and read from there."""

    protocol_type: str = ""
    protocol_name: str | None = None
    generation: int = 0
    leader_id: str | None = None
    state_since_ms: int = -1
    """Wall clock; -1 in records of old."""
    members: tuple[MemberSnapshot, ...] = ()


@dataclass(slots=True)
class ClassicMembership:
    """The members and the generation of a group of the classic protocol."""

    group_id: str
    clock: Clock
    state: GroupState = GroupState.EMPTY
    state_since_ms: int = -1
    """When `state` was entered, by the wall clock; -1 while that is not known."""
    protocol_type: str | None = None
    """The protocol type of all members, usually "consumer"; None until the first one joins."""
    protocol_name: str | None = None
    """The strategy that was chosen for this generation; None exactly while there is no generation to sync."""
    generation: int = 0
    """How many join phases have ended; never falls."""
    leader_id: str | None = None
    """The group's leader, which assigns; a key of `members`, or None when there are none."""
    members: dict[str, Member] = field(default_factory=dict)
    """By member id, in the order in which they joined."""
    static_members: dict[str, str] = field(default_factory=dict)
    """Member ids by instance id; exactly the static ones of `members`."""
    pending_members: dict[str, None] = field(default_factory=dict)
    """Member ids handed out and not used yet (KIP-394); none is in `members`."""
    unsynced: dict[str, None] = field(default_factory=dict)
    """Members that joined this generation and have not synced (G4); a subset of `members`."""
    joined_count: int = 0
    """How many members have a parked JoinGroup."""
    has_newcomers: bool = False
    """Whether a member joined while the first rebalance was being held open for more (G1)."""
    joins_until_ms: int = 0
    """When the current join phase ends at the latest, on the monotonic clock."""
    syncs_until_ms: int = 0
    """When members that have not synced by then are removed, on the monotonic clock."""
    _supporters: dict[str, int] = field(default_factory=dict)
    """How many members offer each protocol; names that no member offers are absent."""

    # --- the state

    def may(self, event: GroupEvent) -> ErrorCode:
        """NONE if the event is allowed in the current state, else the error."""
        found = outcome(self.state, event)
        return found if isinstance(found, ErrorCode) else ErrorCode.NONE

    def apply(self, event: GroupEvent) -> None:
        """Apply an event that `may` allows: the group enters the next state."""
        found = outcome(self.state, event)
        assert isinstance(found, GroupState), f"it was not asked whether {event.value}: {found.name}"
        if found is not self.state:
            self.state = found
            self.state_since_ms = self.clock.wall_ms()

    @property
    def is_rebalancing(self) -> bool:
        """Whether the group waits for members to join."""
        return self.state is GroupState.PREPARING_REBALANCE

    @property
    def has_all_joined(self) -> bool:
        """G1: whether every member has sent a JoinGroup, and every member id handed out is used."""
        return self.joined_count == len(self.members) and not self.pending_members

    # --- members

    def lookup(self, member_id: str, instance_id: str | None) -> Member | ErrorCode:
        """The member that a request names, or why there is none (KIP-345)."""
        if instance_id is not None:
            known_id = self.static_members.get(instance_id)
            if known_id is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
            if known_id != member_id:
                return ErrorCode.FENCED_INSTANCE_ID
        return self.members.get(member_id, ErrorCode.UNKNOWN_MEMBER_ID)

    def add(self, member: Member, protocol_type: str) -> None:
        """Add a member; the first one becomes the leader and sets the group's protocol type."""
        assert member.member_id not in self.members, f"{member.member_id} has joined before"
        if not self.members:
            self.protocol_type = protocol_type
        assert protocol_type == self.protocol_type, f"{protocol_type} in a group of {self.protocol_type}"
        if self.leader_id is None:
            self.leader_id = member.member_id
        self.members[member.member_id] = member
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id
        self.pending_members.pop(member.member_id, None)
        self._count_supporters(member.protocols, 1)

    def remove(self, member: Member) -> None:
        """Remove a member; another becomes leader if it led. The caller answers its parked requests."""
        del self.members[member.member_id]
        if member.instance_id is not None:
            del self.static_members[member.instance_id]
        self.unsynced.pop(member.member_id, None)
        self._count_supporters(member.protocols, -1)
        if member.awaiting_join is not None:
            self.joined_count -= 1
        if self.leader_id == member.member_id:
            self.leader_id = next(iter(self.members), None)

    def rename(self, member: Member, member_id: str) -> None:
        """Give a static member that came back its new id; its place in the group stays (KIP-345)."""
        assert member.instance_id is not None, f"{member.member_id} is not static"
        assert not member.is_waiting, f"{member.member_id} still waits under its old id"
        old_id = member.member_id
        self.members = {
            (member_id if known is member else known.member_id): known for known in self.members.values()
        }
        member.member_id = member_id
        member.watched_until_ms = None  # its delayed heartbeat has the old id
        self.static_members[member.instance_id] = member_id
        if self.leader_id == old_id:
            self.leader_id = member_id
        if old_id in self.unsynced:
            del self.unsynced[old_id]
            self.unsynced[member_id] = None

    def offer(self, member: Member, protocols: Protocols) -> None:
        """Replace the protocols that a member offers."""
        self._count_supporters(member.protocols, -1)
        member.protocols = protocols
        self._count_supporters(protocols, 1)

    def elect_joined_leader(self) -> bool:
        """Make a member that has joined the leader; returns False if none has."""
        leader = None if self.leader_id is None else self.members[self.leader_id]
        if leader is None or leader.awaiting_join is None:
            joined = (one.member_id for one in self.members.values() if one.awaiting_join is not None)
            found = next(joined, None)
            if found is None:
                return False
            self.leader_id = found
        return True

    @property
    def rebalance_timeout_ms(self) -> int:
        """The largest rebalance timeout of all members."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    # --- protocols

    def supports(self, protocol_type: str, protocols: Protocols) -> bool:
        """Whether a member that offers these protocols shares one with all current members."""
        if not protocol_type or not protocols:
            return False
        if not self.members:
            return True
        return protocol_type == self.protocol_type and any(
            self._supporters.get(name) == len(self.members) for name, _ in protocols
        )

    def choose_protocol(self) -> str:
        """The protocol that most members prefer, of those that all members offer."""
        candidates = frozenset(name for name, count in self._supporters.items() if count == len(self.members))
        assert candidates, f"the members of {self.group_id} have no protocol in common"
        if len(candidates) == 1:
            (only,) = candidates
            return only
        votes: dict[str, int] = {}
        for member in self.members.values():
            favourite = member.favourite(candidates)
            votes[favourite] = votes.get(favourite, 0) + 1
        return max(votes, key=votes.__getitem__)

    def begin_generation(self) -> None:
        """End the join phase: begin a generation with a protocol, or without members become empty."""
        self.generation += 1
        self.has_newcomers = False
        if self.members:
            self.apply(GroupEvent.ALL_JOINED)
            self.protocol_name = self.choose_protocol()
        else:
            self.apply(GroupEvent.NOBODY_JOINED)
            self.protocol_name = None

    def subscribed_topics(self) -> frozenset[str] | None:
        """The topics that members of a consumer group read; None when they do not say.

        As in Kafka every subscription is read as version 0, with which all versions begin, whatever version
        it announces: there are clients that announce 1 and send no more than version 0 holds.
        """
        if self.protocol_type != CONSUMER_PROTOCOL_TYPE or self.protocol_name is None or not self.members:
            return None
        topics: set[str] = set()
        for member in self.members.values():
            subscription = member.metadata(self.protocol_name)
            try:
                told = ConsumerProtocolSubscription.decode(
                    subscription, SUBSCRIPTION_VERSION_READ, VERSION_BYTES, may_be_longer=True
                )
            except MalformedRequest:
                return None
            topics.update(told.topics)
        return frozenset(topics)

    def _count_supporters(self, protocols: Protocols, by: int) -> None:
        for name in dict(protocols):
            count = self._supporters.get(name, 0) + by
            if count:
                self._supporters[name] = count
            else:
                del self._supporters[name]

    # --- the log

    def snapshot(self, assignments: Mapping[str, bytes] | None = None) -> GroupSnapshot:
        """What is to be written, with these assignments (none: those that the members have)."""
        protocol = self.protocol_name or ""
        return GroupSnapshot(
            self.protocol_type or "",
            self.protocol_name,
            self.generation,
            self.leader_id,
            self.state_since_ms,
            tuple(
                MemberSnapshot(
                    member.member_id,
                    member.instance_id,
                    member.client_id,
                    member.client_host,
                    member.session_timeout_ms,
                    member.rebalance_timeout_ms,
                    member.metadata(protocol),
                    member.assignment if assignments is None else assignments.get(member.member_id, b""),
                )
                for member in self.members.values()
            ),
        )

    def restore(self, snapshot: GroupSnapshot) -> None:
        """Take the state that was read from the log: stable with its members, or empty."""
        assert not self.members, f"{self.group_id} is in use"
        self.generation = snapshot.generation
        self.protocol_type = snapshot.protocol_type or None
        for kept in _unique(snapshot.members):
            member = Member(
                kept.member_id,
                kept.instance_id,
                kept.client_id,
                kept.client_host,
                kept.session_timeout_ms,
                kept.rebalance_timeout_ms,
                ((snapshot.protocol_name or "", kept.subscription),),
                kept.assignment,
            )
            self.add(member, self.protocol_type or "")
        self.protocol_name = snapshot.protocol_name if self.members else None
        if snapshot.leader_id in self.members:
            self.leader_id = snapshot.leader_id
        self.state = GroupState.STABLE if self.members else GroupState.EMPTY
        self.state_since_ms = snapshot.state_since_ms


def _unique(members: Iterable[MemberSnapshot]) -> Iterable[MemberSnapshot]:
    return {member.member_id: member for member in members}.values()
