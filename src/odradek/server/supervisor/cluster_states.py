"""When the processes of a cluster are started, started again and stopped, without I/O.

    phase      ends when                                     a process that ends by itself meanwhile
    ---------  --------------------------------------------  ---------------------------------------------
    STARTING   all brokers serve: Serving                    nobody was served yet: StartFailed, all stop
    SERVING    a signal, or the store cannot go on           WillRestart: 1, 2, 4, ... 30 s later; always 1 s
                                                             later where SIGTERM has stopped it
    STOPPING   no process is left: End                       is not started again

A cluster that finds a process of an earlier supervisor is SERVING at once: somebody is served.

    stop    one broker after another, so that each can hand over its leaderships to those that still run; the
            next one is asked when the one before has ended, or has had its share of ASKED_MS
            after STOP_MS, what is left is killed; its logs are verified at the next start
    second  all processes are killed: exit code 130

Invariants: a broker has at most one process; no process is started once the cluster stops; `End` is the last
effect, and no process is left then. `process_states` is the table of a single process.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, TypeAlias

from odradek.base.ids import BrokerId
from odradek.base.values import value
from odradek.server.process.process_contract import EXIT_FAILED, EXIT_STOPPED_TWICE
from odradek.server.supervisor.process_states import LIVE, NEXT_STATES, ProcessEvent, ProcessState

RESTART_MS_MIN: Final = 1_000
RESTART_MS_MAX: Final = 30_000
STEADY_MS: Final = 60_000
"""A process that has served this long is started again after RESTART_MS_MIN."""
RETURN_MS: Final = 15_000
"""How long a process of an earlier supervisor may take to come back to the metadata store, by default: its
session there has ended by then."""
ASKED_MS: Final = 30_000
"""Within this time all brokers are asked to stop, each with the same share to stop alone."""
STOP_MS: Final = 120_000
"""How long a stop takes at most, before what is left is killed."""

_CLEAN_CODES: Final = (0, -15, None)
"""How a process ends that was asked to stop: -15 before it has opened anything, None if it is not known."""


@value
class Exited:
    """How a process has ended."""

    code: int | None
    """Its exit code, the negative number of the signal that ended it, or None if it is not known."""
    reason: str = ""
    """Why it could not be started, in words."""


@value
class Spawn:
    """Start a process for this broker, which has none."""

    broker_id: BrokerId


@value
class Terminate:
    """Send SIGTERM."""

    broker_id: BrokerId


@value
class Kill:
    """Send SIGKILL."""

    broker_id: BrokerId
    is_overdue: bool
    """Whether it has used up its time; else a second signal wants it."""


@value
class WillRestart:
    """Report that a process has ended, and that another one will be started."""

    broker_id: BrokerId
    exited: Exited
    delay_ms: int


@value
class StartFailed:
    """Report that the cluster cannot start, because of this broker."""

    broker_id: BrokerId
    exited: Exited


@value
class Serving:
    """Report that all brokers serve, for the first time."""


@value
class End:
    """Close the store and end the supervisor: no process is left."""

    code: int


Effect: TypeAlias = Spawn | Terminate | Kill | WillRestart | StartFailed | Serving | End

_STOPPING: Final = (ProcessState.STOPPING, ProcessState.KILLED)
_DOUBLINGS_MAX: Final = 16


class Phase(Enum):
    """Where the cluster is."""

    STARTING = auto()
    SERVING = auto()
    STOPPING = auto()


@dataclass(slots=True)
class _Process:
    """The process of one broker."""

    state: ProcessState = ProcessState.ENDED
    due_ms: int | None = None
    """When the time of its state is over; None if that does not end by itself."""
    failures: int = 0
    """How often it has ended by itself since it last served for STEADY_MS."""


class ClusterStates:
    """The processes of one cluster. Each method returns the effects, to be carried out in order.

    Times are those of a monotonic clock, in milliseconds.
    """

    def __init__(self, broker_ids: Iterable[BrokerId], return_ms: int = RETURN_MS) -> None:
        """`return_ms` is how long a process that is found may take to come back to the metadata store."""
        self._return_ms = return_ms
        self._processes = {broker_id: _Process() for broker_id in broker_ids}
        self._phase = Phase.STARTING
        # Whether `Serving` was returned.
        self._has_served = False
        # While STOPPING: those that are still to be asked, the next one first.
        self._to_stop: list[BrokerId] = []
        # While some are to be asked: when the next one is, though the one before has not ended.
        self._ask_ms: int | None = None
        # While STOPPING: when what is left is killed.
        self._stop_ms = 0
        # The supervisor's exit code.
        self._code = 0
        self._has_ended = False

    @property
    def is_stopping(self) -> bool:
        """Whether brokers are stopped, or have been."""
        return self._phase is Phase.STOPPING

    @property
    def wake_ms(self) -> int | None:
        """When `tick` has to be called; None while only other events matter."""
        times = [one.due_ms for one in self._processes.values() if one.due_ms is not None]
        if self._ask_ms is not None:
            times.append(self._ask_ms)
        return min(times, default=None)

    def state_of(self, broker_id: BrokerId) -> ProcessState:
        """Where a broker's process is."""
        return self._processes[broker_id].state

    def begin(self, alive: Iterable[BrokerId], now_ms: int) -> list[Effect]:
        """Begin a cluster of which these brokers have processes, which an earlier supervisor has started."""
        found = frozenset(alive)
        if found:
            self._phase = Phase.SERVING
        effects: list[Effect] = []
        for broker_id in self._processes:
            event = ProcessEvent.FOUND if broker_id in found else ProcessEvent.LAUNCHED
            effects += self._step(broker_id, event, now_ms)
        return effects

    def on_ready(self, broker_id: BrokerId, now_ms: int) -> list[Effect]:
        """A broker's process serves: it has said so, or has come back to the store."""
        effects = self._step(broker_id, ProcessEvent.READY, now_ms)
        if self._phase is Phase.STOPPING or self._has_served:
            return effects
        if all(one.state is ProcessState.RUNNING for one in self._processes.values()):
            self._phase = Phase.SERVING
            self._has_served = True
            effects.append(Serving())
        return effects

    def on_exited(self, broker_id: BrokerId, exited: Exited, now_ms: int) -> list[Effect]:
        """A broker's process has ended, or could not be started."""
        before = self._processes[broker_id].state
        if exited.code == 0 and before is ProcessState.RUNNING:
            self._processes[broker_id].failures = 0  # somebody has stopped it, to have it started again
        effects = self._step(broker_id, ProcessEvent.EXITED, now_ms)
        if self._phase is Phase.STARTING:
            self._code = exited.code if exited.code is not None and exited.code > 0 else EXIT_FAILED
            effects.append(StartFailed(broker_id, exited))
            return effects + self._stop(list(self._processes), now_ms, together=True)
        if self._phase is Phase.STOPPING:
            if before is ProcessState.KILLED or exited.code not in _CLEAN_CODES:
                self._code = self._code or EXIT_FAILED
            effects += self._step(broker_id, ProcessEvent.STOP, now_ms)
            return effects + self._ask_next(now_ms)
        due_ms = self._processes[broker_id].due_ms
        assert due_ms is not None, "a wait has an end"
        return [*effects, WillRestart(broker_id, exited, due_ms - now_ms)]

    def on_stop(self, order: Sequence[BrokerId], now_ms: int, *, has_failed: bool = False) -> list[Effect]:
        """Stop the brokers in this order, which names all of them; a second call kills all processes.

        With `has_failed` the supervisor itself cannot go on.
        """
        if self._phase is not Phase.STOPPING:
            self._code = EXIT_FAILED if has_failed else 0
            return self._stop(order, now_ms, together=self._phase is Phase.STARTING)
        self._code = EXIT_STOPPED_TWICE
        self._to_stop, self._ask_ms = [], None
        effects: list[Effect] = []
        for broker_id in self._processes:
            effects += self._step(broker_id, ProcessEvent.KILL, now_ms)
        return effects + self._end()

    def tick(self, now_ms: int) -> list[Effect]:
        """Do what has become due."""
        effects: list[Effect] = []
        for broker_id, process in self._processes.items():
            if process.due_ms is not None and process.due_ms <= now_ms:
                effects += self._step(broker_id, ProcessEvent.DUE, now_ms)
        if self._ask_ms is not None and self._ask_ms <= now_ms:
            effects += self._ask_next(now_ms, is_due=True)
        return effects

    def _stop(self, order: Sequence[BrokerId], now_ms: int, *, together: bool) -> list[Effect]:
        """Begin to stop: the brokers together, or one after another."""
        assert sorted(order) == sorted(self._processes), "a stop names all brokers"
        self._phase = Phase.STOPPING
        self._stop_ms = now_ms + STOP_MS
        effects: list[Effect] = []
        for broker_id in order:
            if together or self._processes[broker_id].state not in LIVE:
                effects += self._step(broker_id, ProcessEvent.STOP, now_ms)
            else:
                self._to_stop.append(broker_id)
        return effects + self._ask_next(now_ms)

    def _ask_next(self, now_ms: int, *, is_due: bool = False) -> list[Effect]:
        """Ask the next broker to stop, if the one before has ended or `is_due`; end when none is left."""
        effects: list[Effect] = []
        self._to_stop = [one for one in self._to_stop if self._processes[one].state in LIVE]
        if is_due or not any(one.state in _STOPPING for one in self._processes.values()):
            self._ask_ms = None
            if self._to_stop:
                effects += self._step(self._to_stop.pop(0), ProcessEvent.STOP, now_ms)
                self._ask_ms = now_ms + ASKED_MS // len(self._processes)
        if not self._to_stop:
            self._ask_ms = None
        return effects + self._end()

    def _end(self) -> list[Effect]:
        if self._has_ended or any(one.state in LIVE for one in self._processes.values()):
            return []
        self._has_ended = True
        return [End(self._code)]

    def _step(self, broker_id: BrokerId, event: ProcessEvent, now_ms: int) -> list[Effect]:
        """Take one step of the table; entering a state has its effect, and sets how long it lasts."""
        process = self._processes[broker_id]
        before, following = process.state, NEXT_STATES[process.state, event]
        if following is before:
            if event is ProcessEvent.DUE:  # it has served for STEADY_MS
                process.failures, process.due_ms = 0, None
            return []
        process.state, process.due_ms = following, None
        match following:
            case ProcessState.STARTING:
                return [Spawn(broker_id)]
            case ProcessState.RETURNING:
                process.due_ms = now_ms + self._return_ms
            case ProcessState.RUNNING:
                process.due_ms = now_ms + STEADY_MS
            case ProcessState.WAITING if before is ProcessState.REPLACED:
                process.due_ms = now_ms
            case ProcessState.WAITING:
                doubled = min(process.failures, _DOUBLINGS_MAX)
                process.due_ms = now_ms + min(RESTART_MS_MIN << doubled, RESTART_MS_MAX)
                process.failures += 1
            case ProcessState.STOPPING:
                process.due_ms = self._stop_ms
                return [Terminate(broker_id)]
            case ProcessState.REPLACED | ProcessState.KILLED:
                return [Kill(broker_id, is_overdue=event is ProcessEvent.DUE)]
        return []
