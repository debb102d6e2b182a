"""A scripted broker with TLS and SASL on a loopback port: the other end of connections under test.

It answers ApiVersions, SaslHandshake, SaslAuthenticate and DescribeCluster, and keeps what it was asked. As a
real broker does, it ends a connection on which something else is asked before the login, and refuses a second
login within the exchange of a first.
"""

import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Self

from odradek.base.error_codes import ErrorCode
from odradek.net.framing import framed
from odradek.wire.headers import decode_request_header, encode_response_header
from odradek.wire.message import Message
from odradek.wire.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from odradek.wire.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from odradek.wire.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from odradek.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

FRAME_BYTES_MAX = 100_000
SERVED = (ApiVersionsRequest, SaslHandshakeRequest, SaslAuthenticateRequest, DescribeClusterRequest)

Check = Callable[[bytes], SaslAuthenticateResponse]


def plain_of_ada(auth_bytes: bytes) -> SaslAuthenticateResponse:
    """PLAIN with one user."""
    if auth_bytes == b"\0ada\0secret":
        return SaslAuthenticateResponse()
    return SaslAuthenticateResponse(ErrorCode.SASL_AUTHENTICATION_FAILED, "who are you?")


class ProtectedBroker:
    """Listens while it is entered; each connection has a thread."""

    def __init__(
        self,
        check: Check | None = plain_of_ada,
        *,
        tls: ssl.SSLContext | None = None,
        mechanism: str = "PLAIN",
    ) -> None:
        """`check` answers each SaslAuthenticate; None: it uses no SASL."""
        self.asked: list[str] = []
        """The names of the requests that it got, of all connections."""
        self._check = check
        self._tls = tls
        self._mechanism = mechanism
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._threads: list[threading.Thread] = []
        self._connections: list[socket.socket] = []

    @property
    def port(self) -> int:
        port: int = self._listening.getsockname()[1]
        return port

    def __enter__(self) -> Self:
        accepting = threading.Thread(target=self._accept, daemon=True)
        accepting.start()
        self._threads.append(accepting)
        return self

    def __exit__(self, *_: object) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for connection in self._connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(10)
            assert not thread.is_alive()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                accepted, _ = self._listening.accept()
                self._connections.append(accepted)
                serving = threading.Thread(target=self._serve, args=(accepted,), daemon=True)
                serving.start()
                self._threads.append(serving)

    def _serve(self, plain: socket.socket) -> None:
        with suppress(OSError, EOFError), plain:
            connection = plain if self._tls is None else self._tls.wrap_socket(plain, server_side=True)
            with connection:
                self._answer_all(connection)

    def _answer_all(self, connection: socket.socket) -> None:
        is_known, is_handshaken = self._check is None, False
        while True:
            size_bytes = int.from_bytes(_exactly(connection, 4))
            if size_bytes > FRAME_BYTES_MAX:  # something else is spoken
                return
            frame = _exactly(connection, size_bytes)
            header, position = decode_request_header(frame)
            (kind,) = (one for one in SERVED if header.api_key == one.API_KEY)
            self.asked.append(kind.__name__)
            request = kind.decode(frame, header.api_version, position)
            answer: Message
            if isinstance(request, ApiVersionsRequest):
                versions = [ApiVersion(one.API_KEY, *one.VERSIONS) for one in SERVED]
                answer = ApiVersionsResponse(api_keys=versions)
            elif isinstance(request, SaslHandshakeRequest):
                is_known, answer = False, self._handshake(request)
                is_handshaken = answer.error_code == ErrorCode.NONE
            elif isinstance(request, SaslAuthenticateRequest):
                assert is_handshaken
                assert self._check is not None
                answer = self._check(bytes(request.auth_bytes))
                is_known = answer.error_code == ErrorCode.NONE
            else:
                if not is_known:
                    return
                answer = DescribeClusterResponse(cluster_id="protected")
            head = encode_response_header(header.api_key, header.api_version, header.correlation_id)
            connection.sendall(b"".join(framed([head, answer.encode(header.api_version)])))

    def _handshake(self, request: SaslHandshakeRequest) -> SaslHandshakeResponse:
        if self._check is None:
            return SaslHandshakeResponse(ErrorCode.ILLEGAL_SASL_STATE)
        if request.mechanism != self._mechanism:
            return SaslHandshakeResponse(ErrorCode.UNSUPPORTED_SASL_MECHANISM, [self._mechanism])
        return SaslHandshakeResponse(mechanisms=[self._mechanism])


def _exactly(connection: socket.socket, size: int) -> bytes:
    received = b""
    while len(received) < size:
        more = connection.recv(size - len(received))
        if not more:
            raise EOFError
        received += more
    return received
