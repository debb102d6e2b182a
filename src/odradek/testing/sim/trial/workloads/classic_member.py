"""A member of a classic group: joins, syncs, sends heartbeats, reads, commits; leaves or vanishes; is back.

    life 1   JoinGroup, SyncGroup, ... commits            vanishes without a word
    life 2   JoinGroup under another member id, ...       now and then commits as life 1 would: a ghost
             stands still for longer than its session     goes on as if nothing had happened

A static member keeps its instance id from life to life.
"""

from __future__ import annotations

from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.values import value
from odradek.testing.sim.trial.groups import (
    FinalState,
    Joined,
    PlaceNumber,
    Synced,
    assigned_in_turn,
    decode_assignment,
    encode_assignment,
)
from odradek.testing.sim.trial.scripts import Script
from odradek.testing.sim.trial.workloads.group_client import TOPICS, GroupClient, Result
from odradek.wire.messages.consumer_protocol import ConsumerProtocolSubscription
from odradek.wire.messages.heartbeat import HeartbeatRequest
from odradek.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from odradek.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from odradek.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from odradek.wire.versioned import encode_versioned

SESSION_MS: Final = 6_000
REBALANCE_MS: Final = 9_000
PAUSE_MS: Final = 1_300
"""The longest pause between two requests of a member."""
LIFE_MAX: Final = 40
"""After so many requests at most something happens to a member."""
PROTOCOL_TYPE: Final = "consumer"
FORGOTTEN: Final = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID)
"""After these a member needs another member id."""


@value
class Ghost:
    """What a member was before it came back as another one."""

    member_id: str
    generation: int
    places: tuple[PlaceNumber, ...]


