"""The one owner of the session with the metadata store: results to callers, events to every user."""

from collections.abc import Callable

from odradek.base.clock import ManualClock
from odradek.base.error_codes import ErrorCode
from odradek.metadata.memory import MemoryStore
from odradek.metadata.store import (
    Create,
    Created,
    Exists,
    Failed,
    Fault,
    GetChildren,
    Multi,
    NodeChange,
    Operation,
    Reconnected,
    Result,
    SessionEnded,
    SessionOpened,
    WatchFired,
)
from odradek.metadata.tree import TableFailed
from odradek.server.node.store_session import REOPENING_MS, SessionEvent, StoreSession
from odradek.testing.sim import SimNode, World
from odradek.timer import Timer
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest


class User:
    """Notes what it gets; on each event it may do something."""

    def __init__(self, session: StoreSession) -> None:
        self.session = session
        self.events: list[SessionEvent] = []
        self.results: list[Result] = []
        self.then: Callable[[SessionEvent], None] = lambda event: None
        session.join(self)

    def on_session_event(self, event: SessionEvent) -> None:
        self.events.append(event)
        self.then(event)

    def submit(self, operation: Operation) -> None:
        self.session.submit(operation, self.results.append)


class Bench:
    def __init__(self) -> None:
        self.clock = ManualClock()
        self.store = MemoryStore(now_ms=self.clock.monotonic_ms)
        self.port = self.store.session()
        self.timer = Timer(self.clock)
        self.session = StoreSession(self.port, self.timer)
        self.one, self.two = User(self.session), User(self.session)
        self.session.open()
        self.store.deliver()


def test_each_caller_gets_its_own_result_and_every_user_the_events() -> None:
    bench = Bench()
    bench.one.submit(Exists("/a", watch=True))
    bench.two.submit(Create("/a"))
    assert (bench.one.results, bench.two.results) == ([], []), "no port calls back before it returns"
    bench.store.deliver()
    assert len(bench.one.results) == 1
    assert bench.two.results == [Created("/a")]
    assert bench.one.events == bench.two.events == [SessionOpened(1), WatchFired("/a", NodeChange.CREATED)]


def test_after_a_lost_reply_every_user_is_told_to_read_again() -> None:
    """The caller gets to know that the outcome is unknown; watches are gone, and armed again they work."""
    bench = Bench()
    bench.one.submit(GetChildren("/", watch=True))
    bench.store.deliver()
    bench.two.then = lambda event: (
        bench.two.submit(Exists("/a", watch=True)) if event == Reconnected() else None
    )
    bench.port.lose_connection(executed=True)
    bench.one.submit(Create("/lost"))
    bench.store.deliver()
    assert bench.one.results[-1] == Failed(Fault.CONNECTION_LOSS, "/lost")
    assert [user.events[-1] for user in (bench.one, bench.two)] == [Reconnected(), Reconnected()]
    bench.one.submit(Create("/a"))
    bench.store.deliver()
    assert bench.two.events[-1] == WatchFired("/a", NodeChange.CREATED)


def test_no_result_of_a_session_comes_after_its_end() -> None:
    bench = Bench()
    bench.one.submit(Create("/a"))
    bench.port.expire()
    bench.store.deliver()
    assert bench.one.results == []
    assert bench.one.events == [SessionOpened(1), SessionEnded(), SessionOpened(2)]
    bench.one.submit(Create("/a"))
    bench.store.deliver()
    assert bench.one.results == [Created("/a")]


def test_what_is_submitted_between_two_sessions_is_refused() -> None:
    bench = Bench()
    bench.one.then = lambda event: bench.one.submit(Create("/a")) if event == SessionEnded() else None
    bench.port.expire()
    bench.store.deliver()
    assert bench.one.results == [Failed(Fault.SESSION_EXPIRED, "/a")]


def test_a_user_that_has_left_gets_nothing_more() -> None:
    bench = Bench()
    bench.one.then = lambda event: bench.session.leave(bench.two)
    bench.port.expire()
    bench.port.report_next()
    assert (bench.one.events, bench.two.events) == ([SessionOpened(1), SessionEnded()], [SessionOpened(1)])


