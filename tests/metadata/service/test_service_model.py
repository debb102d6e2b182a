"""A Hypothesis machine over clients, server and engine: restarts, deaths, pauses between any small steps."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from odradek.metadata.memory import MemoryTable
from odradek.metadata.remote_session import SessionState
from odradek.metadata.store import (
    Create,
    Created,
    Exists,
    Failed,
    Fault,
    Operation,
    Reconnected,
    SessionEnded,
    SessionOpened,
    StoreReplied,
    WatchFired,
)
from odradek.metadata.tree import TreeEngine
from tests.metadata.service.pipes import TIMEOUT_MS, Client, PipeWorld

WATCHED = "/watched"


class Holder:
    """What one client has done, and what it must hear."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.submitted: dict[int, Operation] = {}
        """Every operation by its number."""
        self.checked = 0
        """How many events `check` has seen."""
        self.last_replied = -1
        self.has_lost = False
        """Whether an answer was lost, and no `Reconnected` has come since."""
        self.refused: list[str] = []
        """Nodes whose creation the store has refused, because the session was over."""
        self.awaits_watch = False
        """Whether the watched node was missing, as far as is known, and the watch is armed."""

    def submit(self, operation: Operation) -> None:
        self.submitted[self.client.session.submit(operation)] = operation

    def check(self) -> None:
        """Hold the events that have come to the port's rules."""
        events, self.checked = self.client.heard[self.checked :], len(self.client.heard)
        for event in events:
            match event:
                case StoreReplied(call_id, result):
                    assert call_id > self.last_replied, "results come in order, each once"
                    self.last_replied = call_id
                    self._check_result(self.submitted[call_id], result)
                case Reconnected():
                    self.has_lost = self.awaits_watch = False
                case SessionEnded() | SessionOpened():
                    self.has_lost = self.awaits_watch = False
                case WatchFired(path):
                    assert path == WATCHED
                    assert self.awaits_watch, "a watch fires once"
                    self.awaits_watch = False

    def _check_result(self, operation: Operation, result: object) -> None:
        is_lost = isinstance(result, Failed) and result.fault is Fault.CONNECTION_LOSS
        assert is_lost or not self.has_lost, "Reconnected comes before any later result"
        self.has_lost = is_lost
        if isinstance(operation, Exists) and not is_lost and not isinstance(result, Failed):
            self.awaits_watch = True
        if isinstance(operation, Create) and isinstance(result, Failed) and not is_lost:
            assert result.fault is Fault.SESSION_EXPIRED, result
            self.refused.append(operation.path)


class ServiceMachine(RuleBasedStateMachine):
    """Three clients and a server that comes and goes over one engine."""

    def __init__(self) -> None:
        super().__init__()
        self.table = MemoryTable()
        self.world = PipeWorld(TreeEngine(self.table))
        self.holders: list[Holder] = []
        self.retired: list[Holder] = []
        self.names = 0
        for _ in range(3):
            self.join()

    def join(self) -> None:
        client = self.world.client()
        client.open()
        self.holders.append(Holder(client))

    def holder(self, which: int) -> Holder:
        return self.holders[which % len(self.holders)]

    @rule(which=st.integers(0, 2), ephemeral=st.booleans())
    def create(self, which: int, ephemeral: bool) -> None:
        holder = self.holder(which)
        if not holder.client.is_stopped:
            self.names += 1
            holder.submit(Create(f"/n{self.names}", ephemeral=ephemeral))

    @rule(which=st.integers(0, 2))
    def watch(self, which: int) -> None:
        holder = self.holder(which)
        has_one = any(
            isinstance(operation, Exists) and call_id > holder.last_replied
            for call_id, operation in holder.submitted.items()
        )
        if not holder.client.is_stopped and not holder.awaits_watch and not has_one:
            holder.submit(Exists(WATCHED, watch=True))

    @rule(choices=st.lists(st.integers(0, 20), min_size=1, max_size=30))
    def some_steps(self, choices: list[int]) -> None:
        for choice in choices:
            steps = self.world.steps()
            if steps:
                steps[choice % len(steps)]()

    @rule(by_ms=st.sampled_from([1, 100, 1_000, TIMEOUT_MS]))
    def time_passes(self, by_ms: int) -> None:
        for _ in range(0, by_ms, 100):
            self.world.tick(min(by_ms, 100))

    @rule()
    def all_of_it(self) -> None:
        self.world.settle()

    @rule(which=st.integers(0, 2))
    def stop_or_continue(self, which: int) -> None:
        client = self.holder(which).client
        client.is_stopped = not client.is_stopped

    @rule(which=st.integers(0, 2))
    def kill(self, which: int) -> None:
        holder = self.holder(which)
        self.world.kill(holder.client)
        self.holders.remove(holder)
        self.retired.append(holder)
        self.join()

    @precondition(lambda self: self.world.server is not None)
    @rule(at_once=st.booleans())
    def end_server(self, at_once: bool) -> None:
        self.world.end_server(at_once=at_once)
        self.world.engine = TreeEngine(self.table)

    @precondition(lambda self: self.world.server is None)
    @rule()
    def begin_server(self) -> None:
        self.world.serve()

    @rule(which=st.integers(0, 2))
    def open_again(self, which: int) -> None:
        client = self.holder(which).client
        if client.session.state is SessionState.IDLE and not client.is_stopped:
            client.open()

    @invariant()
    def events_follow_the_rules(self) -> None:
        for holder in (*self.holders, *self.retired):
            holder.check()

    @invariant()
    def nodes_live_with_their_sessions(self) -> None:
        alive = self.table.sessions()
        for path, (_, stat) in self.table.snapshot().items():
            assert not stat.owner or stat.owner in alive, f"{path} outlives its session"

    def teardown(self) -> None:
        """Everything runs again for long enough: then all sides agree on what is alive."""
        if self.world.server is None:
            self.world.serve()
        for holder in self.holders:
            holder.client.is_stopped = False
        self.world.advance(3 * TIMEOUT_MS, 100)
        self.events_follow_the_rules()
        for holder in self.holders:
            if holder.client.session.state is SessionState.IDLE:
                holder.client.open()
        self.world.advance(TIMEOUT_MS, 100)
        self.events_follow_the_rules()
        sessions = [holder.client.session for holder in self.holders]
        assert [session.state for session in sessions] == [SessionState.OPEN] * 3
        assert sorted(session.session_id or 0 for session in sessions) == self.table.sessions()
        assert [session.unanswered for session in sessions] == [0, 0, 0]
        for holder in (*self.holders, *self.retired):
            for path in holder.refused:
                assert self.table.get(path) is None, f"{path} was refused, and is there"
        waiting = [holder for holder in self.holders if holder.awaits_watch]
        result = self.world.engine.apply(sessions[0].session_id or 0, Create(WATCHED))
        assert result.result == Created(WATCHED)
        assert sorted(session for session, _ in result.events) == sorted(
            holder.client.session.session_id or 0 for holder in waiting
        ), "exactly those who wait for a watch have one"


TestService = pytest.mark.slow(ServiceMachine.TestCase)
TestService.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
