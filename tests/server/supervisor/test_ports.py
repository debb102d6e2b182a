"""Ports that are held for brokers while they are not running."""

import socket
import sys

import pytest

from odradek.base.errors import SettingError
from odradek.server.edge.addresses import ListenerAddress
from odradek.server.supervisor.ports import HeldPorts

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a port can be bound only once")


def at(host: str, port: int = 0) -> ListenerAddress:
    return ListenerAddress("PLAINTEXT", host, port)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "0.0.0.0", ""])
def test_the_broker_may_listen_on_a_port_that_is_held(host: str) -> None:
    ports = HeldPorts()
    port = ports.hold(1, at(host))
    try:
        with socket.create_server((host, port)) as server:
            assert server.getsockname()[1] == port
    finally:
        ports.close()


@on_linux
def test_a_held_port_is_given_to_nobody_who_does_not_reuse_it_and_refuses_clients() -> None:
    ports = HeldPorts()
    port = ports.hold(1, at("127.0.0.1"))
    assert ports.is_holding(1)
    with socket.socket() as other:
        with pytest.raises(OSError, match="in use"):
            other.bind(("127.0.0.1", port))
        with pytest.raises(ConnectionRefusedError):
            other.connect(("127.0.0.1", port))
    ports.release(1)
    assert not ports.is_holding(1)
    with socket.socket() as other:
        other.bind(("127.0.0.1", port))


def test_ports_of_the_system_differ() -> None:
    ports = HeldPorts()
    assert len({ports.hold(broker_id, at("127.0.0.1")) for broker_id in range(1, 9)}) == 8
    ports.close()


def test_a_port_in_use_is_refused_in_a_sentence() -> None:
    ports = HeldPorts()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(
            SettingError, match=rf"^cannot listen on 127\.0\.0\.1:{port}: address already in use$"
        ):
            ports.hold(1, at("127.0.0.1", port))
    assert not ports.is_holding(1)


def test_an_address_of_another_machine_is_refused_in_a_sentence() -> None:
    with pytest.raises(SettingError, match=r"^cannot listen on 192\.0\.2\.1:9092: cannot assign"):
        HeldPorts().hold(1, at("192.0.2.1", 9092))
