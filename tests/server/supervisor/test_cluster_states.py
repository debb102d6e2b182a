"""When the processes of a cluster are started, started again and stopped; in virtual time."""

from collections.abc import Callable

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from odradek.base.ids import BrokerId
from odradek.server.process.process_contract import EXIT_FAILED, EXIT_STOPPED_TWICE
from odradek.server.supervisor.cluster_states import (
    ASKED_MS,
    RESTART_MS_MAX,
    RESTART_MS_MIN,
    RETURN_MS,
    STEADY_MS,
    STOP_MS,
    ClusterStates,
    Effect,
    End,
    Exited,
    Kill,
    Serving,
    Spawn,
    StartFailed,
    Terminate,
    WillRestart,
)
from odradek.server.supervisor.process_states import LIVE, ProcessState

IDS = [1, 2, 3]
CRASH = Exited(-9)


def serving(alive: tuple[BrokerId, ...] = ()) -> ClusterStates:
    """A cluster of three brokers that all serve, at time 0."""
    cluster = ClusterStates(IDS)
    cluster.begin(alive, 0)
    for broker_id in IDS:
        cluster.on_ready(broker_id, 0)
    return cluster


def test_all_are_started_at_once_and_serve_when_the_last_one_is_ready() -> None:
    cluster = ClusterStates(IDS)
    assert cluster.begin((), 0) == [Spawn(1), Spawn(2), Spawn(3)]
    assert cluster.on_ready(3, 10) == []
    assert cluster.on_ready(1, 20) == []
    assert cluster.on_ready(2, 30) == [Serving()]


@pytest.mark.parametrize(("exited", "code"), [(Exited(2), 2), (Exited(1), 1), (CRASH, 1), (Exited(0), 1)])
def test_a_start_that_fails_stops_the_others_and_ends_with_its_code(exited: Exited, code: int) -> None:
    cluster = ClusterStates(IDS)
    cluster.begin((), 0)
    cluster.on_ready(1, 10)
    assert cluster.on_exited(2, exited, 20) == [StartFailed(2, exited), Terminate(1), Terminate(3)]
    assert cluster.on_exited(3, Exited(-15), 30) == []
    assert cluster.on_exited(1, Exited(0), 40) == [End(code)]
    assert cluster.wake_ms is None


def test_a_crash_is_followed_by_a_start_after_longer_and_longer_waits() -> None:
    cluster = serving()
    now_ms = 0
    delays = []
    for _ in range(8):
        (restart,) = cluster.on_exited(2, CRASH, now_ms)
        assert isinstance(restart, WillRestart)
        delays.append(restart.delay_ms)
        assert cluster.tick(now_ms + restart.delay_ms - 1) == []
        now_ms += restart.delay_ms
        assert cluster.tick(now_ms) == [Spawn(2)]
    assert delays == [1000, 2000, 4000, 8000, 16000, 30000, 30000, 30000]


def test_a_broker_that_is_restarted_by_hand_is_started_soon_however_often() -> None:
    """A rolling restart that is repeated within a minute: nothing has failed."""
    cluster = serving()
    cluster.on_exited(2, CRASH, 0)
    cluster.tick(RESTART_MS_MIN)
    cluster.on_ready(2, RESTART_MS_MIN)
    for now_ms in (5_000, 10_000, 15_000):
        assert cluster.on_exited(2, Exited(0), now_ms) == [WillRestart(2, Exited(0), RESTART_MS_MIN)]
        assert cluster.tick(now_ms + RESTART_MS_MIN) == [Spawn(2)]
        cluster.on_ready(2, now_ms + RESTART_MS_MIN)


def test_a_broker_that_has_served_for_a_minute_is_started_soon_again() -> None:
    cluster = serving()
    cluster.on_exited(2, CRASH, 0)
    cluster.tick(RESTART_MS_MIN)
    assert cluster.on_ready(2, 2000) == [], "that all serve is reported once"
    assert cluster.tick(2000 + STEADY_MS) == []
    assert cluster.on_exited(2, Exited(1), 70_000) == [WillRestart(2, Exited(1), RESTART_MS_MIN)]


def test_a_stop_asks_one_after_another_and_ends_when_the_last_has_ended() -> None:
    cluster = serving()
    assert cluster.on_stop([2, 3, 1], 0) == [Terminate(2)]
    assert cluster.on_exited(2, Exited(0), 10) == [Terminate(3)]
    assert cluster.on_exited(3, Exited(0), 20) == [Terminate(1)]
    assert cluster.on_exited(1, Exited(0), 30) == [End(0)]


