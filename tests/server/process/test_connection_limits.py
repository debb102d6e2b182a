"""The limits of connections, as a broker's own listeners keep them."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from odradek import Admin
from odradek.base.settings import SettingLayers
from odradek.server.process.broker_thread import BrokerThread

WAIT_S = 10.0
API_VERSIONS_V0 = bytes.fromhex("0000000a 0012 0000 00000007 ffff")


@contextmanager
def running(directory: Path) -> Iterator[BrokerThread]:
    """A broker on this directory, stopped at the end."""
    layers, unknown = SettingLayers.from_static(
        {"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": str(directory)}
    )
    assert not unknown
    broker = BrokerThread(layers)
    broker.start()
    try:
        yield broker
    finally:
        broker.stop()


def connected(broker: BrokerThread) -> socket.socket:
    host, _, port = broker.bootstrap_servers.rpartition(":")
    return socket.create_connection((host, int(port)), WAIT_S)


def is_served(connection: socket.socket) -> bool:
    """Whether a request is answered, and not the connection closed."""
    try:
        connection.sendall(API_VERSIONS_V0)
        return bool(connection.recv(1))
    except ConnectionError:
        return False


def served_of_three(broker: BrokerThread) -> int:
    """How many of three connections that are open together are served."""
    connections = [connected(broker) for _ in range(3)]
    try:
        return sum(is_served(connection) for connection in connections)
    finally:
        for connection in connections:
            connection.close()


@pytest.mark.parametrize("name", ["max.connections", "max.connections.per.ip"])
def test_a_limit_that_changes_is_in_force_for_the_next_connection(tmp_path: Path, name: str) -> None:
    """R18: without a restart, when it is taken back, and after a restart."""
    with running(tmp_path / "logs") as broker, Admin(broker.bootstrap_servers) as admin:
        assert served_of_three(broker) == 3
        admin.alter_configs("broker", "", {name: "3"})
        assert served_of_three(broker) == 2, "the admin client has one"
        admin.alter_configs("broker", "", {name: None})
        assert served_of_three(broker) == 3
        admin.alter_configs("broker", "", {name: "2"})
    with running(tmp_path / "logs") as again:
        assert served_of_three(again) == 2
