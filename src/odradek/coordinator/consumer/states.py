"""The states of consumer groups and of their members, and what may happen in each: tables.

Invariant: a member changes state only by `next_state`; a group's state follows from its epochs and members
and is never stored. A missing entry is a bug.

A member goes from one target assignment to the next:

    Stable ── has to give back ──► UnrevokedPartitions ── has given back ──┐
      ▲                                                                     ▼
      └── has everything ── UnreleasedPartitions ◄── others have not revoked yet
"""

from collections.abc import Mapping
from enum import Enum, IntEnum
from typing import Final


class MemberState(IntEnum):
    """A member's progress towards its target; the numbers are those in the log."""

    STABLE = 0
    """It has its whole target, as of its epoch."""
    UNREVOKED_PARTITIONS = 1
    """It was asked to give partitions back and has not confirmed it; its epoch waits for that."""
    UNRELEASED_PARTITIONS = 2
    """It is at the target's epoch, and some of its target is still with former owners."""


class MemberEvent(Enum):
    """The events of heartbeats and deadlines."""

    NOTHING_NEW = "it has what it is to have"
    MUST_REVOKE = "it has partitions that it is not to have any more"
    STILL_OWNS = "it has not given back what it was told to"
    MUST_WAIT = "some of what it is to have is still with others"
    HAS_ALL = "it gets everything that it is to have"


_MEMBER_STATES: Final = tuple(MemberState)
_STABLE, _UNREVOKED, _UNRELEASED = _MEMBER_STATES

_ROWS: Final[Mapping[MemberEvent, tuple[MemberState | None, ...]]] = {
    # in                       Stable        Unrevoked    Unreleased
    MemberEvent.NOTHING_NEW:  (_STABLE,      None,        None),
    MemberEvent.MUST_REVOKE:  (_UNREVOKED,   _UNREVOKED,  _UNREVOKED),
    MemberEvent.STILL_OWNS:   (None,         _UNREVOKED,  None),
    MemberEvent.MUST_WAIT:    (_UNRELEASED,  _UNRELEASED, _UNRELEASED),
    MemberEvent.HAS_ALL:      (_STABLE,      _STABLE,     _STABLE),
}  # fmt: skip

NEXT_STATES: Final[Mapping[tuple[MemberState, MemberEvent], MemberState]] = {
    (state, event): following
    for event, row in _ROWS.items()
    for state, following in zip(_MEMBER_STATES, row, strict=True)
    if following is not None
}


def next_state(state: MemberState, event: MemberEvent) -> MemberState:
    """Returns the member's state after `event`."""
    found = NEXT_STATES.get((state, event))
    assert found is not None, f"a member in {state.name} cannot find that {event.value}"
    return found


class GroupState(Enum):
    """Where a group stands; the values are what Kafka's APIs show."""

    EMPTY = "Empty"
    """No members; perhaps offsets."""
    ASSIGNING = "Assigning"
    """Something has changed since the target was computed; the next heartbeat computes another."""
    RECONCILING = "Reconciling"
    """Members are on their way to the target."""
    STABLE = "Stable"
    """Every member has its target assignment."""
    DEAD = "Dead"
    """Deleted, or coordinated elsewhere."""
