"""The port as its users see it: one conformance suite over sessions of each engine."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from odradek.base.errors import OdradekError
from odradek.base.held_calls import HeldCalls
from odradek.metadata.embedded import EmbeddedEngine
from odradek.metadata.memory import MemoryStore, MemoryTable
from odradek.metadata.store import (
    Children,
    Create,
    Created,
    Data,
    Exists,
    Failed,
    Fault,
    GetChildren,
    GetData,
    NodeChange,
    Operation,
    ReadResults,
    Reads,
    SessionEnded,
    SessionOpened,
    StoreEngine,
    StoreEvent,
    StoreRefused,
    StoreReplied,
    StoreSteps,
    WatchFired,
    ensure,
    run_in_session,
)
from odradek.metadata.store_host import HostedSession, StoreHost
from odradek.metadata.tree import TableFailed, TreeEngine


class World:
    """A host whose calls run when the test says so."""

    def __init__(self, engine: StoreEngine) -> None:
        self.calls = HeldCalls()
        self.host = StoreHost(engine, self.calls)

    def run(self) -> None:
        self.calls.complete()

    def open(self) -> tuple[HostedSession, list[StoreEvent]]:
        """A session that is open, and its events from now on."""
        session, heard = self.host.session(), list[StoreEvent]()
        session.open(heard.append)
        self.run()
        assert heard == [SessionOpened(session.session_id)]
        heard.clear()
        return session, heard


@pytest.fixture(params=["memory", "embedded"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    engines: dict[str, Callable[[], StoreEngine]] = {
        "memory": lambda: TreeEngine(MemoryTable()),
        "embedded": lambda: EmbeddedEngine(tmp_path / "metadata.db"),
    }
    made = World(engines[request.param]())
    yield made
    made.host.close()
    made.run()


def results(heard: list[StoreEvent]) -> list[object]:
    return [event.result for event in heard if isinstance(event, StoreReplied)]


def test_submit_does_not_call_back(world: World) -> None:
    session, heard = world.open()
    assert [session.submit(Create("/a")), session.submit(Create("/b"))] == [0, 1]
    assert heard == []
    world.run()
    assert heard == [StoreReplied(0, Created("/a")), StoreReplied(1, Created("/b"))]


def test_events_come_before_the_result_that_fired_them(world: World) -> None:
    session, heard = world.open()
    session.submit(Exists("/a", watch=True))
    session.submit(Create("/a"))
    world.run()
    assert heard[1:] == [WatchFired("/a", NodeChange.CREATED), StoreReplied(1, Created("/a"))]


def test_results_come_in_the_order_of_submission_over_all_sessions(world: World) -> None:
    first, heard_first = world.open()
    second, heard_second = world.open()
    operations: list[tuple[HostedSession, Operation]] = [
        (first, Create("/a", b"1")),
        (second, GetData("/a")),
        (second, Create("/a/b")),
        (first, GetChildren("/a")),
    ]
    for session, operation in operations:
        session.submit(operation)
    world.run()
    assert results(heard_first) == [Created("/a"), Children(("b",))]
    data, made = results(heard_second)
    assert isinstance(data, Data)
    assert (data.data, made) == (b"1", Created("/a/b"))


def test_many_reads_are_one_call(world: World) -> None:
    session, heard = world.open()
    session.submit(Create("/a", b"x"))
    session.submit(Reads((GetData("/a"), GetData("/b"))))
    world.run()
    (_, reads) = results(heard)
    assert isinstance(reads, ReadResults)
    assert [type(result) for result in reads.results] == [Data, Failed]


def test_after_the_end_a_session_is_opened_again(world: World) -> None:
    """The holder of a session that expired goes on with the same object, under another number."""
    session, heard = world.open()
    ended = session.session_id
    session.submit(Create("/e", ephemeral=True))
    world.run()
    world.host.tell(world.host.engine.close_session(ended))
    assert heard[1:] == [SessionEnded()]
    session.submit(GetData("/e"))
    world.run()
    assert results(heard)[1:] == [Failed(Fault.SESSION_EXPIRED, "/e")]
    session.open(heard.append)
    world.run()
    assert heard[-1] == SessionOpened(session.session_id)
    assert session.session_id != ended
    call_id = session.submit(Create("/e", ephemeral=True))
    world.run()
    assert heard[-1:] == [StoreReplied(call_id, Created("/e"))]


def test_a_session_that_closes_hears_nothing_but_others_do(world: World) -> None:
    """A controller with work left when its broker stops: it must not report a broken disk."""
    leaving, heard_leaving = world.open()
    staying, heard_staying = world.open()
    leaving.submit(Create("/a", ephemeral=True))
    staying.submit(Exists("/a", watch=True))
    world.run()
    heard_leaving.clear()
    heard_staying.clear()
    leaving.submit(Create("/before"))
    leaving.close()
    leaving.submit(Create("/after"))
    world.run()
    assert heard_leaving == []
    assert heard_staying == [WatchFired("/a", NodeChange.DELETED)]
    staying.submit(GetChildren("/"))
    world.run()
    assert results(heard_staying) == [Children(("before",))]


def test_a_session_that_was_closed_before_it_was_open_does_not_stay(world: World) -> None:
    session, heard = world.host.session(), list[StoreEvent]()
    session.open(heard.append)
    session.close()
    world.run()
    assert heard == []


# --- one process in a session of its own


def wanted(path: str) -> StoreSteps[str]:
    yield from ensure("/a")
    found = yield GetData(path)
    if isinstance(found, Failed):
        raise StoreRefused(found)
    return "found"


def run(store: MemoryStore, path: str) -> list[str | OdradekError]:
    outcomes: list[str | OdradekError] = []
    run_in_session(store.session(), wanted(path), outcomes.append)
    assert outcomes == [], "no port calls back before it returns"
    return outcomes


def test_a_process_runs_in_a_session_that_ends_with_it() -> None:
    store = MemoryStore()
    outcomes = run(store, "/a")
    store.deliver()
    assert (outcomes, store.table.sessions()) == (["found"], [])


def test_a_process_that_gives_up_ends_its_session() -> None:
    store = MemoryStore()
    outcomes = run(store, "/b")
    store.deliver()
    (refused,) = outcomes
    assert isinstance(refused, StoreRefused)
    assert (refused.failed.path, store.table.sessions()) == ("/b", [])


def test_a_process_ends_with_its_session() -> None:
    store = MemoryStore()
    outcomes = run(store, "/a")
    store.deliver(at_most=1)
    store.expire(store.table.sessions()[0])
    store.deliver()
    (refused,) = outcomes
    assert isinstance(refused, StoreRefused)
    assert refused.failed.fault is Fault.SESSION_EXPIRED
    assert store.table.sessions() == []


def test_a_process_whose_session_cannot_be_opened_does_not_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()

    def fails() -> int:
        raise TableFailed("disk I/O error")

    monkeypatch.setattr(store.engine, "open_session", fails)
    outcomes = run(store, "/a")
    store.deliver()
    (refused,) = outcomes
    assert isinstance(refused, StoreRefused)
    assert str(refused) == "/: no session with the metadata store"
