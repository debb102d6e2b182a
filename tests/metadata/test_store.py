"""What every store engine must do: the conformance suite, run on each of them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.metadata.embedded import EmbeddedEngine
from odradek.metadata.memory import MemoryTable
from odradek.metadata.store import (
    NO_SESSION,
    READS_MAX,
    Check,
    Checked,
    Children,
    Committed,
    Create,
    Created,
    Data,
    Delete,
    Deleted,
    Existence,
    Exists,
    Failed,
    Fault,
    GetChildren,
    GetData,
    Multi,
    NodeChange,
    Operation,
    ReadResults,
    Reads,
    Result,
    SessionEnded,
    SetData,
    StoreEngine,
    WatchFired,
    Written,
)
from odradek.metadata.tree import TreeEngine
from tests.server.process.zookeeper_worlds import ZooKeeperEngine, ZooKeeperWorld, server_or_skip

ENGINES = ["memory", "embedded", pytest.param("zookeeper", marks=pytest.mark.slow)]


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StoreEngine]:
    made: StoreEngine
    if request.param == "memory":
        made = TreeEngine(MemoryTable())
    elif request.param == "zookeeper":
        made = ZooKeeperEngine(ZooKeeperWorld(server_or_skip()))
    else:
        made = EmbeddedEngine(tmp_path / "metadata.sqlite")
    yield made
    made.close()


@pytest.fixture
def session(engine: StoreEngine) -> int:
    return engine.open_session()


def done(engine: StoreEngine, session: int, *operations: Operation) -> list[Result]:
    results = [engine.apply(session, operation).result for operation in operations]
    failed = [result for result in results if isinstance(result, Failed)]
    assert not failed, f"expected all of {operations} to be done, got {failed}"
    return results


# --- nodes and versions


def test_a_created_node_is_read_back_with_version_0(engine: StoreEngine, session: int) -> None:
    assert engine.apply(session, Create("/a", b"one")).result == Created("/a")
    data = engine.apply(session, GetData("/a")).result
    assert isinstance(data, Data)
    assert (data.data, data.stat.version, data.stat.owner) == (b"one", 0, NO_SESSION)


def test_every_set_raises_the_version_by_one(engine: StoreEngine, session: int) -> None:
    done(engine, session, Create("/a"))
    assert engine.apply(session, SetData("/a", b"x", 0)).result == Written(1)
    assert engine.apply(session, SetData("/a", b"y")).result == Written(2)


def test_a_set_with_an_old_version_changes_nothing(engine: StoreEngine, session: int) -> None:
    done(engine, session, Create("/a", b"x"), SetData("/a", b"y", 0))
    assert engine.apply(session, SetData("/a", b"z", 0)).result == Failed(Fault.BAD_VERSION, "/a")
    data = engine.apply(session, GetData("/a")).result
    assert isinstance(data, Data)
    assert data.data == b"y"


def test_a_delete_needs_the_version_too(engine: StoreEngine, session: int) -> None:
    done(engine, session, Create("/a"), SetData("/a", b"y"))
    assert engine.apply(session, Delete("/a", 0)).result == Failed(Fault.BAD_VERSION, "/a")
    assert engine.apply(session, Delete("/a", 1)).result == Deleted()
    assert engine.apply(session, Exists("/a")).result == Existence(None)


@pytest.mark.parametrize(
    "operation", [SetData("/none", b""), Delete("/none"), GetData("/none"), GetChildren("/none")]
)
def test_a_missing_node_is_no_node(engine: StoreEngine, session: int, operation: Operation) -> None:
    assert engine.apply(session, operation).result == Failed(Fault.NO_NODE, "/none")


def test_a_node_is_made_once(engine: StoreEngine, session: int) -> None:
    done(engine, session, Create("/a"))
    assert engine.apply(session, Create("/a")).result == Failed(Fault.NODE_EXISTS, "/a")


def test_a_node_made_again_starts_afresh_but_later(engine: StoreEngine, session: int) -> None:
    """The making transaction tells two lives of one path apart: it is a broker's epoch."""
    done(engine, session, Create("/a"), SetData("/a", b"x"))
    first = engine.apply(session, Exists("/a")).result
    done(engine, session, Delete("/a"), Create("/a"))
    second = engine.apply(session, Exists("/a")).result
    assert isinstance(first, Existence)
    assert isinstance(second, Existence)
    assert first.stat is not None
    assert second.stat is not None
    assert second.stat.version == 0
    assert second.stat.created_at > first.stat.created_at


def test_the_parent_must_be_there(engine: StoreEngine, session: int) -> None:
    assert engine.apply(session, Create("/a/b")).result == Failed(Fault.NO_NODE, "/a/b")


def test_a_node_with_children_stays(engine: StoreEngine, session: int) -> None:
    done(engine, session, Create("/a"), Create("/a/b"))
    assert engine.apply(session, Delete("/a")).result == Failed(Fault.NOT_EMPTY, "/a")


