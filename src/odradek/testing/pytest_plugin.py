"""The pytest plugin: fixtures that give a test a real broker.

- `odradek_broker`: one broker for the whole test run, in this process, on a clock that tests may move;
- `odradek_topic`: a topic of its own for each test on that broker;
- `odradek_broker_factory`: brokers of their own for tests that need other settings or must stop them.

Every pytest run on the machine imports this file; it imports the broker only when a test asks for one.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from odradek.testing.broker import Broker
    from odradek.testing.virtual_clock import VirtualClock


@pytest.fixture(scope="session")
def odradek_broker() -> "Iterator[Broker]":
    """A broker that all tests of the run share."""
    from odradek.testing.broker import Broker

    with Broker() as broker:
        yield broker


@pytest.fixture
def odradek_topic(odradek_broker: "Broker") -> Iterator[str]:
    """The name of a fresh topic of one partition, deleted after the test."""
    topic = odradek_broker.create_topic()
    yield topic
    odradek_broker.delete_topic(topic)


@pytest.fixture
def odradek_broker_factory() -> "Iterator[Callable[..., Broker]]":
    """Call it with the arguments of `odradek.testing.Broker`; what it started is stopped after the test."""
    from odradek.testing.broker import Broker

    started: list[Broker] = []

    def make(
        *,
        process: bool = False,
        settings: Mapping[str, str] | None = None,
        data_dir: Path | None = None,
        clock: "VirtualClock | None" = None,
    ) -> "Broker":
        broker = Broker(process=process, settings=settings, data_dir=data_dir, clock=clock)
        broker.start()
        started.append(broker)
        return broker

    yield make
    for broker in reversed(started):
        broker.stop()
