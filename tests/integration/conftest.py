"""Broker processes that tests may damage, and clients for them."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.testing.broker_process import BrokerProcess
from tests.batches import BatchOf, make_batch
from tests.integration.plain_clients import WAIT_S, Connect, ConnectRaw, PlainClient, RawClient
from tests.integration.processes import NewProcess, Serve


@pytest.fixture
def connect() -> Connect:
    return PlainClient


@pytest.fixture
def connect_raw() -> ConnectRaw:
    return RawClient


@pytest.fixture
def batch_of() -> BatchOf:
    """A batch with these values."""
    return make_batch


@pytest.fixture
def new_process(tmp_path: Path) -> Iterator[NewProcess]:
    """Make brokers in processes of their own, not yet started; whatever still runs is killed at the end."""
    made: list[BrokerProcess] = []

    def make(data_dir: Path | None = None, **settings: str) -> BrokerProcess:
        broker = BrokerProcess(
            data_dir or tmp_path / "data",
            settings={name.replace("_", "."): value for name, value in settings.items()},
            log_path=tmp_path / f"broker-{len(made)}.log",
        )
        made.append(broker)
        return broker

    yield make
    for broker in made:
        if broker.is_running:
            broker.kill()


@pytest.fixture
def serve() -> Serve:
    """Run `odradek serve` to its end: for starts that fail."""

    def run(*arguments: str | Path) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-m", "odradek.cli.main", "serve", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=WAIT_S, check=False)

    return run
