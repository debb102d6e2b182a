"""The states of a broker's process, and what may happen in each: one table.

Invariant: a state is entered with its action, and with nothing else. Entering STARTING starts a process,
entering STOPPING sends SIGTERM, entering REPLACED or KILLED sends SIGKILL. A missing entry is a bug.

    (none) ─ launched ─► STARTING ─ ready ─► RUNNING ─ exited ─► WAITING ─ due ─► STARTING
    (none) ─ found ────► RETURNING ─ ready ─► RUNNING
                         RETURNING ─ due ─► REPLACED ─ exited ─► WAITING

    any of them ─ stop ─► STOPPING ─ exited ─► ENDED
"""

from collections.abc import Mapping
from enum import Enum
from typing import Final


class ProcessState(Enum):
    """Where the process of one broker is."""

    STARTING = "it has not said yet that it serves clients"
    RETURNING = "an earlier supervisor started it; it has not come back to the metadata store yet"
    RUNNING = "it serves clients"
    WAITING = "it has ended; it is started again when its time has come"
    REPLACED = "it has not come back in time, and was killed; it is started again when it has ended"
    STOPPING = "it was asked to stop"
    KILLED = "its end is awaited, and it is not started again"
    ENDED = "there is no process, and none will be started"


class ProcessEvent(Enum):
    """What may happen to the process of one broker."""

    LAUNCHED = "the cluster begins, and the broker has no process"
    FOUND = "the cluster begins, and the broker's process lives"
    READY = "it serves clients"
    EXITED = "it has ended, or could not be started"
    DUE = "the time of its state is over"
    STOP = "the cluster stops, and it is this broker's turn"
    KILL = "the cluster ends at once"


_STATES: Final = tuple(ProcessState)
_STARTING, _RETURNING, _RUNNING, _WAITING, _REPLACED, _STOPPING, _KILLED, _ENDED = _STATES

_E: Final = ProcessEvent
_ROWS: Final[Mapping[ProcessEvent, tuple[ProcessState | None, ...]]] = {
    # in          Starting   Returning  Running    Waiting    Replaced   Stopping   Killed   Ended
    _E.LAUNCHED: (None,      None,      None,      None,      None,      None,      None,    _STARTING),
    _E.FOUND:    (None,      None,      None,      None,      None,      None,      None,    _RETURNING),
    _E.READY:    (_RUNNING,  _RUNNING,  _RUNNING,  None,      _REPLACED, _STOPPING, _KILLED, None),
    _E.EXITED:   (_WAITING,  _WAITING,  _WAITING,  None,      _WAITING,  _ENDED,    _ENDED,  None),
    _E.DUE:      (None,      _REPLACED, _RUNNING,  _STARTING, None,      _KILLED,   None,    None),
    _E.STOP:     (_STOPPING, _STOPPING, _STOPPING, _ENDED,    _KILLED,   _STOPPING, _KILLED, _ENDED),
    _E.KILL:     (_KILLED,   _KILLED,   _KILLED,   _ENDED,    _KILLED,   _KILLED,   _KILLED, _ENDED),
}  # fmt: skip

NEXT_STATES: Final[Mapping[tuple[ProcessState, ProcessEvent], ProcessState]] = {
    (state, event): following
    for event, row in _ROWS.items()
    for state, following in zip(_STATES, row, strict=True)
    if following is not None
}

LIVE: Final = frozenset({_STARTING, _RETURNING, _RUNNING, _REPLACED, _STOPPING, _KILLED})
"""The states in which the broker has a process."""