def test_children_are_listed_sorted_and_alone(engine: StoreEngine, session: int) -> None:
    done(engine, session, *(Create(path) for path in ("/a", "/a/y", "/a/x", "/a/x/deep", "/ab")))
    assert engine.apply(session, GetChildren("/a")).result == Children(("x", "y"))
    assert engine.apply(session, GetChildren("/")).result == Children(("a", "ab"))


def test_a_node_has_its_limit(engine: StoreEngine, session: int) -> None:
    most = engine.limits.node_bytes_max
    done(engine, session, Create("/a", bytes(most)))
    too_large = bytes(most + 1)
    assert engine.apply(session, SetData("/a", too_large)).result == Failed(Fault.TOO_LARGE, "/a")
    assert engine.apply(session, Create("/b", too_large)).result == Failed(Fault.TOO_LARGE, "/b")


# --- sequential and ephemeral nodes


def test_sequential_nodes_count_within_their_parent(engine: StoreEngine, session: int) -> None:
    done(engine, session, Create("/a"), Create("/b"))
    made = done(engine, session, *[Create("/a/n_", sequential=True)] * 2)
    assert made == [Created("/a/n_0000000000"), Created("/a/n_0000000001")]
    assert done(engine, session, Create("/b/n_", sequential=True)) == [Created("/b/n_0000000000")]


def test_a_sequential_number_is_not_used_again(engine: StoreEngine, session: int) -> None:
    done(engine, session, Create("/a"), Create("/a/n_", sequential=True), Delete("/a/n_0000000000"))
    assert done(engine, session, Create("/a/n_", sequential=True)) == [Created("/a/n_0000000001")]


def test_an_ephemeral_node_ends_with_its_session(engine: StoreEngine, session: int) -> None:
    other = engine.open_session()
    done(engine, other, Create("/theirs", ephemeral=True), Create("/lasting"))
    done(engine, session, Create("/ours", ephemeral=True))
    engine.close_session(other)
    assert engine.apply(session, GetChildren("/")).result == Children(("lasting", "ours"))


def test_an_ephemeral_node_names_its_session(engine: StoreEngine, session: int) -> None:
    done(engine, session, Create("/a", ephemeral=True))
    found = engine.apply(session, Exists("/a")).result
    assert isinstance(found, Existence)
    assert found.stat is not None
    assert found.stat.owner == session


def test_an_ephemeral_node_has_no_children(engine: StoreEngine, session: int) -> None:
    done(engine, session, Create("/a", ephemeral=True))
    refused = engine.apply(session, Create("/a/b")).result
    assert refused == Failed(Fault.NO_CHILDREN_FOR_EPHEMERALS, "/a/b")


def test_a_session_that_ended_is_fenced(engine: StoreEngine, session: int) -> None:
    engine.close_session(session)
    assert engine.apply(session, Create("/a")).result == Failed(Fault.SESSION_EXPIRED, "/a")
    assert engine.apply(session, GetData("/")).result == Failed(Fault.SESSION_EXPIRED, "/")


def test_session_ids_are_not_used_again(engine: StoreEngine, session: int) -> None:
    engine.close_session(session)
    assert engine.open_session() > session


def test_ending_a_session_twice_does_nothing(engine: StoreEngine, session: int) -> None:
    assert engine.close_session(session) == ((session, SessionEnded()),)
    assert engine.close_session(session) == ()


# --- all or nothing


def test_a_multi_does_all_in_order(engine: StoreEngine, session: int) -> None:
    operations = (
        Create("/a", b"1"),
        Check("/a", 0),
        SetData("/a", b"2", 0),
        Create("/a/b"),
        Delete("/a/b"),
    )
    results = engine.apply(session, Multi(operations)).result
    assert results == Committed((Created("/a"), Checked(), Written(1), Created("/a/b"), Deleted()))


def test_a_multi_that_fails_leaves_no_trace(engine: StoreEngine, session: int) -> None:
    watcher = engine.open_session()
    done(engine, session, Create("/a", b"1"), Create("/x"))
    engine.apply(watcher, GetData("/a", watch=True))
    multi = Multi((SetData("/a", b"2"), Create("/a/b"), Delete("/x"), Check("/a", 0)))
    applied = engine.apply(session, multi)
    assert applied.result == Failed(Fault.BAD_VERSION, "/a", 3)
    assert applied.events == ()
    data = engine.apply(session, GetData("/a")).result
    assert isinstance(data, Data)
    assert (data.data, data.stat.version) == (b"1", 0)
    assert engine.apply(session, GetChildren("/")).result == Children(("a", "x"))


def test_an_empty_multi_is_done(engine: StoreEngine, session: int) -> None:
    assert engine.apply(session, Multi(())).result == Committed(())


