"""A blocking connection to one broker, for callers that may block: the shell of a `RequestPipeline`.

Several requests may be sent before their answers are read; answers are read in the order of the requests.
It is encrypted and authenticated as its `Security` says, before any other request but ApiVersions is sent. If
the broker limits the session's life, `send` authenticates again in time (KIP-368).
"""

import secrets
import socket
from collections import deque
from typing import TypeVar

from odradek.base.clock import Clock, SystemClock
from odradek.base.closing import Closing
from odradek.base.error_codes import ErrorCode
from odradek.net.request_pipeline import (
    ConnectionFailed,
    Failure,
    Outcome,
    RequestPipeline,
    decode_answer,
)
from odradek.net.security import UNPROTECTED, Security
from odradek.wire.message import Message
from odradek.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from odradek.wire.versions import VERSION_LIMIT

CLIENT_ID = "odradek"
TIMEOUT_S = 30.0

NONCE_BYTES = 24

R = TypeVar("R", bound=Message)


class BrokerConnection(Closing):
    """One connection; versions are agreed on when it is opened. Raises ConnectionFailed throughout."""

    def __init__(
        self,
        host: str,
        port: int,
        *,
        client_id: str = CLIENT_ID,
        timeout_s: float = TIMEOUT_S,
        security: Security = UNPROTECTED,
        clock: Clock | None = None,
    ) -> None:
        self.address = f"{host}:{port}"
        self._security = security
        # When to authenticate again; None for a session without a limit.
        self._renew_at_ms: int | None = None
        self._socket = _connected(host, port, timeout_s, security)
        self._timeout_ms = int(timeout_s * 1000)
        self._clock = clock or SystemClock()
        self._pipeline = RequestPipeline(self.address, self._clock, client_id=client_id)
        # Outcomes not yet returned by a call, the oldest first.
        self._outcomes: deque[Outcome] = deque()
        try:
            self._learn_versions()
            self._authenticate()
        except BaseException:
            self._socket.close()
            raise

    def serves(self, request: type[Message]) -> bool:
        """Whether the broker serves this API at all."""
        return self._pipeline.serves(request)

    def version_of(self, request: type[Message], most: int) -> int:
        """The highest version of an API that both sides know, at most `most`."""
        return self._pipeline.version_of(request, most)

    def send(self, request: Message, version: int) -> None:
        """Send a request; its answer is fetched by `receive`, in order."""
        if self._renew_at_ms is not None and self._clock.monotonic_ms() >= self._renew_at_ms:
            self._authenticate()
        self._write(request, version)

    def _write(self, request: Message, version: int) -> None:
        _, parts = self._pipeline.send(request, version, self._timeout_ms)
        try:
            self._socket.sendall(b"".join(parts))
        except OSError as error:
            self._outcomes.extend(self._pipeline.lost(str(error)))
            raise ConnectionFailed(f"the connection to {self.address} broke: {error}") from error

    def send_unanswered(self, request: Message, version: int) -> None:
        """Send a request that the broker does not answer, such as a produce with acks=0."""
        self.send(request, version)
        self._pipeline.forget_last()

    def receive(self, response: type[R]) -> R:
        """Returns the answer to the oldest unanswered request; byte fields are views into its frame."""
        while not self._outcomes:
            self._outcomes.extend(self._read_some())
        outcome = self._outcomes.popleft()
        if isinstance(outcome, Failure):
            raise outcome.error
        return decode_answer(self.address, outcome, response)

    def call(self, request: Message, response: type[R], version: int) -> R:
        """Send a request and wait for its answer; no other request may be in flight."""
        assert not self._pipeline.in_flight, "an answer is still to be taken"
        assert not self._outcomes, "an answer is still to be taken"
        self.send(request, version)
        return self.receive(response)

    def ask(self, request: Message, response: type[R], version_max: int = VERSION_LIMIT) -> R:
        """`call` in the highest version that both sides know, at most `version_max`."""
        return self.call(request, response, self.version_of(type(request), version_max))

    def close(self) -> None:
        """Close the connection; outstanding answers are lost."""
        self._pipeline.lost("it was closed here")
        self._socket.close()

    def _learn_versions(self) -> None:
        try:
            self._pipeline.learn_versions(self.call(ApiVersionsRequest(), ApiVersionsResponse, 0))
        except ConnectionFailed as failed:
            if failed.code is ErrorCode.REQUEST_TIMED_OUT:  # A broker that is held up is one all the same.
                raise
            kind = self._security.protocol
            reason = str(failed).removeprefix(f"the connection to {self.address} is lost: ")
            reason = reason.removeprefix(f"{self.address} ")
            said = f"{self.address} does not answer as a {kind} listener of a broker does: {reason}"
            raise ConnectionFailed(said, failed.code) from failed

    def _authenticate(self) -> None:
        """Authenticate if credentials are there. Requests in flight keep their answers."""
        if self._security.credentials is None:
            return
        from odradek.net.sasl.authentication import authentication, renewed_after_ms
        from odradek.net.sasl.exchange import AuthenticationFailed, Compute

        effects = authentication(self._security.credentials, secrets.token_urlsafe(NONCE_BYTES))
        answer: Message | bytes | None = None
        while True:
            try:
                effect = effects.send(answer)
            except StopIteration as done:
                lifetime_ms: int = done.value
                break
            except AuthenticationFailed as failed:
                self.close()
                raise AuthenticationFailed(f"{self.address}: {failed}", failed.code) from failed
            if isinstance(effect, Compute):
                answer = effect.call()
            else:
                answer = self._exchange(effect.request, effect.response)
        now_ms = self._clock.monotonic_ms()
        self._renew_at_ms = now_ms + renewed_after_ms(lifetime_ms) if lifetime_ms else None

    def _exchange(self, request: Message, response: type[R]) -> R:
        """The answer to a request of the authentication; those that come before it are kept for `receive`."""
        self._write(request, self._pipeline.version_of(type(request)))
        while self._pipeline.in_flight:
            self._outcomes.extend(self._read_some())
        outcome = self._outcomes.pop()
        if isinstance(outcome, Failure):
            raise outcome.error
        return decode_answer(self.address, outcome, response)

    def _read_some(self) -> list[Outcome]:
        """Wait for bytes, at most until the oldest request times out; returns their outcomes."""
        deadline_ms = self._pipeline.next_deadline_ms()
        assert deadline_ms is not None, "nothing was asked that is not answered"
        try:
            self._socket.settimeout(max(1, deadline_ms - self._clock.monotonic_ms()) / 1000)
            received = self._socket.recv_into(self._pipeline.writable())
        except TimeoutError:
            return list(self._pipeline.expire())
        except OSError as error:
            return list(self._pipeline.lost(str(error)))
        if not received:
            return list(self._pipeline.lost("the broker closed it"))
        return list(self._pipeline.received(received))


def _connected(host: str, port: int, timeout_s: float, security: Security) -> socket.socket:
    """A socket, encrypted if `security` says so. Raises ConnectionFailed."""
    try:
        connected = socket.create_connection((host, port), timeout=timeout_s)
    # Of a host or port that cannot be, Python says ValueError (also for UnicodeError) and OverflowError.
    except (OSError, ValueError, OverflowError) as error:
        reason = ((isinstance(error, OSError) and error.strerror) or str(error)).lower()
        raise ConnectionFailed(f"cannot connect to {host}:{port}: {reason}") from error
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if security.tls is None:
        return connected
    from odradek.net.tls import tls_fault

    try:
        return security.tls.wrap_socket(connected, server_hostname=host)
    except OSError as error:
        connected.close()
        raise ConnectionFailed(f"cannot connect to {host}:{port}: {tls_fault(error)}") from error