def test_a_broker_that_stops_slowly_delays_the_next_one_only_for_its_share() -> None:
    cluster = serving()
    cluster.on_stop([1, 2, 3], 0)
    share_ms = ASKED_MS // 3
    assert cluster.wake_ms == share_ms
    assert cluster.tick(share_ms) == [Terminate(2)]
    assert cluster.on_exited(2, Exited(0), share_ms + 1) == [], "the first one still stops"
    assert cluster.tick(2 * share_ms) == [Terminate(3)]
    assert cluster.on_exited(3, Exited(0), 25_000) == []
    assert cluster.tick(STOP_MS - 1) == []
    assert cluster.tick(STOP_MS) == [Kill(1, is_overdue=True)]
    assert cluster.on_exited(1, CRASH, STOP_MS + 1) == [End(EXIT_FAILED)]


def test_a_broker_that_fails_while_it_stops_makes_the_stop_fail() -> None:
    cluster = serving()
    cluster.on_stop(IDS, 0)
    cluster.on_exited(1, Exited(1), 1)
    cluster.on_exited(2, Exited(0), 2)
    assert cluster.on_exited(3, Exited(0), 3) == [End(EXIT_FAILED)]


def test_a_crash_during_a_stop_is_not_followed_by_a_start() -> None:
    cluster = serving()
    cluster.on_stop(IDS, 0)
    assert cluster.on_exited(3, CRASH, 1) == []
    assert cluster.on_exited(1, Exited(0), 2) == [Terminate(2)]
    assert cluster.on_exited(2, Exited(0), 3) == [End(EXIT_FAILED)]


def test_a_stop_forgets_the_broker_that_waits_for_its_restart() -> None:
    cluster = serving()
    cluster.on_exited(1, CRASH, 0)
    assert cluster.on_stop(IDS, 10) == [Terminate(2)]
    assert cluster.tick(RESTART_MS_MAX) == [Terminate(3)], "only the share of broker 2 is over"


def test_a_second_signal_kills_all() -> None:
    cluster = serving()
    cluster.on_exited(3, CRASH, 0)
    cluster.on_stop(IDS, 0)
    assert cluster.on_stop(IDS, 1) == [Kill(1, is_overdue=False), Kill(2, is_overdue=False)]
    assert cluster.on_stop(IDS, 2) == []
    assert cluster.on_exited(1, CRASH, 3) == []
    assert cluster.on_exited(2, CRASH, 3) == [End(EXIT_STOPPED_TWICE)]


def test_a_stop_without_any_process_ends_at_once() -> None:
    cluster = serving()
    for broker_id in IDS:
        cluster.on_exited(broker_id, CRASH, 0)
    assert cluster.on_stop(IDS, 1) == [End(0)]
    assert cluster.on_stop(IDS, 2) == []


def test_a_stop_before_all_serve_asks_all_at_once() -> None:
    cluster = ClusterStates(IDS)
    cluster.begin((), 0)
    cluster.on_ready(1, 1)
    assert cluster.on_stop(IDS, 2) == [Terminate(1), Terminate(2), Terminate(3)]
    assert cluster.on_ready(2, 3) == [], "it said so before the signal came"
    for broker_id in (1, 2):
        cluster.on_exited(broker_id, Exited(0), 4)
    assert cluster.on_exited(3, Exited(-15), 5) == [End(0)], "it was ended before it had opened anything"


def test_a_supervisor_that_cannot_go_on_stops_the_brokers_and_fails() -> None:
    cluster = serving()
    assert cluster.on_stop(IDS, 0, has_failed=True) == [Terminate(1)]
    cluster.on_exited(1, Exited(0), 1)
    cluster.on_exited(2, Exited(0), 2)
    assert cluster.on_exited(3, Exited(0), 3) == [End(EXIT_FAILED)]


def test_processes_of_an_earlier_supervisor_are_not_started_again() -> None:
    cluster = ClusterStates(IDS)
    assert cluster.begin((1, 3), 0) == [Spawn(2)]
    assert cluster.on_ready(1, 1) == []
    assert cluster.on_ready(2, 2) == []
    assert cluster.on_ready(3, 3) == [Serving()]


def test_one_that_does_not_come_back_is_killed_and_started_anew() -> None:
    cluster = ClusterStates(IDS)
    cluster.begin(IDS, 0)
    cluster.on_ready(1, 1)
    cluster.on_ready(2, 1)
    assert cluster.tick(RETURN_MS) == [Kill(3, is_overdue=True)]
    assert cluster.on_ready(3, RETURN_MS) == [], "it comes back too late: SIGKILL is on its way"
    assert cluster.on_exited(3, CRASH, RETURN_MS + 1) == [WillRestart(3, CRASH, 0)]
    assert cluster.tick(RETURN_MS + 1) == [Spawn(3)]
    assert cluster.on_ready(3, RETURN_MS + 2) == [Serving()]


