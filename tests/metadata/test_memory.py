"""The in-memory store as a `MetadataStore`: delivery, order, expiry and lost answers."""

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
    SessionExpired,
    SetData,
    WatchFired,
)


def test_at_once_means_before_submit_returns():
    results = []
    MemoryStore().connect().submit(Create("/a"), results.append)
    assert results == [Created("/a")]


def test_a_holding_store_executes_nothing_before_it_is_told():
    store = MemoryStore(holding=True)
    results = []
    first, second = store.connect(), store.connect()
    first.submit(Create("/a"), lambda result: results.append(("first", result)))
    second.submit(Create("/a"), lambda result: results.append(("second", result)))
    assert (results, store.waiting) == ([], 2)
    assert store.deliver(at_most=1) == 1
    assert results == [("first", Created("/a"))]
    store.deliver()
    assert results[1:] == [("second", Failed(Fault.NODE_EXISTS, "/a"))]


def test_callbacks_do_not_nest():
    session = MemoryStore().connect()
    order = []

    def then_more(result):
        session.submit(Create("/b"), lambda result: order.append("inner"))
        order.append("outer")

    session.submit(Create("/a"), then_more)
    assert order == ["outer", "inner"]


def test_events_come_before_the_result_that_fired_them():
    store = MemoryStore()
    heard = []
    session = store.connect(heard.append)
    session.submit(Exists("/a", watch=True), heard.append)
    session.submit(Create("/a"), heard.append)
    assert heard[1:] == [WatchFired("/a", NodeChange.CREATED), Created("/a")]


def test_an_expired_session_hears_it_and_is_fenced():
    store = MemoryStore()
    heard = []
    session = store.connect(heard.append)
    session.expire()
    session.submit(Create("/a"), heard.append)
    assert heard == [SessionExpired(), Failed(Fault.SESSION_EXPIRED, "/a")]


def test_a_session_that_closes_hears_nothing_but_others_do():
    store = MemoryStore()
    ours, theirs = [], []
    leaving, staying = store.connect(ours.append), store.connect(theirs.append)
    leaving.submit(Create("/a", ephemeral=True), lambda result: None)
    staying.submit(Exists("/a", watch=True), lambda result: None)
    leaving.close()
    assert ours == []
    assert theirs == [WatchFired("/a", NodeChange.DELETED)]


def test_a_lost_answer_hides_whether_it_was_done():
    store = MemoryStore()
    session = store.connect()
    results = []
    session.lose_connection(executed=True)
    session.lose_connection(executed=False, after=1)
    for operation in (Create("/a"), GetData("/a"), SetData("/a", b"x"), Multi((Create("/b"),))):
        session.submit(operation, results.append)
    assert results[0] == Failed(Fault.CONNECTION_LOSS, "/a")
    assert results[2] == Failed(Fault.CONNECTION_LOSS, "/a")
    assert {path: data for path, (data, _) in store.table.snapshot().items()} == {
        "/": b"",
        "/a": b"",
        "/b": b"",
    }