def test_a_multi_has_its_limit(engine: StoreEngine, session: int) -> None:
    too_many = Multi((Check("/", 0),) * (engine.limits.multi_operations_max + 1))
    assert engine.apply(session, too_many).result == Failed(Fault.TOO_LARGE, "/")


# --- watches


@pytest.mark.parametrize("guard", [GetData("/a", watch=True), Exists("/a", watch=True)])
def test_a_data_watch_fires_once(engine: StoreEngine, session: int, guard: Operation) -> None:
    watcher = engine.open_session()
    done(engine, session, Create("/a"))
    done(engine, watcher, guard)
    fired = engine.apply(session, SetData("/a", b"x")).events
    assert fired == ((watcher, WatchFired("/a", NodeChange.DATA_CHANGED)),)
    assert engine.apply(session, SetData("/a", b"y")).events == ()


def test_a_watch_tells_of_the_nodes_end(engine: StoreEngine, session: int) -> None:
    watcher = engine.open_session()
    done(engine, session, Create("/a"))
    done(engine, watcher, GetData("/a", watch=True), GetChildren("/a", watch=True))
    fired = engine.apply(session, Delete("/a")).events
    assert fired == ((watcher, WatchFired("/a", NodeChange.DELETED)),)


def test_an_exists_watch_waits_for_a_missing_node(engine: StoreEngine, session: int) -> None:
    watcher = engine.open_session()
    done(engine, watcher, Exists("/a", watch=True))
    fired = engine.apply(session, Create("/a")).events
    assert fired == ((watcher, WatchFired("/a", NodeChange.CREATED)),)


def test_a_read_that_finds_nothing_arms_nothing(engine: StoreEngine, session: int) -> None:
    engine.apply(session, GetData("/a", watch=True))
    engine.apply(session, GetChildren("/a", watch=True))
    assert engine.apply(session, Create("/a")).events == ()


def test_a_children_watch_tells_of_comings_and_goings_only(engine: StoreEngine, session: int) -> None:
    watcher = engine.open_session()
    done(engine, session, Create("/a"))
    done(engine, watcher, GetChildren("/a", watch=True))
    assert engine.apply(session, SetData("/a", b"x")).events == ()
    changed = ((watcher, WatchFired("/a", NodeChange.CHILDREN_CHANGED)),)
    assert engine.apply(session, Create("/a/b")).events == changed
    done(engine, watcher, GetChildren("/a", watch=True))
    assert engine.apply(session, SetData("/a/b", b"x")).events == ()
    assert engine.apply(session, Delete("/a/b")).events == changed


def test_a_session_s_end_fires_watches_on_what_it_held(engine: StoreEngine, session: int) -> None:
    watcher = engine.open_session()
    done(engine, session, Create("/a"), Create("/a/1", ephemeral=True))
    done(engine, watcher, Exists("/a/1", watch=True), GetChildren("/a", watch=True))
    assert engine.close_session(session) == (
        (session, SessionEnded()),
        (watcher, WatchFired("/a/1", NodeChange.DELETED)),
        (watcher, WatchFired("/a", NodeChange.CHILDREN_CHANGED)),
    )


def test_a_session_that_ended_hears_no_watches(engine: StoreEngine, session: int) -> None:
    watcher = engine.open_session()
    done(engine, session, Create("/a"))
    done(engine, watcher, GetData("/a", watch=True))
    engine.close_session(watcher)
    assert engine.apply(session, SetData("/a", b"x")).events == ()


# --- reads in one trip


def test_each_read_of_a_batch_has_its_own_result(engine: StoreEngine, session: int) -> None:
    done(engine, session, Create("/a", b"x"), Create("/a/b"))
    reads = Reads((GetData("/a"), GetData("/missing"), GetChildren("/a"), Exists("/missing")))
    results = engine.apply(session, reads).result
    assert isinstance(results, ReadResults)
    data, missing, children, nothing = results.results
    assert isinstance(data, Data)
    assert data.data == b"x"
    assert missing == Failed(Fault.NO_NODE, "/missing")
    assert children == Children(("b",))
    assert nothing == Existence(None)


def test_reads_of_a_batch_arm_their_watches(engine: StoreEngine, session: int) -> None:
    engine.apply(session, Reads((Exists("/a", watch=True), GetChildren("/", watch=True))))
    events = engine.apply(session, Create("/a")).events
    assert events == (
        (session, WatchFired("/a", NodeChange.CREATED)),
        (session, WatchFired("/", NodeChange.CHILDREN_CHANGED)),
    )


@pytest.mark.parametrize("count", [0, READS_MAX + 1])
def test_a_batch_of_reads_is_bounded(engine: StoreEngine, session: int, count: int) -> None:
    result = engine.apply(session, Reads((GetData("/"),) * count)).result
    assert isinstance(result, Failed)
    assert result.fault is Fault.TOO_LARGE
