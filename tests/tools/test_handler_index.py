"""What is served derives from the handlers: the index, ApiVersions and docs/compat.md."""

from importlib import import_module

import pytest
from tools.handler_index import INDEX, declared, load_order, render

from odradek.server.edge.serving import Serves
from odradek.server.handlers import fetch
from odradek.server.node.load_order import LOAD_ORDER
from odradek.wire.apis import APIS


def test_the_index_is_what_the_handlers_declare() -> None:
    assert INDEX.read_text() == render(), "run ./dev generate"


def test_the_load_order_names_what_is_there() -> None:
    """It may lag behind the imports, which costs smoothness; a name that is gone would cost the start."""
    for name in LOAD_ORDER:
        import_module(name)
    missing = set(load_order()) - set(LOAD_ORDER)
    assert len(missing) * 10 < len(LOAD_ORDER), f"run ./dev generate: {sorted(missing)}"


def test_a_version_that_the_codec_lacks_cannot_be_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    highest = APIS[1].versions.highest
    monkeypatch.setattr(fetch, "SERVES", Serves(1, 4, highest + 1, kips={}))
    with pytest.raises(ValueError, match="the codec does not know"):
        declared()


def test_teaching_the_codec_a_version_does_not_serve_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "SERVES", Serves(1, 4, 17, kips={}))
    assert 'Row(1, "fetch", 4, 17, 4)' in render()


def test_a_handler_is_named_after_its_api(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "SERVES", Serves(0, 3, 13, kips={}))
    with pytest.raises(ValueError, match="fetch serves Produce"):
        declared()


@pytest.mark.parametrize("module", declared())
def test_a_kip_names_a_version_that_is_served(module: str) -> None:
    serves = declared()[module]
    lowest = serves.lowest if serves.listed_from is None else serves.listed_from
    assert all(lowest <= version <= serves.highest for version in serves.kips)
