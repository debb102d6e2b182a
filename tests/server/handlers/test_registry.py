"""When the code of a handler is loaded, and through whom."""

from collections.abc import Callable
from typing import Any

from odradek.server.handlers.index import INDEX, LOAD_ORDER
from odradek.server.handlers.registry import Handlers

FETCH = 1


class Loading:
    """Counts the calls that load code."""

    def __init__(self) -> None:
        self.count = 0

    def load(self, call: Callable[[], Any]) -> Any:
        self.count += 1
        return call()


def test_a_handler_is_loaded_once_by_who_measures_that() -> None:
    loading = Loading()
    handlers = Handlers(load_code=loading.load)
    first = handlers.get(INDEX[0].key)
    assert first is not None
    assert handlers.get(INDEX[0].key) is first
    assert loading.count == 1
    assert handlers.get(9_999) is None
    handlers.between_brokers().get(FETCH)
    assert loading.count == 2


def test_brokers_get_what_brokers_send_and_nothing_else() -> None:
    """A client that finds the listener between brokers works with no address or limit that is not its own."""
    clients = Handlers()
    brokers = clients.between_brokers()
    assert set(clients.api_keys) == {row.key for row in INDEX}
    assert set(brokers.api_keys) == {1, 2, 4, 5, 6, 7, 18, 23, 24, 27, 58, 67}
    assert all(brokers.get(key) is not None for key in brokers.api_keys)
    assert [brokers.get(key) for key in set(clients.api_keys) - set(brokers.api_keys)].count(None) == len(
        clients.api_keys
    ) - len(brokers.api_keys)


def test_what_nobody_has_asked_for_is_loaded_one_module_at_a_time() -> None:
    loading = Loading()
    handlers = Handlers(load_code=loading.load)
    handlers.get(INDEX[0].key)
    before, most = loading.count, 0
    for _ in handlers.load_by_and_by():
        most = max(most, loading.count - before)
        before = loading.count
    assert most == 1
    assert loading.count == len(LOAD_ORDER) + len(INDEX)
