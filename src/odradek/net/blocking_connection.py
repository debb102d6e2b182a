"""A blocking connection to one broker, for those with a thread to wait on: tools, fixtures, Spark tasks.

Requests may be sent ahead of their answers; a broker answers one connection in order, so answers are taken in
the order of the requests.
"""

import socket
import struct
from collections import deque
from types import TracebackType
from typing import Self, TypeVar

from odradek.base.errors import OdradekError
from odradek.wire.headers import RequestHeader, decode_response_header, encode_request_header
from odradek.wire.message import Message
from odradek.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from odradek.wire.versions import VERSION_LIMIT

CLIENT_ID = "odradek"
FRAME_BYTES_MAX = 1 << 30
TIMEOUT_S = 30.0
_INT32 = struct.Struct(">i")


class ConnectionFailed(OdradekError):
    """The broker could not be reached, or the connection ended."""


R = TypeVar("R", bound=Message)


class BrokerConnection:
    """One connection; versions are agreed on when it is opened. Raises ConnectionFailed throughout."""

    def __init__(
        self, host: str, port: int, *, client_id: str = CLIENT_ID, timeout_s: float = TIMEOUT_S
    ) -> None:
        self.address = f"{host}:{port}"
        try:
            self._socket = socket.create_connection((host, port), timeout=timeout_s)
        except OSError as error:
            raise ConnectionFailed(f"cannot connect to {self.address}: {error}") from error
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._client_id = client_id
        self._correlation_id = 0
        # (correlation id, API key, version) of requests without their answer, the oldest first.
        self._waiting: deque[tuple[int, int, int]] = deque()
        self._served: dict[int, tuple[int, int]] = {}
        try:
            self._negotiate()
        except BaseException:
            self._socket.close()
            raise

    def serves(self, request: type[Message]) -> bool:
        """Whether the broker serves this API at all."""
        return request.API_KEY in self._served

    def version_of(self, request: type[Message], most: int) -> int:
        """The highest version of an API that both sides know, at most `most`."""
        lowest, highest = self._served.get(request.API_KEY, (0, -1))
        version = min(highest, request.VERSIONS[1], most)
        if version < max(lowest, request.VERSIONS[0]):
            raise ConnectionFailed(
                f"{self.address} does not serve {request.__name__} in a version known here"
            )
        return version

    def send(self, request: Message, version: int) -> None:
        """Send a request; its answer is fetched by `receive`, in order."""
        self._correlation_id += 1
        header = RequestHeader(request.API_KEY, version, self._correlation_id, self._client_id)
        frame = encode_request_header(header) + request.encode(version)
        try:
            self._socket.sendall(_INT32.pack(len(frame)) + frame)
        except OSError as error:
            raise ConnectionFailed(f"the connection to {self.address} broke: {error}") from error
        self._waiting.append((self._correlation_id, request.API_KEY, version))

    def receive(self, response: type[R]) -> R:
        """The answer to the oldest request without one; byte fields are views into its frame."""
        expected, api_key, version = self._waiting.popleft()
        size = _INT32.unpack(self._read_exactly(4))[0]
        if not 4 <= size <= FRAME_BYTES_MAX:
            raise ConnectionFailed(f"{self.address} sent a frame of {size} bytes")
        frame = memoryview(self._read_exactly(size))
        correlation_id, position = decode_response_header(frame, api_key, version)
        if correlation_id != expected:
            raise ConnectionFailed(f"{self.address} answered request {correlation_id} instead of {expected}")
        return response.decode(frame, version, position)

    def call(self, request: Message, response: type[R], version: int) -> R:
        """Send a request and wait for its answer; no other may be under way."""
        assert not self._waiting, "an answer is still to be taken"
        self.send(request, version)
        return self.receive(response)

    def ask(self, request: Message, response: type[R], version_max: int = VERSION_LIMIT) -> R:
        """`call` in the highest version that both sides know, at most `version_max`."""
        return self.call(request, response, self.version_of(type(request), version_max))

    def close(self) -> None:
        """End the connection; answers still under way are lost."""
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _negotiate(self) -> None:
        answer = self.call(ApiVersionsRequest(), ApiVersionsResponse, 0)
        self._served = {api.api_key: (api.min_version, api.max_version) for api in answer.api_keys}

    def _read_exactly(self, count: int) -> bytearray:
        data = bytearray(count)
        view = memoryview(data)
        filled = 0
        while filled < count:
            try:
                received = self._socket.recv_into(view[filled:])
            except OSError as error:
                raise ConnectionFailed(f"the connection to {self.address} broke: {error}") from error
            if not received:
                raise ConnectionFailed(f"{self.address} closed the connection")
            filled += received
        return data
