"""What group members and administrators have sent and learned: see `history`.

Every commit has a number of its own as its metadata, so an answer shows which commit it holds. A tick counts
what clients send and get: what was sent after an answer had come has the greater one.

    sent 3, done 7       it counts from tick 7 on at the latest
    sent 3, not done     it may count, now or later: a request that waits in a broker is executed yet
    refused              it never counts

A fact is firm if it came from a broker that led the partition of `__consumer_offsets` all the time between
request and answer. Others that believe to lead may answer what was true before; they may acknowledge nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from odradek.base.ids import Offset
from odradek.testing.sim.trial.history import Place

NO_COMMIT: Final = -1
"""The offset and the number of a partition without a committed offset."""

PlaceNumber: TypeAlias = tuple[str, int]
"""A partition of a topic that stays, as assignments name it."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request and its answer."""

    sent: int
    """The tick at which it was sent."""
    done: int
    """The tick at which its answer came."""
    is_firm: bool
    """See the module's head."""


@dataclass(slots=True)
class OffsetWrite:
    """A commit, or a deletion, of one partition's offset."""

    group: str
    place: Place
    number: int
    """Of a commit; NO_COMMIT of a deletion."""
    offset: Offset
    client: str
    sent: int
    member_id: str = ""
    generation: int = -1
    """Generation or member epoch that it was sent with; -1 of a client that is no member."""
    done: int | None = None
    is_acknowledged: bool = False
    is_refused: bool = False


@dataclass(frozen=True, slots=True)
class OffsetRead:
    """What a firm OffsetFetch said about a partition."""

    group: str
    place: Place
    number: int
    offset: Offset
    client: str
    sent: int
    done: int


@dataclass(frozen=True, slots=True)
class Joined:
    """A member of a classic group was told its generation."""

    group: str
    member_id: str
    generation: int
    asked: Asked


@dataclass(frozen=True, slots=True)
class Synced:
    """A member of a classic group was told its assignment."""

    group: str
    member_id: str
    instance_id: str | None
    generation: int
    assignment: str
    """The name that the leader gave to what it assigned to all members at once."""
    places: Sequence[PlaceNumber]
    asked: Asked

    @property
    def name(self) -> str:
        """Under which it is in the assignment: another member of the same instance id has its place."""
        return self.instance_id or self.member_id


@dataclass(frozen=True, slots=True)
class Beaten:
    """A member of a consumer group was told its epoch."""

    group: str
    member_id: str
    instance_id: str | None
    sent_epoch: int
    epoch: int
    asked: Asked


@dataclass(frozen=True, slots=True)
class Granted:
    """A member of a consumer group was told that it owns a partition."""

    group: str
    member_id: str
    place: PlaceNumber
    asked: Asked
    also_owned_by: Sequence[str]
    """The other members that had not given it up, and whose sessions were not over."""


@dataclass(frozen=True, slots=True)
class Left:
    """A member of a consumer group was told that it has left."""

    group: str
    member_id: str
    asked: Asked


@dataclass(slots=True)
class FinalState:
    """A member when the trial is nearly over."""

    group: str
    client: str
    words: str
    """What it waits for; "" if it is at rest."""
    generation: int
    """Of a classic group; -1 of a consumer group, whose members may be stable at different epochs."""
    places: Sequence[PlaceNumber]


Learned: TypeAlias = Joined | Synced | Beaten | Granted | Left


@dataclass
class Groups:
    """Grows while the trial runs."""

    writes: list[OffsetWrite] = field(default_factory=list)
    reads: list[OffsetRead] = field(default_factory=list)
    learned: list[Learned] = field(default_factory=list)
    """What members were told, in that order."""
    final: list[FinalState] = field(default_factory=list)
    meant: dict[str, int] = field(default_factory=dict)
    """How many members each group has in the end."""
    _ticks: int = 0
    # By group and partition, who owns it as far as it knows (the values mean nothing).
    _owners: dict[tuple[str, PlaceNumber], dict[str, None]] = field(default_factory=dict)
    # By group and member, until when its session lasts as far as it knows.
    _sessions: dict[tuple[str, str], int] = field(default_factory=dict)

    def tick(self) -> int:
        """The next tick."""
        self._ticks += 1
        return self._ticks

    def write(
        self, group: str, place: Place, offset: Offset, client: str, member_id: str = "", generation: int = -1
    ) -> OffsetWrite:
        """Returns a commit that is about to be sent; a deletion if the offset is NO_COMMIT."""
        number = NO_COMMIT if offset == NO_COMMIT else len(self.writes)
        write = OffsetWrite(group, place, number, offset, client, self.tick(), member_id, generation)
        self.writes.append(write)
        return write

    # --- the partitions of consumer groups

    def keep_session(self, group: str, member_id: str, until_ms: int) -> None:
        """A member's session lasts until then at least."""
        self._sessions[group, member_id] = until_ms

    def own(
        self, group: str, member_id: str, places: Iterable[PlaceNumber], asked: Asked, now_ms: int
    ) -> None:
        """A member was told that it owns these partitions, which it did not own before."""
        for place in places:
            owners = self._owners.setdefault((group, place), {})
            others = [
                one for one in owners if one != member_id and self._sessions.get((group, one), 0) > now_ms
            ]
            if asked.is_firm:
                owners[member_id] = None
            self.learned.append(Granted(group, member_id, place, asked, others))

    def give_up(self, group: str, member_id: str, places: Iterable[PlaceNumber]) -> None:
        """A member is about to say that it owns these partitions no longer."""
        for place in places:
            self._owners.get((group, place), {}).pop(member_id, None)


def assigned_in_turn(names: Sequence[str], places: Sequence[PlaceNumber]) -> Mapping[str, list[PlaceNumber]]:
    """The partitions, dealt out to members."""
    dealt: dict[str, list[PlaceNumber]] = {name: [] for name in names}
    for index, place in enumerate(places):
        dealt[names[index % len(names)]].append(place)
    return dealt


def encode_assignment(name: str, places: Sequence[PlaceNumber]) -> bytes:
    """An assignment as the members of a trial write it: brokers do not read it."""
    return ";".join([name, *(f"{topic}/{number}" for topic, number in places)]).encode()


def decode_assignment(assignment: bytes) -> tuple[str, list[PlaceNumber]]:
    """Its name and its partitions; none of an empty one."""
    name, *told = assignment.decode().split(";")
    return name, [(topic, int(number)) for topic, _, number in (each.partition("/") for each in told)]
