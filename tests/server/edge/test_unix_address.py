import errno
import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.base.ids import BrokerId
from odradek.server.edge.cannot_listen import CannotListen
from odradek.server.edge.unix_address import UnixAddress, broker_socket


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return broker_socket(str(tmp_path), BrokerId(7))


@pytest.fixture
def listening(path: Path) -> Iterator[socket.socket]:
    """A broker that has bound the path and listens there."""
    bound = UnixAddress(path).bind()
    bound.listen()
    yield bound
    bound.close()


def connecting(path: Path) -> int:
    """The error number of a connection to the path."""
    with socket.socket(socket.AF_UNIX) as client:
        client.setblocking(False)
        return client.connect_ex(str(path))


def test_each_broker_has_a_file_of_its_own_that_others_users_cannot_open(path: Path) -> None:
    address = UnixAddress(path)
    assert (path.name, str(address)) == ("broker-7.sock", str(path))
    with address.bind() as bound:
        assert stat.S_ISSOCK(path.stat().st_mode)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert connecting(path) == errno.ECONNREFUSED, "bound is not listening"
        bound.listen()
        assert connecting(path) == 0
    address.remove()
    assert not path.exists()
    address.remove()


def test_the_socket_of_an_earlier_life_is_replaced(path: Path, listening: socket.socket) -> None:
    listening.close()
    assert path.exists(), "as a crash leaves it"
    address = UnixAddress(path)
    with address.bind() as bound:
        bound.listen()
        address.check()
        assert connecting(path) == 0


def test_a_broker_of_the_same_id_that_runs_is_left_alone(path: Path, listening: socket.socket) -> None:
    before = path.stat()
    address = UnixAddress(path)
    with pytest.raises(
        CannotListen, match=rf"^cannot listen on {path}: another broker with this id is running$"
    ):
        address.bind()
    address.remove()
    assert path.stat().st_ino == before.st_ino
    assert connecting(path) == 0


def test_so_is_one_whose_queue_is_full(path: Path, listening: socket.socket) -> None:
    listening.listen(0)
    clients = [socket.socket(socket.AF_UNIX) for _ in range(8)]
    for client in clients:
        client.setblocking(False)
    try:
        assert errno.EAGAIN in [client.connect_ex(str(path)) for client in clients]
        with pytest.raises(CannotListen, match="another broker with this id is running"):
            UnixAddress(path).bind()
    finally:
        for client in clients:
            client.close()


def test_of_two_that_start_at_once_one_serves(path: Path) -> None:
    first, second = UnixAddress(path), UnixAddress(path)
    with first.bind() as earlier, second.bind() as later:
        earlier.listen()
        with pytest.raises(CannotListen, match="another process has replaced or removed this file"):
            first.check()
        first.remove()
        later.listen()
        second.check()
        assert connecting(path) == 0
    second.remove()
    assert not path.exists()


@pytest.mark.parametrize("content", ["file", "directory"])
def test_what_is_not_a_socket_is_left_alone(path: Path, content: str) -> None:
    if content == "file":
        path.write_text("a person's")
    else:
        path.mkdir()
    with pytest.raises(CannotListen, match=rf"^cannot listen on {path}: it is not a socket$"):
        UnixAddress(path).bind()
    assert path.exists()


def test_other_kinds_of_sockets_are_refused_with_the_systems_words(path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
        other.bind(str(path))
        with pytest.raises(CannotListen, match=rf"^cannot listen on {path}: "):
            UnixAddress(path).bind()


def test_a_directory_that_does_not_exist_is_said_in_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "no" / "broker-1.sock"
    with pytest.raises(CannotListen, match=rf"^cannot listen on {path}: no such file or directory$"):
        UnixAddress(path).bind()


def test_a_path_that_no_socket_can_have_is_said_in_a_sentence(tmp_path: Path) -> None:
    path = broker_socket(str(tmp_path / ("long" * 30)), BrokerId(1))
    os.mkdir(path.parent)
    with pytest.raises(CannotListen, match=r"broker-1.sock: the path is too long for a socket$"):
        UnixAddress(path).bind()
