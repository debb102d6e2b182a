"""Sessions with a store in another process: leases, restarts of the server, lost answers, limits."""

from collections.abc import Callable

import pytest

from odradek.metadata.memory import MemoryTable
from odradek.metadata.remote_session import SessionState
from odradek.metadata.service.messages import Heartbeat
from odradek.metadata.store import (
    Committed,
    Create,
    Created,
    Data,
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
    Reconnected,
    SessionEnded,
    SessionOpened,
    SetData,
    StoreEngine,
    StoreLimits,
    StoreReplied,
    WatchFired,
)
from odradek.metadata.tree import TableFailed, TreeEngine
from tests.metadata.service.pipes import TIMEOUT_MS, Client, PipeWorld


@pytest.fixture
def world() -> PipeWorld:
    return PipeWorld(TreeEngine(MemoryTable()))


def opened(world: PipeWorld) -> Client:
    """A client with an open session and no events."""
    client = world.client()
    client.open()
    world.settle()
    assert [type(event) for event in client.heard] == [SessionOpened]
    client.heard.clear()
    return client


def session_of(client: Client) -> int:
    assert client.session.session_id is not None
    return client.session.session_id


def ask(world: PipeWorld, client: Client, operation: Operation) -> object:
    """The result of an operation; what else is heard stays in `heard`."""
    call_id = client.session.submit(operation)
    world.settle()
    (replied,) = [
        event for event in client.heard if isinstance(event, StoreReplied) and event.call_id == call_id
    ]
    client.heard.remove(replied)
    return replied.result


def alive(world: PipeWorld) -> list[int]:
    return [session for session, _ in world.engine.leases()]


# --- leases


def test_a_session_lives_as_long_as_its_client_runs(world: PipeWorld) -> None:
    client = opened(world)
    world.advance(10 * TIMEOUT_MS)
    assert (client.heard, alive(world)) == ([], [session_of(client)])


def test_the_session_of_a_process_that_died_is_over_at_once(world: PipeWorld) -> None:
    leaving, staying = opened(world), opened(world)
    assert ask(world, leaving, Create("/e", ephemeral=True)) == Created("/e")
    ask(world, staying, Exists("/e", watch=True))
    world.kill(leaving)
    world.settle()
    assert staying.heard == [WatchFired("/e", NodeChange.DELETED)]
    assert alive(world) == [session_of(staying)]


def test_a_stopped_client_loses_its_session_and_its_next_write_is_refused(world: PipeWorld) -> None:
    stopped, other = opened(world), opened(world)
    assert ask(world, stopped, Create("/e", ephemeral=True)) == Created("/e")
    stopped.is_stopped = True
    world.advance(TIMEOUT_MS - 500)
    assert len(alive(world)) == 2
    world.advance(1_000)
    assert alive(world) == [session_of(other)]
    assert ask(world, other, GetData("/e")) == Failed(Fault.NO_NODE, "/e")
    stopped.is_stopped = False
    stopped.session.submit(Create("/late"))  # before it reads anything
    world.settle()
    assert stopped.heard[-1] == SessionEnded() or SessionEnded() in stopped.heard
    assert ask(world, other, GetData("/late")) == Failed(Fault.NO_NODE, "/late")
    assert stopped.session.state is SessionState.IDLE


def test_a_session_is_opened_again_after_it_expired(world: PipeWorld) -> None:
    client = opened(world)
    former = session_of(client)
    client.is_stopped = True
    world.advance(2 * TIMEOUT_MS)
    client.is_stopped = False
    world.settle()
    assert client.heard == [SessionEnded()]
    client.open()
    world.settle()
    assert alive(world) == [session_of(client)] != [former]
    assert ask(world, client, Create("/a")) == Created("/a")


def test_a_stopped_server_ends_no_session(world: PipeWorld) -> None:
    """All of a machine stood still: heartbeats that came in time are read after the first tick."""
    client = opened(world)
    world.clock.advance(100 * TIMEOUT_MS)
    world.tick(0)
    world.settle()
    world.advance(TIMEOUT_MS)
    assert (client.heard, alive(world)) == ([], [session_of(client)])


