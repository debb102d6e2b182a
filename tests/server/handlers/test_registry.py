"""When the code of a handler is loaded, and through whom."""

import subprocess
import sys
from collections.abc import Callable
from typing import Any

from odradek.server.handlers.index import INDEX
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


_LOADED_AT_MOST = """
import sys
import odradek.server.process.serve, odradek.server.process.embedded_store
from odradek.server.handlers.registry import Handlers
most, names = 0, set(sys.modules)
for _ in Handlers().load_by_and_by():
    new = {name for name in set(sys.modules) - names if name.startswith("odradek.")}
    assert len(new) < 8, sorted(new)
    most, names = max(most, len(new)), set(sys.modules)
print(most)
"""


def test_what_nobody_has_asked_for_is_loaded_one_module_at_a_time() -> None:
    """A module and the packages that it is in; no large package imports its modules."""
    done = subprocess.run(
        [sys.executable, "-c", _LOADED_AT_MOST], capture_output=True, text=True, check=False
    )
    assert (done.stderr, done.returncode) == ("", 0)
    assert int(done.stdout) >= 1
