"""The port as its users see it: one conformance suite over sessions of each engine."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.base.errors import OdradekError
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
    MetadataStore,
    NodeChange,
    Operation,
    ReadResults,
    Reads,
    SessionEnded,
    SessionOpened,
    StoreEvent,
    StoreRefused,
    StoreReplied,
    StoreSteps,
    WatchFired,
    ensure,
    run_in_session,
)
from odradek.metadata.tree import TableFailed, TreeEngine
from tests.metadata.session_worlds import HostWorld, ServedWorld, SessionWorld, opened
from tests.server.process.socket_worlds import SocketWorld
from tests.server.process.zookeeper_worlds import ZooKeeperWorld, server_or_skip


def in_memory(folder: Path) -> SessionWorld:
    return HostWorld(TreeEngine(MemoryTable()))


def in_a_file(folder: Path) -> SessionWorld:
    return HostWorld(EmbeddedEngine(folder / "metadata.db"))


def served_from_memory(folder: Path) -> SessionWorld:
    return ServedWorld(TreeEngine(MemoryTable()))


def served_from_a_file(folder: Path) -> SessionWorld:
    return ServedWorld(EmbeddedEngine(folder / "metadata.db", keeps_sessions=True))


def served_over_a_socket(folder: Path) -> SessionWorld:
    return SocketWorld(folder / "metadata.db")


def in_zookeeper(folder: Path) -> SessionWorld:
    return ZooKeeperWorld(server_or_skip())


WORLDS = [
    in_memory,
    in_a_file,
    served_from_memory,
    served_from_a_file,
    served_over_a_socket,
    pytest.param(in_zookeeper, marks=pytest.mark.slow),
]


@pytest.fixture(params=WORLDS, ids=lambda make: make.__name__)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SessionWorld]:
    made: SessionWorld = request.param(tmp_path)
    yield made
    made.close()


def results(heard: list[StoreEvent]) -> list[object]:
    return [event.result for event in heard if isinstance(event, StoreReplied)]


def test_submit_does_not_call_back(world: SessionWorld) -> None:
    session, heard, _ = opened(world)
    assert [session.submit(Create("/a")), session.submit(Create("/b"))] == [0, 1]
    assert heard == []
    world.run()
    assert heard == [StoreReplied(0, Created("/a")), StoreReplied(1, Created("/b"))]


def test_events_come_before_the_result_that_fired_them(world: SessionWorld) -> None:
    session, heard, _ = opened(world)
    session.submit(Exists("/a", watch=True))
    session.submit(Create("/a"))
    world.run()
    assert heard[1:] == [WatchFired("/a", NodeChange.CREATED), StoreReplied(1, Created("/a"))]


@pytest.mark.parametrize("world", [in_memory, in_a_file], indirect=True)
def test_results_come_in_the_order_of_submission_over_all_sessions(world: SessionWorld) -> None:
    """In one process; nothing orders what several processes submit."""
    first, heard_first, _ = opened(world)
    second, heard_second, _ = opened(world)
    operations: list[tuple[MetadataStore, Operation]] = [
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


def test_many_reads_are_one_call(world: SessionWorld) -> None:
    session, heard, _ = opened(world)
    session.submit(Create("/a", b"x"))
    session.submit(Reads((GetData("/a"), GetData("/b"))))
    world.run()
    (_, reads) = results(heard)
    assert isinstance(reads, ReadResults)
    assert [type(result) for result in reads.results] == [Data, Failed]


def test_after_the_end_a_session_is_opened_again(world: SessionWorld) -> None:
    """The holder of a session that expired goes on with the same object, under another number."""
    session, heard, ended = opened(world)
    session.submit(Create("/e", ephemeral=True))
    world.run()
    world.expire(ended)
    assert heard[1:] == [SessionEnded()]
    session.submit(GetData("/e"))
    world.run()
    assert results(heard)[1:] == [Failed(Fault.SESSION_EXPIRED, "/e")]
    session.open(heard.append)
    world.run()
    again = heard[-1]
    assert isinstance(again, SessionOpened)
    assert again.session_id != ended
    call_id = session.submit(Create("/e", ephemeral=True))
    world.run()
    assert heard[-1:] == [StoreReplied(call_id, Created("/e"))]


def test_a_session_that_closes_hears_nothing_but_others_do(world: SessionWorld) -> None:
    """A controller with work left when its broker stops: it must not report a broken disk."""
    leaving, heard_leaving, _ = opened(world)
    staying, heard_staying, _ = opened(world)
    leaving.submit(Create("/a", ephemeral=True))
    world.run()  # a real server may take the operations of two connections in either order
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


def test_a_session_that_was_closed_before_it_was_open_does_not_stay(world: SessionWorld) -> None:
    session, heard = world.session(), list[StoreEvent]()
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