def test_a_server_that_says_nothing_ends_the_session_for_its_client(world: PipeWorld) -> None:
    """The client goes away, so that a server that runs again ends the session, too."""
    client = opened(world)
    former = session_of(client)
    for _ in range(0, TIMEOUT_MS + 2_000, 50):
        world.clock.advance(50)
        client.timer.advance()
    assert client.heard == [SessionEnded(is_told=False)]
    client.open()
    world.settle()
    assert alive(world) == [session_of(client)] != [former]


def test_a_client_that_waits_for_the_engine_is_not_silent(world: PipeWorld) -> None:
    """A slow disk: more operations wait than the server takes, so it does not read heartbeats."""
    client = opened(world)
    server = world.server
    assert server is not None
    for number in range(100):
        client.session.submit(Create(f"/n{number}"))
    for _ in range(0, 2 * TIMEOUT_MS, 50):
        world.tick(50)
        for step in [one for one in world.steps() if one != server.calls.run_next]:
            step()
    assert len(alive(world)) == 1
    world.settle()
    assert [event for event in client.heard if not isinstance(event, StoreReplied)] == []
    assert len(client.heard) == 100


def test_a_session_that_could_not_be_ended_is_ended_when_the_engine_works_again(
    world: PipeWorld, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    client = opened(world)

    def fails(session: int) -> None:
        raise TableFailed("disk I/O error")

    with monkeypatch.context() as broken:
        broken.setattr(world.engine, "close_session", fails)
        world.kill(client)
        world.advance(500)
        assert len(alive(world)) == 1
    assert sum("could not be ended yet" in message for message in caplog.messages) == 1
    world.advance(200)
    assert alive(world) == []


# --- restarts of the server


def restarted(world: PipeWorld) -> None:
    """Another process of the server, on what the engine has kept; no watch is armed in it."""
    world.end_server()
    assert isinstance(world.engine, TreeEngine)
    world.engine = TreeEngine(world.engine._table)
    world.serve()


def test_a_session_outlives_the_server(world: PipeWorld) -> None:
    client = opened(world)
    number = session_of(client)
    assert ask(world, client, Create("/e", ephemeral=True)) == Created("/e")
    ask(world, client, Exists("/e", watch=True))
    restarted(world)
    world.advance(1_000)
    assert client.heard == [Reconnected()]
    assert ask(world, client, SetData("/e", b"1")) not in (None, Failed)
    assert client.heard == [Reconnected()], "the watch is gone"
    assert alive(world) == [number]
    world.advance(3 * TIMEOUT_MS)
    assert (client.heard, alive(world)) == ([Reconnected()], [number])


def test_a_server_that_is_closed_leaves_its_clients_and_ends_no_session(world: PipeWorld) -> None:
    client = opened(world)
    assert world.server is not None
    world.server.service.close()
    world.settle()
    assert (client.session.state, alive(world)) == (SessionState.AWAY, [session_of(client)])


def test_a_session_that_is_away_knows_for_how_long(world: PipeWorld) -> None:
    client = opened(world)
    assert client.session.lost_for_ms is None
    world.end_server()
    world.settle()
    assert client.session.lost_for_ms == 0
    world.advance(TIMEOUT_MS // 2)
    assert client.session.lost_for_ms == TIMEOUT_MS // 2
    world.serve()
    world.advance(1_000)
    assert client.heard == [Reconnected()]
    assert client.session.lost_for_ms is None


def test_operations_on_their_way_are_lost_and_later_ones_are_done(world: PipeWorld) -> None:
    client = opened(world)
    submit = client.session.submit
    lost = [submit(Create("/a")), submit(Create("/b"))]
    world.end_server()
    while client.session.state is SessionState.OPEN:
        world.steps()[0]()
    later = submit(Create("/c"))
    world.settle()
    assert client.heard == [], "nothing is known while the session is away"
    world.serve()
    world.advance(1_000)
    unknown = [Failed(Fault.CONNECTION_LOSS, path) for path in ("/a", "/b")]
    done = StoreReplied(later, Created("/c"))
    assert client.heard == [*map(StoreReplied, lost, unknown), Reconnected(), done]


def test_a_write_whose_answer_was_lost_may_have_been_done(world: PipeWorld) -> None:
    client = opened(world)
    client.session.submit(Create("/a"))
    server = world.server
    assert server is not None
    while not server.calls.finished:  # executed, and not reported
        world.steps()[0]()
    world.end_server()
    world.serve()
    world.advance(1_000)
    assert client.heard == [StoreReplied(0, Failed(Fault.CONNECTION_LOSS, "/a")), Reconnected()]
    assert isinstance(ask(world, client, GetData("/a")), Data)


def test_sessions_that_do_not_come_back_end_after_one_timeout(world: PipeWorld) -> None:
    gone, other = opened(world), opened(world)
    gone.is_stopped = True
    restarted(world)
    world.advance(TIMEOUT_MS - 500)
    assert len(alive(world)) == 2
    assert world.server is not None
    assert [one.is_connected for one in world.server.service.sessions()] == [False, True]
    world.advance(1_000)
    assert alive(world) == [session_of(other)]


def test_sessions_of_processes_that_died_meanwhile_end_at_once(world: PipeWorld) -> None:
    gone, other = opened(world), opened(world)
    world.end_server()
    world.kill(gone)
    world.serve()
    world.settle()
    assert alive(world) == [session_of(other)]


def test_no_session_outlives_the_boot_of_the_machine(world: PipeWorld) -> None:
    client = opened(world)
    world.end_server()
    world.boot_id = "boot 2"
    world.serve()
    world.settle()
    assert alive(world) == []
    world.advance(1_000)
    assert client.heard == [SessionEnded()]


def test_a_session_without_a_lease_ends_at_once(world: PipeWorld) -> None:
    """Such as that of a broker that had the file for itself."""
    world.end_server()
    world.engine.open_session()
    world.engine.open_session(b"{}")
    world.serve()
    world.settle()
    assert alive(world) == []


def test_another_secret_resumes_nothing(world: PipeWorld) -> None:
    victim, thief = opened(world), opened(world)
    restarted(world)
    key = victim.session._key
    assert key is not None
    thief.session._key = type(key)(key.session_id, bytes(16))
    victim.is_stopped = True
    world.advance(1_000)
    assert thief.heard == [SessionEnded()]
    victim.is_stopped = False
    world.advance(1_000)
    assert victim.heard == [Reconnected()]


def test_a_session_outlives_a_server_that_stays_away_for_long(world: PipeWorld) -> None:
    """Nobody else can have ended it; otherwise all brokers of a cluster would register again at once."""
    clients = [opened(world), opened(world)]
    numbers = [session_of(client) for client in clients]
    for client in clients:
        assert ask(world, client, Create(f"/{client.pid}", ephemeral=True)) == Created(f"/{client.pid}")
    world.end_server()
    world.settle()
    world.advance(10 * TIMEOUT_MS)
    assert [client.heard for client in clients] == [[], []]
    assert [client.session.lost_for_ms for client in clients] == [10 * TIMEOUT_MS] * 2
    written = clients[0].session.submit(Create("/later"))
    world.serve()
    world.advance(1_000)
    assert [client.heard for client in clients] == [
        [Reconnected(), StoreReplied(written, Created("/later"))],
        [Reconnected()],
    ]
    world.advance(2 * TIMEOUT_MS)
    assert alive(world) == numbers
    assert isinstance(ask(world, clients[1], GetData(f"/{clients[0].pid}")), Data)


def test_a_session_outlives_one_server_after_another(world: PipeWorld) -> None:
    client = opened(world)
    former = session_of(client)
    for away_ms in (0, TIMEOUT_MS // 2, 2 * TIMEOUT_MS, 0, TIMEOUT_MS):
        world.end_server()
        world.advance(away_ms)
        world.serve()
        world.advance(1_500)
    assert client.heard == [Reconnected()] * 5
    assert alive(world) == [former]


def test_a_server_that_resumes_no_session_for_long_is_asked_over_another_connection(world: PipeWorld) -> None:
    client = opened(world)
    former = session_of(client)
    restarted(world)
    asked_before = len(client.pipes)
    for _ in range(0, TIMEOUT_MS + 1_500, 50):  # the server's process stands still
        world.clock.advance(50)
        client.timer.advance()
        while client.deferred or client.pipes[0].steps():
            client.deferred.popleft()() if client.deferred else client.pipes[0].steps()[0]()
    assert len(client.pipes) == asked_before + 2
    assert client.heard == []
    world.settle()
    assert client.heard == [Reconnected()]
    assert alive(world) == [former]


def test_a_session_that_was_given_up_ends_before_the_next_one_begins(world: PipeWorld) -> None:
    """Also at another server, which would wait for its lease."""
    client = opened(world)
    former = session_of(client)
    for _ in range(0, TIMEOUT_MS + 1_000, 50):
        world.clock.advance(50)
        client.timer.advance()
    assert client.heard == [SessionEnded(is_told=False)], "the server was silent"
    world.end_server()
    client.open()
    world.settle()
    assert client.heard == [SessionEnded(is_told=False), SessionEnded(is_told=False)], (
        "nobody listens: the holder tries again later"
    )
    world.serve()
    assert alive(world) == [former]
    client.open()
    world.settle()
    assert alive(world) == [session_of(client)] != [former]


def test_attempts_that_fail_are_logged_once_and_then_their_end(
    world: PipeWorld, caplog: pytest.LogCaptureFixture
) -> None:
    client = world.client()
    world.end_server()
    for _ in range(5):
        client.open()
        world.settle()
    world.serve()
    client.open()
    world.settle()
    again = "there is a session with the metadata store again, after 5 failed attempts"
    assert caplog.messages == ["no session with the metadata store: nobody listens", again]


def test_the_owner_of_the_server_sees_whose_sessions_there_are(world: PipeWorld) -> None:
    first, second = opened(world), opened(world)
    server = world.server
    assert server is not None
    seen = [(one.session_id, one.broker_id, one.pid, one.is_connected) for one in server.service.sessions()]
    assert seen == [(session_of(one), one.pid, one.pid, True) for one in (first, second)]
    assert server.came == server.service.sessions()


# --- limits and order


def test_the_limits_are_told_at_the_start() -> None:
    limits = StoreLimits(node_bytes_max=10, multi_operations_max=2, multi_bytes_max=30)
    world = PipeWorld(TreeEngine(MemoryTable(), limits))
    assert opened(world).session.limits == limits


@pytest.mark.parametrize(
    ("operation", "refused"),
    [
        (Create("/a", bytes(11)), Failed(Fault.TOO_LARGE, "/a")),
        (SetData("/a", bytes(11)), Failed(Fault.TOO_LARGE, "/a")),
        (Multi((Create("/a"), Create("/b", bytes(11)))), Failed(Fault.TOO_LARGE, "/b", 1)),
        (Multi((Create("/a"),) * 3), Failed(Fault.TOO_LARGE, "/a")),
        (Multi((Create("/a" * 9), Create("/b" * 9))), Failed(Fault.TOO_LARGE, "/a" * 9)),
        (Reads((GetData("/a"),) * 101), Failed(Fault.TOO_LARGE, "/a")),
        (Reads(()), Failed(Fault.TOO_LARGE, "/")),
    ],
)
def test_what_is_above_the_limits_is_refused_in_its_turn(operation: Operation, refused: Failed) -> None:
    limits = StoreLimits(node_bytes_max=10, multi_operations_max=2, multi_bytes_max=30)
    world = PipeWorld(TreeEngine(MemoryTable(), limits))
    client = opened(world)
    submit = client.session.submit
    calls = submit(Create("/before")), submit(operation), submit(Create("/after"))
    assert client.heard == []
    world.settle()
    assert client.heard == [
        StoreReplied(calls[0], Created("/before")),
        StoreReplied(calls[1], refused),
        StoreReplied(calls[2], Created("/after")),
    ]


def test_a_refused_operation_among_lost_ones_keeps_its_answer_and_its_turn() -> None:
    world = PipeWorld(TreeEngine(MemoryTable(), StoreLimits(node_bytes_max=10)))
    client = opened(world)
    submit = client.session.submit
    calls = submit(Create("/a")), submit(Create("/b", bytes(11))), submit(Create("/c"))
    while client.work.waiting:
        client.work.go_on()
    world.end_server()
    world.serve()
    world.advance(1_000)
    lost = [
        Failed(Fault.CONNECTION_LOSS, "/a"),
        Failed(Fault.TOO_LARGE, "/b"),
        Failed(Fault.CONNECTION_LOSS, "/c"),
    ]
    assert client.heard == [*map(StoreReplied, calls, lost), Reconnected()]


@pytest.mark.slow
def test_thousands_of_operations_and_megabytes_go_through(world: PipeWorld) -> None:
    client = opened(world)
    many = tuple(Create(f"/n{number}", bytes(500)) for number in range(4_000))
    made = ask(world, client, Multi(many))
    assert isinstance(made, Committed)
    assert len(made.results) == 4_000
    for begin in range(0, 4_000, 1_000):
        client.session.submit(Reads(tuple(GetData(one.path) for one in many[begin : begin + 100])))
    client.session.submit(GetChildren("/"))
    world.settle()
    results = [event.result for event in client.heard if isinstance(event, StoreReplied)]
    read = [result for reads in results if isinstance(reads, ReadResults) for result in reads.results]
    assert [isinstance(one, Data) and one.data == bytes(500) for one in read] == [True] * 400


def test_a_client_that_does_not_read_is_asked_nothing_more(world: PipeWorld) -> None:
    """Answers of a megabyte each: the server does not gather them."""
    client = opened(world)
    ask(world, client, Create("/big", bytes(1 << 20)))
    pipe = client.pipes[-1]
    pipe.is_reading = False
    for _ in range(40):
        client.session.submit(GetData("/big"))
    world.settle()
    assert pipe.get_write_buffer_size() < 1 << 20
    assert sum(map(len, pipe.inbox)) < 3 << 20
    pipe.is_reading = True
    world.settle()
    assert len(client.heard) == 40


# --- what breaks the protocol


@pytest.mark.parametrize(
    "send",
    [
        lambda pipe: pipe.other.inbox.append(b"GET / HTTP/1.1\r\n"),
        lambda pipe: pipe.other.inbox.append(b"\x00\x00\x00\x01\x63"),
        lambda pipe: pipe.other.inbox.append(b"\x00\x00\x00\x00"),
    ],
)
def test_a_malformed_frame_ends_the_connection_and_with_it_the_session(
    world: PipeWorld, send: Callable[[object], None]
) -> None:
    broken, other = opened(world), opened(world)
    send(broken.pipes[-1])
    world.settle()
    assert alive(world) == [session_of(other)]
    world.advance(1_000)
    assert broken.heard == [SessionEnded()]
    assert ask(world, other, Create("/a")) == Created("/a")


def test_an_operation_before_there_is_a_session_ends_the_connection(world: PipeWorld) -> None:
    client = world.client()
    client.open()
    while not client.pipes:
        world.steps()[0]()
    client.pipes[-1].other.inbox.append(b"\x00\x00\x00\x01\x05")  # CloseSession
    world.settle()
    assert client.heard == [SessionEnded(is_told=False)]


def test_a_server_that_answers_another_call_is_left(world: PipeWorld) -> None:
    client = opened(world)
    with pytest.raises(Exception, match="a result of call 7, which is not the next one"):
        client.session.on_message(StoreReplied(7, Created("/a")))
    client.session.on_message(Heartbeat())


def test_a_session_that_is_closed_has_ended_when_its_connection_has(world: PipeWorld) -> None:
    client = opened(world)
    client.session.submit(Create("/e", ephemeral=True))
    client.session.submit(Create("/stays"))
    client.session.close()
    world.settle()
    assert (client.session.state, client.heard, alive(world)) == (SessionState.CLOSED, [], [])
    other = opened(world)
    assert isinstance(ask(world, other, GetData("/stays")), Data)
    assert isinstance(ask(world, other, GetData("/e")), Failed)


def test_a_session_can_be_closed_in_every_state(world: PipeWorld) -> None:
    never = world.client()
    never.session.close()
    opening = world.client()
    opening.open()
    opening.session.close()
    away = opened(world)
    world.end_server()
    world.settle()
    away.session.close()
    world.serve()
    world.advance(2 * TIMEOUT_MS)
    states = [client.session.state for client in (never, opening, away)]
    assert (states, alive(world)) == ([SessionState.CLOSED] * 3, [])


def test_an_engine_that_opens_no_session(world: PipeWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(lease: bytes = b"") -> int:
        raise TableFailed("disk I/O error")

    monkeypatch.setattr(world.engine, "open_session", fails)
    client = world.client()
    client.open()
    world.settle()
    assert client.heard == [SessionEnded()]


def test_a_session_is_not_another_engines(world: PipeWorld) -> None:
    """The file was replaced while the supervisor was away."""
    client = opened(world)
    world.end_server()
    other: StoreEngine = TreeEngine(MemoryTable())
    world.engine = other
    world.serve()
    world.advance(1_000)
    assert client.heard == [SessionEnded()]