class ClassicMember:
    """One member, in life after life."""

    def __init__(self, base: GroupClient, instance_id: str | None) -> None:
        self._base = base
        self._load = base.load
        self._instance_id = instance_id
        self._member_id = ""
        self._generation = -1
        self._owned: tuple[PlaceNumber, ...] = ()
        self._ghost: Ghost | None = None
        # Members that offer something else than before rebalance their group.
        self._version = 0
        self._words = "it has not joined"

    def run(self) -> Script:
        """Is a member until the trial is nearly over."""
        base, load = self._base, self._load
        while not base.is_over:
            yield load.scripts.pause(load.between(1, PAUSE_MS))
            if not base.places():
                yield from base.client.refresh()
            elif base.coordinator is None:
                yield from base.find()
            elif (yield from self._join()):
                yield from self._work()
        load.groups.final.append(
            FinalState(base.group, base.name, self._words, self._generation, self._owned)
        )

    # --- joining

    def _join(self) -> Result[bool]:
        """JoinGroup and SyncGroup; returns whether it has an assignment."""
        base = self._base
        self._words = "it waits to join"
        self._owned = ()
        request = JoinGroupRequest(
            group_id=base.group,
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=REBALANCE_MS,
            member_id=self._member_id,
            group_instance_id=self._instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocols=[JoinGroupRequestProtocol("range", self._subscription())],
        )
        response, code, asked = yield from base.ask(request, lambda answer: answer.error_code)
        if code is ErrorCode.MEMBER_ID_REQUIRED and response is not None:
            self._member_id = response.member_id
        elif code in FORGOTTEN:
            self._member_id = ""
        if response is None or code is not ErrorCode.NONE:
            self._words = f"it was refused with {code.name}"
            return False
        self._member_id, self._generation = response.member_id, response.generation_id
        self._load.groups.learned.append(Joined(base.group, self._member_id, self._generation, asked))
        return (yield from self._sync(response))

    def _subscription(self) -> bytes:
        told = ConsumerProtocolSubscription(list(TOPICS), str(self._version).encode())
        return encode_versioned(told, 1)

    def _sync(self, joined: JoinGroupResponse) -> Result[bool]:
        base = self._base
        self._words = "it waits for its assignment"
        request = SyncGroupRequest(
            group_id=base.group,
            generation_id=self._generation,
            member_id=self._member_id,
            group_instance_id=self._instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocol_name=joined.protocol_name,
            assignments=[] if joined.skip_assignment else self._assignments(joined),
        )
        response, code, asked = yield from base.ask(request, lambda answer: answer.error_code)
        if code in FORGOTTEN:
            self._member_id = ""
        if response is None or code is not ErrorCode.NONE:
            return False
        name, places = decode_assignment(bytes(response.assignment))
        self._owned = tuple(places)
        self._load.groups.learned.append(
            Synced(base.group, self._member_id, self._instance_id, self._generation, name, self._owned, asked)
        )
        self._words = ""
        return True

    def _assignments(self, joined: JoinGroupResponse) -> list[SyncGroupRequestAssignment]:
        """What the leader assigns: every partition to one member."""
        base = self._base
        name = f"{base.name}/{self._load.groups.tick()}"
        places = [(place.topic, place.partition) for place in base.places()]
        dealt = (
            assigned_in_turn([member.member_id for member in joined.members], places)
            if joined.members
            else {}
        )
        return [
            SyncGroupRequestAssignment(member_id, encode_assignment(name, given))
            for member_id, given in dealt.items()
        ]

    # --- working

    def _work(self) -> Script:
        """Send requests as a member, until it has to join again."""
        base, load = self._base, self._load
        places = base.named(self._owned)
        left = load.between(2, LIFE_MAX)
        yield from base.begin_at_committed(places)
        while base.coordinator is not None and not base.is_over:
            yield load.scripts.pause(load.between(1, PAUSE_MS * (2 if load.is_ending else 1)))
            left -= 1
            if not left and not load.is_ending:
                yield from self._meet_its_fate()
                return
            match load.chance.below(10):
                case 0 | 1 | 2 if places and not load.is_ending:
                    yield from base.read(load.pick(places))
                    continue
                case 3 | 4 if places and not load.is_ending:
                    offsets = {place: base.positions.get(place, 0) for place in places}
                    code = yield from base.commit(
                        offsets, self._member_id, self._generation, self._instance_id
                    )
                case 5 if places and not load.is_ending:
                    yield from base.begin_at_committed(places)
                    continue
                case 6 if self._ghost is not None:
                    yield from self._haunt(self._ghost)
                    continue
                case _:
                    code = yield from self._beat()
            if code is ErrorCode.NONE or code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
                continue
            if code in FORGOTTEN:
                self._become_new()
            return

    def _beat(self) -> Result[ErrorCode]:
        request = HeartbeatRequest(self._base.group, self._generation, self._member_id, self._instance_id)
        _, code, _ = yield from self._base.ask(request, lambda answer: answer.error_code)
        return code

    def _meet_its_fate(self) -> Script:
        base, load = self._base, self._load
        match load.pick(("leave", "vanish", "vanish", "stand still", "offer", "join again")):
            case "leave":
                identity = MemberIdentity(self._member_id, self._instance_id)
                request = LeaveGroupRequest(group_id=base.group, members=[identity])
                yield from base.ask(request, lambda answer: answer.error_code)
                self._become_new()
                yield load.scripts.pause(load.between(1, SESSION_MS))
            case "vanish":
                self._become_new()
                if load.chance.below(2):
                    yield load.scripts.pause(load.between(1, 2 * SESSION_MS))
            case "stand still":
                yield load.scripts.pause(load.between(SESSION_MS // 2, 3 * SESSION_MS))
                places = base.named(self._owned)
                if places and base.coordinator is not None:
                    offsets = {place: base.positions.get(place, 0) for place in places}
                    yield from base.commit(offsets, self._member_id, self._generation, self._instance_id)
            case "offer":
                self._version += 1
                self._remember()

    def _become_new(self) -> None:
        """It forgets who it was; its ghost does not."""
        self._remember()
        self._member_id = ""

    def _remember(self) -> None:
        if self._member_id and self._owned:
            self._ghost = Ghost(self._member_id, self._generation, self._owned)

    def _haunt(self, ghost: Ghost) -> Script:
        """Commit as it was before: brokers must refuse that where others are in its place."""
        base = self._base
        offsets = {place: base.positions.get(place, 0) for place in base.named(ghost.places)}
        if offsets:
            yield from base.commit(offsets, ghost.member_id, ghost.generation, self._instance_id)
        self._ghost = None