def test_nothing_reaches_anybody_after_the_session_is_closed() -> None:
    bench = Bench()
    ephemeral = Create("/mine", ephemeral=True)
    bench.one.submit(ephemeral)
    bench.store.deliver()
    bench.two.submit(GetChildren("/", watch=True))
    bench.two.submit(Create("/a"))
    bench.session.close()
    bench.store.deliver()
    assert bench.two.results == []
    assert bench.one.events == bench.two.events == [SessionOpened(1)]
    assert "/mine" not in bench.store.table.snapshot()


def test_a_session_closed_by_a_user_at_its_end_is_not_opened_again() -> None:
    bench = Bench()
    bench.one.then = lambda event: bench.session.close() if event == SessionEnded() else None
    bench.port.expire()
    bench.store.deliver()
    bench.timer.clock.advance(2 * REOPENING_MS)  # type: ignore[attr-defined]
    bench.timer.advance()
    bench.store.deliver()
    assert bench.store.table.sessions() == []


# --- whether there is a session


def test_a_session_is_lost_some_time_after_its_connection() -> None:
    """ZooKeeper alone ends its sessions: while it is away there is no event."""
    bench = Bench()
    assert (bench.session.is_connected, bench.session.is_lost(10)) == (True, False)
    bench.port.is_cut = True
    bench.clock.advance(9)
    assert (bench.session.is_connected, bench.session.is_lost(10)) == (False, False)
    bench.clock.advance(1)
    assert (bench.session.is_connected, bench.session.is_lost(10)) == (False, True)
    bench.port.is_cut = False
    assert (bench.session.is_connected, bench.session.is_lost(10)) == (True, False)
    assert bench.session.ended == 0


def test_ended_sessions_are_counted_and_attempts_are_not() -> None:
    bench = Bench()
    seen: list[tuple[bool, bool]] = []
    bench.one.then = lambda event: seen.append((bench.session.is_connected, bench.session.is_lost(1_000)))
    bench.store.engine.open_session = _full  # type: ignore[method-assign]
    bench.port.expire()
    bench.store.deliver()
    assert bench.one.events == [SessionOpened(1), SessionEnded(), SessionEnded()]
    assert seen == [(False, True), (False, True)]
    assert bench.session.ended == 1


def _full(lease: bytes = b"") -> int:
    raise TableFailed("the disk is full")


# --- a whole broker behind it


def create(node: SimNode, name: str) -> list[int]:
    """Ask for a topic; its error codes so far."""
    sent = node.send(CreateTopicsRequest([CreatableTopic(name, 3, 1)], timeout_ms=5_000))
    node.world.settle()
    return [topic.error_code for answer in sent.answers for topic in answer.topics]


def test_a_broker_goes_on_after_the_reply_to_any_of_its_writes_is_lost() -> None:
    """Whatever was done or not: it reads again, and the next topic is made."""
    for number in range(4):
        node = World(number).node(1)
        node.session.lose_answer(lambda operation: isinstance(operation, Multi), executed=number % 2 == 0)
        create(node, "first")
        assert create(node, "second") == [ErrorCode.NONE]
        assert "second" in node.core.image.topics


def test_a_session_that_ends_in_the_middle_of_a_decision_refuses_it_and_joins_anew() -> None:
    """R16: the request is answered once, and the next registration has a broker epoch of its own."""
    for steps in range(1, 30):
        world = World(3)
        node = world.node(1)
        epoch = node.core.controller.registered_epoch
        sent = node.send(CreateTopicsRequest([CreatableTopic("t", 3, 1)], timeout_ms=5_000))
        for _ in range(steps):
            world.step()
        node.session.expire()
        world.advance(10_000)
        assert len(sent.answers) == 1, f"after {steps} steps"
        assert node.core.controller.is_active
        assert node.core.broker_epoch == node.core.controller.registered_epoch > epoch
        assert create(node, "u") == [ErrorCode.NONE]


def test_of_two_brokers_the_one_whose_session_ended_comes_back() -> None:
    world = World()
    one, two = world.node(1), world.node(2)
    one.session.expire()
    world.settle()
    assert (one.core.controller.is_active, two.core.controller.is_active) == (False, True)
    assert list(two.core.image.brokers) == [2, 1]
    assert not one.failures + two.failures
    assert one.core.broker_epoch == one.core.controller.registered_epoch


def test_events_for_a_dead_broker_reach_nobody() -> None:
    world = World()
    one, two = world.node(1), world.node(2)
    two.node.life.end()
    two.session.expire()
    world.settle()
    assert list(one.core.image.brokers) == [1]
    assert world.open_sessions() == [one.session.session_id], "the dead open no session"