def test_with_a_process_found_a_start_that_fails_is_repeated() -> None:
    """The brokers that are found serve clients: they are not stopped because another one cannot start."""
    cluster = ClusterStates(IDS)
    cluster.begin((1, 2), 0)
    assert cluster.on_exited(3, Exited(2), 10) == [WillRestart(3, Exited(2), RESTART_MS_MIN)]


class AnyOrder(RuleBasedStateMachine):
    """Processes that end, serve and are signalled in any order: the invariants of the core hold."""

    def __init__(self) -> None:
        super().__init__()
        self.cluster = ClusterStates(IDS)
        self.now_ms = 0
        # The brokers that have a process, and those that were sent SIGKILL.
        self.processes: set[BrokerId] = set()
        self.killed: set[BrokerId] = set()
        self.terminated: list[BrokerId] = []
        self.end: End | None = None

    def carry_out(self, effects: list[Effect]) -> None:
        for effect in effects:
            assert self.end is None, "nothing follows the end"
            match effect:
                case Spawn(broker_id):
                    assert broker_id not in self.processes
                    assert not self.cluster.is_stopping
                    self.processes.add(broker_id)
                case Terminate(broker_id):
                    assert broker_id in self.processes
                    assert broker_id not in self.terminated
                    self.terminated.append(broker_id)
                case Kill(broker_id):
                    assert broker_id in self.processes
                    self.killed.add(broker_id)
                case End():
                    assert not self.processes
                    self.end = effect

    @initialize(alive=st.sets(st.sampled_from(IDS)))
    def begin(self, alive: set[BrokerId]) -> None:
        self.processes |= alive
        self.carry_out(self.cluster.begin(alive, 0))

    def pick(self, data: st.DataObject, of: Callable[[BrokerId], bool]) -> BrokerId | None:
        found = [one for one in sorted(self.processes) if of(one)]
        return data.draw(st.sampled_from(found)) if found else None

    @rule(data=st.data())
    def serves(self, data: st.DataObject) -> None:
        broker_id = self.pick(data, lambda one: True)
        if broker_id is not None:
            self.carry_out(self.cluster.on_ready(broker_id, self.now_ms))

    @rule(data=st.data(), code=st.sampled_from([None, 0, 1, 2, -9, -15]))
    def exits(self, data: st.DataObject, code: int | None) -> None:
        broker_id = self.pick(data, lambda one: True)
        if broker_id is not None:
            self.processes.remove(broker_id)
            self.killed.discard(broker_id)
            self.carry_out(self.cluster.on_exited(broker_id, Exited(code), self.now_ms))

    @rule(ms=st.integers(0, 50_000))
    def time_passes(self, ms: int) -> None:
        self.now_ms += ms
        self.carry_out(self.cluster.tick(self.now_ms))

    @rule()
    def wakes(self) -> None:
        if self.cluster.wake_ms is not None:
            self.now_ms = max(self.now_ms, self.cluster.wake_ms)
            self.carry_out(self.cluster.tick(self.now_ms))

    @precondition(lambda self: self.end is None)
    @rule(order=st.permutations(IDS), has_failed=st.booleans())
    def stop(self, order: list[BrokerId], has_failed: bool) -> None:
        self.carry_out(self.cluster.on_stop(order, self.now_ms, has_failed=has_failed))

    @invariant()
    def processes_are_as_the_core_has_them(self) -> None:
        live = {one for one in IDS if self.cluster.state_of(one) in LIVE}
        assert live == self.processes
        assert self.end is None or not live

    @invariant()
    def nothing_waits_without_a_time(self) -> None:
        """Each wait of the core itself has an end; other states wait for an event of a process."""
        for one in IDS:
            if self.cluster.state_of(one) in (
                ProcessState.WAITING,
                ProcessState.RETURNING,
                ProcessState.STOPPING,
            ):
                assert self.cluster.wake_ms is not None

    def teardown(self) -> None:
        """Whatever has happened, a stop ends, if processes end that are killed."""
        if self.end is None:
            self.carry_out(self.cluster.on_stop(IDS, self.now_ms))
        while self.end is None:
            if self.killed:
                broker_id = self.killed.pop()
                self.processes.remove(broker_id)
                self.carry_out(self.cluster.on_exited(broker_id, CRASH, self.now_ms))
            else:
                assert self.cluster.wake_ms is not None
                self.now_ms = max(self.now_ms, self.cluster.wake_ms)
                self.carry_out(self.cluster.tick(self.now_ms))


TestAnyOrder = AnyOrder.TestCase
TestAnyOrder.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
