"""The in-memory store's faults: answers that get lost, sessions that expire, calls that wait."""

from odradek.base.chance import SeededChance
from odradek.metadata.memory import MemoryStore
from odradek.metadata.store import (
    Create,
    Created,
    Exists,
    Failed,
    Fault,
    GetData,
    Multi,
    NodeChange,
    Reconnected,
    SessionEnded,
    SessionOpened,
    SetData,
    StoreEvent,
    StoreLimits,
    StoreReplied,
    WatchFired,
)


def test_nothing_is_executed_before_the_store_is_told_to() -> None:
    store = MemoryStore()
    first: list[StoreEvent] = []
    second: list[StoreEvent] = []
    store.connect(first.append).submit(Create("/a"))
    store.connect(second.append).submit(Create("/a"))
    assert (first, second, store.has_waiting) == ([], [], True)
    assert store.deliver(at_most=1) == 1
    assert (first, second) == ([StoreReplied(0, Created("/a"))], [])
    store.deliver()
    assert second == [StoreReplied(0, Failed(Fault.NODE_EXISTS, "/a"))]


def test_what_is_submitted_inside_an_event_is_executed_after_it() -> None:
    store = MemoryStore()
    order: list[object] = []

    def on_event(event: StoreEvent) -> None:
        order.append(event)
        if len(order) == 1:
            session.submit(Create("/b"))
            store.deliver()
            order.append("the event ends")

    session = store.connect(on_event)
    session.submit(Create("/a"))
    store.deliver()
    assert order == [StoreReplied(0, Created("/a")), "the event ends", StoreReplied(1, Created("/b"))]


def test_a_session_that_expires_hears_it_once_and_is_fenced() -> None:
    store = MemoryStore()
    heard: list[StoreEvent] = []
    session = store.connect(heard.append)
    session.expire()
    session.submit(Create("/a"))
    store.deliver()
    assert heard == [SessionEnded(), StoreReplied(0, Failed(Fault.SESSION_EXPIRED, "/a"))]


def test_a_lost_answer_hides_whether_it_was_done() -> None:
    store = MemoryStore()
    heard: list[StoreEvent] = []
    session = store.connect(heard.append)
    session.lose_connection(executed=True)
    session.lose_connection(executed=False, after=1)
    for operation in (Create("/a"), GetData("/a"), SetData("/a", b"x"), Multi((Create("/b"),))):
        session.submit(operation)
    store.deliver()
    assert [event for event in heard if isinstance(event, StoreReplied) and event.call_id in (0, 2)] == [
        StoreReplied(0, Failed(Fault.CONNECTION_LOSS, "/a")),
        StoreReplied(2, Failed(Fault.CONNECTION_LOSS, "/a")),
    ]
    assert {path: data for path, (data, _) in store.table.snapshot().items()} == {
        "/": b"",
        "/a": b"",
        "/b": b"",
    }


def test_after_a_lost_answer_comes_reconnected_and_watches_are_gone() -> None:
    store = MemoryStore()
    heard: list[StoreEvent] = []
    session = store.connect(heard.append)
    session.submit(Exists("/a", watch=True))
    session.lose_connection(executed=False, after=1)
    session.submit(GetData("/"))
    session.submit(Create("/a"))
    store.deliver()
    assert heard[1:] == [
        StoreReplied(1, Failed(Fault.CONNECTION_LOSS, "/")),
        Reconnected(),
        StoreReplied(2, Created("/a")),
    ]


def test_limits_may_be_those_of_another_engine() -> None:
    store = MemoryStore(StoreLimits(node_bytes_max=10, multi_operations_max=2, multi_bytes_max=20))
    heard: list[StoreEvent] = []
    session = store.connect(heard.append)
    assert session.limits.multi_bytes_max == 20
    for operation in (
        Create("/a", bytes(11)),
        Multi((Create("/a"), Create("/b"), Create("/c"))),
        Multi((Create("/a", bytes(9)), Create("/b", bytes(9)))),
    ):
        session.submit(operation)
    store.deliver()
    faults = [event.result.fault for event in heard if isinstance(event, StoreReplied)]  # type: ignore[union-attr]
    assert faults == [Fault.TOO_LARGE] * 3


def test_what_a_watch_saw_reaches_its_holder_in_a_step_of_its_own() -> None:
    """A write of one session runs nothing of another's."""
    store = MemoryStore()
    written: list[StoreEvent] = []
    seen: list[StoreEvent] = []
    writer, watcher = store.connect(written.append), store.connect(seen.append)
    watcher.submit(Exists("/a", watch=True))
    store.deliver()
    seen.clear()
    writer.submit(Create("/a"))
    (execute,) = store.steps()
    execute()
    assert (written, seen) == ([], [])
    report_to_writer, report_to_watcher = store.steps()
    report_to_watcher()
    assert (written, seen) == ([], [WatchFired("/a", NodeChange.CREATED)])
    report_to_writer()
    assert written == [StoreReplied(0, Created("/a"))]
    assert store.steps() == []


def test_requests_of_two_sessions_may_overtake_each_other_on_their_way() -> None:
    store = MemoryStore()
    heard: list[StoreEvent] = []
    early, late = store.connect(), store.connect(heard.append)
    early.submit(Create("/a"))
    late.submit(Create("/a"))
    store.steps()[1]()
    store.deliver()
    assert heard == [StoreReplied(0, Created("/a"))]


def test_a_session_that_was_closed_and_opened_again_gets_nothing_of_the_one_before() -> None:
    store = MemoryStore()
    before: list[StoreEvent] = []
    after: list[StoreEvent] = []
    session = store.connect(before.append)
    ended = session.session_id
    session.submit(Exists("/a", watch=True))
    session.submit(Create("/a"))
    session.close()
    session.open(after.append)
    store.deliver()
    assert (before, after) == ([], [SessionOpened(ended + 1)])
    assert store.table.sessions() == [ended + 1]


def test_of_what_a_holder_that_died_had_sent_some_arrives_and_then_its_session_ends() -> None:
    made = set[tuple[str, ...]]()
    for seed in range(20):
        store = MemoryStore()
        heard: list[StoreEvent] = []
        session = store.connect(heard.append)
        session.submit(Create("/lasting"))
        session.submit(Create("/ephemeral", ephemeral=True))
        session.lose_holder(SeededChance(seed))
        store.deliver()
        assert (heard, store.table.sessions()) == ([], [])
        made.add(tuple(store.table.child_names("/")))
    assert made == {(), ("lasting",)}


def test_a_session_that_a_holder_died_while_opening_does_not_stay() -> None:
    for seed in range(10):
        store = MemoryStore()
        session = store.session()
        session.open(lambda event: None)
        session.lose_holder(SeededChance(seed))
        store.deliver()
        assert store.table.sessions() == []


def test_with_a_connection_go_the_answers_and_the_news_of_watches_that_were_on_their_way() -> None:
    store = MemoryStore()
    heard: list[StoreEvent] = []
    session, other = store.connect(heard.append), store.connect()
    session.submit(Exists("/a", watch=True))
    session.execute_next()
    session.report_next()
    other.submit(Create("/a"))
    other.execute_next()
    session.submit(GetData("/a"))
    session.execute_next()
    session.submit(Exists("/b", watch=True))
    del heard[:]
    session.reconnect(SeededChance(1))
    store.deliver()
    other.submit(Create("/b"))
    store.deliver()
    assert heard == [
        StoreReplied(1, Failed(Fault.CONNECTION_LOSS, "/")),
        StoreReplied(2, Failed(Fault.CONNECTION_LOSS, "/b")),
        Reconnected(),
    ]
