"""The options of sockets whose peers may vanish, as the system has them."""

import socket

from odradek.net.keep_alive import COUNT, IDLE_S, INTERVAL_S, UNACKNOWLEDGED_MS, keep_alive


def options(asked: socket.socket) -> list[int]:
    found = [asked.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)]
    for name in ("TCP_KEEPIDLE", "TCP_KEEPINTVL", "TCP_KEEPCNT", "TCP_USER_TIMEOUT"):
        if hasattr(socket, name):
            found.append(asked.getsockopt(socket.IPPROTO_TCP, getattr(socket, name)))
    return found


def test_what_a_listening_socket_accepts_is_asked_whether_it_is_there() -> None:
    with socket.socket() as listening, socket.socket() as client:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        keep_alive(listening.fileno())
        client.connect(listening.getsockname())
        with listening.accept()[0] as accepted:
            expected = [1, IDLE_S, INTERVAL_S, COUNT, UNACKNOWLEDGED_MS]
            assert options(accepted) == expected[: len(options(accepted))]
        assert options(client)[0] == 0
        keep_alive(client.fileno())
        assert options(client)[0] == 1
