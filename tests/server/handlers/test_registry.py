"""When the code of a handler is loaded, and through whom."""

from collections.abc import Callable
from typing import Any

from odradek.server.handlers.index import INDEX, LOAD_ORDER
from odradek.server.handlers.registry import Handlers


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
    handlers.between_brokers().get(INDEX[0].key)
    assert loading.count == 2


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
