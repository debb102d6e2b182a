"""Sessions with a real ZooKeeper that is killed, stands still, comes back, or says that they have expired."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from peers.zookeeper import ZooKeeperMissing, ZooKeeperServer

from odradek.metadata.remote_session import SessionState
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
    Reconnected,
    Result,
    SessionEnded,
    SessionOpened,
    SetData,
    StoreEvent,
    StoreReplied,
    WatchFired,
    Written,
)
from odradek.metadata.zookeeper.session import SessionTimes, ZooKeeperSession
from tests.server.process.zookeeper_worlds import ZooKeeperWorld

pytestmark = [pytest.mark.slow, pytest.mark.integration]

BRIEF_MS = 6_000
"""The timeout of sessions that shall end in a test; on a busy machine others must not end as soon."""
PATIENT_MS = 20_000
"""The timeout of a session that outlasts it: the server waits so long for the holder after its own start."""
TIMES = SessionTimes(60_000, 20_000, 10)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ZooKeeperServer]:
    """A server for one test, which may damage it."""
    try:
        made = ZooKeeperServer(tmp_path / "zookeeper")
    except ZooKeeperMissing as missing:
        pytest.skip(str(missing))
    with made:
        yield made


@pytest.fixture
def world(server: ZooKeeperServer) -> Iterator[ZooKeeperWorld]:
    made = ZooKeeperWorld(server, TIMES)
    yield made
    made.close()


@pytest.fixture
def brief(server: ZooKeeperServer) -> Iterator[ZooKeeperWorld]:
    """A world of sessions with a short timeout."""
    made = ZooKeeperWorld(server, SessionTimes(BRIEF_MS, 20_000, 10))
    yield made
    made.close()


class Holder:
    """A session that is open, and its events."""

    def __init__(self, world: ZooKeeperWorld) -> None:
        self.world = world
        self.store: MetadataStore = world.session()
        self.session: ZooKeeperSession = world.sessions[-1]
        self.heard: list[StoreEvent] = []
        self.open()

    def open(self) -> None:
        self.store.open(self.heard.append)
        self.world.until(lambda: any(isinstance(event, SessionOpened) for event in self.heard))
        self.heard.clear()

    def ask(self, operation: Operation) -> Result:
        call_id = self.store.submit(operation)
        self.world.until(lambda: self.result_of(call_id) is not None)
        result = self.result_of(call_id)
        assert result is not None
        return result

    def result_of(self, call_id: int) -> Result | None:
        found = [
            event.result
            for event in self.heard
            if isinstance(event, StoreReplied) and event.call_id == call_id
        ]
        return found[0] if found else None

    def until(self, event: StoreEvent) -> None:
        self.world.until(lambda: event in self.heard)


def test_a_session_outlives_a_server_that_is_killed_and_started_again(
    world: ZooKeeperWorld, server: ZooKeeperServer
) -> None:
    holder = Holder(world)
    assert holder.ask(Create("/held", b"1", ephemeral=True)) == Created("/held")
    holder.ask(Exists("/new", watch=True))
    holder.heard.clear()
    server.kill()
    world.until(lambda: holder.session.state is SessionState.AWAY)
    meanwhile = holder.store.submit(SetData("/held", b"2", 0))
    server.start()
    world.until(lambda: holder.result_of(meanwhile) is not None)
    assert holder.heard == [Reconnected(), StoreReplied(meanwhile, Written(1))]
    holder.heard.clear()
    holder.ask(Create("/new"))
    assert [type(event) for event in holder.heard] == [StoreReplied], "the watch is forgotten"


def test_a_server_that_is_away_for_longer_than_the_timeout_ends_no_session(server: ZooKeeperServer) -> None:
    """No server counts the time meanwhile, and nobody can tell the holder that it has no session."""
    world = ZooKeeperWorld(server, SessionTimes(PATIENT_MS, 20_000, 10))
    holder = Holder(world)
    holder.ask(Create("/held", ephemeral=True))
    holder.heard.clear()
    server.kill()
    began_ms = holder.session.awake_ms
    world.until(lambda: holder.session.awake_ms - began_ms > PATIENT_MS + 500)
    assert holder.heard == []
    server.start()
    holder.until(Reconnected())
    assert holder.ask(GetChildren("/")) == Children(("held",))
    world.close()


def test_operations_on_their_way_to_a_server_that_is_killed_have_no_known_outcome(
    world: ZooKeeperWorld, server: ZooKeeperServer
) -> None:
    holder = Holder(world)
    holder.ask(Create("/n"))
    holder.heard.clear()
    server.pause()
    calls = [holder.store.submit(SetData("/n", bytes([n]))) for n in range(30)]
    world.until(lambda: holder.session.in_flight == 10)
    server.kill()
    server.start()
    holder.until(Reconnected())
    world.until(lambda: holder.result_of(calls[-1]) is not None)
    results = [holder.result_of(call_id) for call_id in calls]
    assert results[:10] == [Failed(Fault.CONNECTION_LOSS, "/n")] * 10
    assert all(isinstance(result, Written) for result in results[10:]), "sent over the next connection"
    lost = [StoreReplied(call_id, Failed(Fault.CONNECTION_LOSS, "/n")) for call_id in calls[:10]]
    assert holder.heard[:11] == [*lost, Reconnected()]


def test_a_server_that_stands_still_is_left_and_found_again(
    brief: ZooKeeperWorld, server: ZooKeeperServer
) -> None:
    holder = Holder(brief)
    holder.ask(Create("/held", ephemeral=True))
    server.pause()
    brief.until(lambda: holder.session.state is SessionState.AWAY)
    server.resume()
    brief.until(lambda: holder.session.state in (SessionState.OPEN, SessionState.IDLE))
    assert holder.heard[-1] in (Reconnected(), SessionEnded()), "as the server counts its own time"


def test_a_holder_that_stands_still_loses_its_session_and_what_it_held(brief: ZooKeeperWorld) -> None:
    stopped = Holder(brief)
    stopped.ask(Create("/held", ephemeral=True))
    stopped.heard.clear()
    with ZooKeeperWorldBeside(brief) as other:
        other.ask(Exists("/held", watch=True))
        # This loop stands still, with the first holder, while the other one's runs.
        other.until(WatchFired("/held", NodeChange.DELETED))
    late = stopped.store.submit(Create("/late"))
    stopped.until(SessionEnded())
    assert not isinstance(stopped.result_of(late), Created)
    stopped.open()
    assert stopped.ask(GetChildren("/")) == Children(())
    assert stopped.ask(Create("/held", ephemeral=True)) == Created("/held")
    found = stopped.ask(GetData("/held"))
    assert isinstance(found, Data)
    assert stopped.session.key is not None
    assert found.stat.owner == stopped.session.key.session_id


class ZooKeeperWorldBeside:
    """Another loop with a holder in the chroot of a world."""

    def __init__(self, world: ZooKeeperWorld) -> None:
        self._world = world.beside()

    def __enter__(self) -> Holder:
        return Holder(self._world)

    def __exit__(self, *exception: object) -> None:
        self._world.close()


def test_a_session_that_no_server_opens_in_time_is_not_opened(
    world: ZooKeeperWorld, server: ZooKeeperServer
) -> None:
    server.kill()
    impatient = world.beside(SessionTimes(BRIEF_MS, 300, 10))
    session, heard = impatient.session(), list[StoreEvent]()
    session.open(heard.append)
    impatient.until(lambda: bool(heard))
    assert heard == [SessionEnded()]
    assert impatient.sessions[0].last_reason.endswith("connection refused")
    impatient.close()
