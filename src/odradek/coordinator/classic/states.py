"""The states of a classic group, and what may happen in each: one table.

Invariant: `outcome` is called before anything is changed. An error as outcome refuses the event: nothing
changes. A state as outcome is the next state, perhaps the same one. A missing entry is a bug.

    Empty ─ joins ─► Preparing ─ all joined ─► Completing ─ assigned ─► Stable
      ▲               │    ▲                       │                      │
      └ nobody joined ┘    └─ a member came, changed, left or expired ────┘
"""

from collections.abc import Mapping
from enum import Enum
from typing import Final, TypeAlias

from odradek.base.error_codes import ErrorCode


class GroupState(Enum):
    """Where a group stands; the values are what Kafka's APIs show."""

    __hash__ = object.__hash__  # Enum's is written in Python, and slower

    EMPTY = "Empty"
    """No members; perhaps offsets."""
    PREPARING_REBALANCE = "PreparingRebalance"
    """Its members are asked to join again, or joined and wait for the others."""
    COMPLETING_REBALANCE = "CompletingRebalance"
    """All have joined; the group waits for the leader's assignment."""
    STABLE = "Stable"
    """Every member can fetch its assignment."""
    DEAD = "Dead"
    """Deleted, or coordinated elsewhere: this object is no longer the group."""


class GroupEvent(Enum):
    """What may happen to a group."""

    __hash__ = object.__hash__

    JOINS = "a new member joins, or one that brings something new"
    JOINS_AGAIN = "a follower joins again as it was"
    SYNCS = "a member asks for its assignment"
    HEARTBEAT = "a member says that it lives"
    COMMITS = "a member commits offsets"
    MEMBER_GONE = "a member left or expired"
    ALL_JOINED = "everybody who is to join has joined"
    NOBODY_JOINED = "everybody was to join, and nobody is left"
    ASSIGNED = "the leader's assignment is written"
    ASSIGNMENT_LOST = "the leader's assignment could not be written"
    CLOSED = "the group is deleted or moves to another broker"


NextGroupState: TypeAlias = GroupState | ErrorCode
"""The next state, or the error that refuses the event."""

_STATES: Final = tuple(GroupState)
_EMPTY, _PREPARING, _COMPLETING, _STABLE, _DEAD = _STATES
_UNKNOWN: Final = ErrorCode.UNKNOWN_MEMBER_ID
_REBALANCING: Final = ErrorCode.REBALANCE_IN_PROGRESS
_ELSEWHERE: Final = ErrorCode.COORDINATOR_NOT_AVAILABLE

_ROWS: Final[Mapping[GroupEvent, tuple[NextGroupState | None, ...]]] = {
    # in                         Empty        Preparing     Completing    Stable       Dead
    GroupEvent.JOINS:           (_PREPARING,  _PREPARING,   _PREPARING,   _PREPARING,  _ELSEWHERE),
    GroupEvent.JOINS_AGAIN:     (_UNKNOWN,    _PREPARING,   _COMPLETING,  _STABLE,     _ELSEWHERE),
    GroupEvent.SYNCS:           (_UNKNOWN,    _REBALANCING, _COMPLETING,  _STABLE,     _ELSEWHERE),
    GroupEvent.HEARTBEAT:       (_UNKNOWN,    _REBALANCING, _COMPLETING,  _STABLE,     _ELSEWHERE),
    GroupEvent.COMMITS:         (_UNKNOWN,    _PREPARING,   _REBALANCING, _STABLE,     _ELSEWHERE),
    GroupEvent.MEMBER_GONE:     (None,        _PREPARING,   _PREPARING,   _PREPARING,  None),
    GroupEvent.ALL_JOINED:      (None,        _COMPLETING,  None,         None,        None),
    GroupEvent.NOBODY_JOINED:   (None,        _EMPTY,       None,         None,        None),
    GroupEvent.ASSIGNED:        (None,        None,         _STABLE,      None,        None),
    GroupEvent.ASSIGNMENT_LOST: (None,        None,         _PREPARING,   None,        None),
    GroupEvent.CLOSED:          (_DEAD,       _DEAD,        _DEAD,        _DEAD,       _DEAD),
}  # fmt: skip

OUTCOMES: Final[Mapping[tuple[GroupState, GroupEvent], NextGroupState]] = {
    (state, event): outcome
    for event, row in _ROWS.items()
    for state, outcome in zip(_STATES, row, strict=True)
    if outcome is not None
}


def outcome(state: GroupState, event: GroupEvent) -> NextGroupState:
    """What comes of `event` in `state`."""
    found = OUTCOMES.get((state, event))
    assert found is not None, f"in a group that is {state.value}, it cannot be that {event.value}"
    return found
