"""A server that answers every frame with the same bytes, to measure the most that a load generator can send.

    python -m benchmarks.macro.echo ANSWER_IN_HEX      prints its port, and ends when its input ends

It puts the request's correlation id in front of the answer and does nothing else, which is less than any
broker can do; it runs in a process of its own, as a broker does.
"""

import contextlib
import select
import socket
import subprocess
import sys
from collections.abc import Iterator

from peers.process import HOST

from benchmarks.macro.crowd import CORRELATION_ID_AT, LENGTH

CORRELATION_ID_BYTES = 4
RECEIVED_BYTES_MAX = 1 << 16


@contextlib.contextmanager
def echo(answer: bytes) -> Iterator[int]:
    """Run such a server during the block; yields its port. `answer` begins behind the correlation id."""
    command = [sys.executable, "-m", __name__, answer.hex()]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.stdin.close()


def main() -> None:
    """Serve until the input ends. Assumes that a request arrives in one piece: there is one at a time."""
    rest = bytes.fromhex(sys.argv[1])
    length = LENGTH.pack(CORRELATION_ID_BYTES + len(rest))
    correlation_id = slice(CORRELATION_ID_AT, CORRELATION_ID_AT + CORRELATION_ID_BYTES)
    connections: dict[int, socket.socket] = {}
    with socket.create_server((HOST, 0), backlog=1024) as listener, select.epoll() as epoll:
        print(listener.getsockname()[1], flush=True)
        epoll.register(listener, select.EPOLLIN)
        epoll.register(sys.stdin, select.EPOLLIN)
        while True:
            for descriptor, _ in epoll.poll():
                if descriptor == sys.stdin.fileno():
                    return
                if descriptor == listener.fileno():
                    connection, _ = listener.accept()
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    connections[connection.fileno()] = connection
                    epoll.register(connection, select.EPOLLIN)
                    continue
                received = connections[descriptor].recv(RECEIVED_BYTES_MAX)
                if received:
                    connections[descriptor].sendall(length + received[correlation_id] + rest)
                else:
                    connections.pop(descriptor).close()


if __name__ == "__main__":
    main()
