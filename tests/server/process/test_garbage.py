"""The garbage collector in a broker's own process, and in a process that embeds a broker."""

import gc
from collections.abc import Iterator

import pytest

from odradek.server.process import garbage
from odradek.testing.broker import Broker


@pytest.fixture
def collector() -> Iterator[None]:
    """Puts back the collector's settings."""
    before, was_enabled = gc.get_threshold(), gc.isenabled()
    yield
    gc.unfreeze()
    gc.set_threshold(*before)
    if was_enabled:
        gc.enable()


@pytest.mark.usefixtures("collector")
def test_one_collection_looks_at_few_objects() -> None:
    """An order for thousands of partitions makes hundreds of thousands, which live on."""
    gc.disable()
    garbage.begin()
    assert gc.isenabled()
    frozen = gc.get_freeze_count()
    garbage.serve()
    assert gc.get_freeze_count() >= frozen > 0
    young, middle, _ = gc.get_threshold()
    assert young * (1 + middle) <= 10_000


def test_a_process_that_embeds_a_broker_keeps_its_collector() -> None:
    before = gc.get_threshold(), gc.isenabled(), gc.get_freeze_count()
    with Broker():
        assert (gc.get_threshold(), gc.isenabled(), gc.get_freeze_count()) == before
