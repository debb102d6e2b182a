"""What a blocking connection says of an address where no broker answers as one does."""

import socket
import threading
from collections.abc import Iterator

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.net.blocking_connection import BrokerConnection
from odradek.net.request_pipeline import ConnectionFailed


@pytest.fixture
def server() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as made:
        yield made


def test_a_broker_that_is_held_up_did_not_answer_in_time(server: socket.socket) -> None:
    """It is not taken for something else than a broker: the kernel accepts for a stopped process, too."""
    port = server.getsockname()[1]
    with pytest.raises(ConnectionFailed) as failed:
        BrokerConnection("127.0.0.1", port, timeout_s=0.05)
    assert failed.value.code is ErrorCode.REQUEST_TIMED_OUT
    assert failed.value.message == f"127.0.0.1:{port} did not answer within 0.05 s (api versions)"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"", "the broker closed it"),
        (b"\0\0\0\x04\0\0\0\x63", "an answer to no request, or out of order: correlation id 99"),
        (b"\0\0\0\x05\0\0\0\x01\0", "answered what cannot be read: "),
    ],
)
def test_what_is_no_broker_is_named_once(server: socket.socket, answer: bytes, reason: str) -> None:
    port = server.getsockname()[1]

    def answer_one() -> None:
        with server.accept()[0] as connection:
            connection.recv(1 << 16)
            connection.sendall(answer)

    answering = threading.Thread(target=answer_one)
    answering.start()
    with pytest.raises(ConnectionFailed) as failed:
        BrokerConnection("127.0.0.1", port)
    answering.join()
    said = f"127.0.0.1:{port} does not answer as a PLAINTEXT listener of a broker does: {reason}"
    assert failed.value.message.startswith(said)
    assert failed.value.message.count(str(port)) == 1
