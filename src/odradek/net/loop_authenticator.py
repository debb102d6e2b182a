"""Authenticates one connection on a loop, once it is made and again before its session ends.

It has a request pipeline of its own, so the connection's requests wait unwritten meanwhile, in their order.
The connection gives it all bytes that arrive while `authenticate` runs, and no others.

Invariant: what may take long (deriving a key, fetching a token) runs on a thread of the loop's executor.
"""

import asyncio
import secrets
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from odradek.base.buffers import Buffer
from odradek.base.clock import Clock
from odradek.net.request_pipeline import Answer, ConnectionFailed, RequestPipeline, decode_answer
from odradek.net.sasl.authentication import authentication, renewed_after_ms
from odradek.net.sasl.credentials import Credentials
from odradek.net.sasl.exchange import Compute
from odradek.wire.message import Message
from odradek.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse

AUTHENTICATION_MS: Final = 30_000
"""How long it may take at most; the connection ends it."""
_NONCE_BYTES: Final = 24
_FRAME_BYTES_MAX: Final = 1 << 20
"""No mechanism has messages of this size."""

R = TypeVar("R", bound=Message)


class LoopAuthenticator:
    """Used on the thread of its loop."""

    __slots__ = ("_asked", "_credentials", "_knows_versions", "_loop", "_pipeline", "_write")

    def __init__(
        self,
        address: str,
        clock: Clock,
        loop: asyncio.AbstractEventLoop,
        credentials: Credentials,
        *,
        client_id: str,
        write: Callable[[Sequence[Buffer]], None],
    ) -> None:
        """`write` writes to the transport; it is called only while `authenticate` runs."""
        self._loop = loop
        self._credentials = credentials
        self._write = write
        self._pipeline = RequestPipeline(
            address, clock, client_id=client_id, frame_bytes_max=_FRAME_BYTES_MAX
        )
        # Gets the answer to the request in flight; None while none is.
        self._asked: asyncio.Future[Answer] | None = None
        self._knows_versions = False

    async def authenticate(self) -> int:
        """Returns after how many ms to do it again; 0: never. Raises ConnectionFailed."""
        if not self._knows_versions:
            self._pipeline.learn_versions(await self._ask(ApiVersionsRequest(), ApiVersionsResponse, 0))
            self._knows_versions = True
        effects = authentication(self._credentials, secrets.token_urlsafe(_NONCE_BYTES))
        answer: Message | bytes | None = None
        while True:
            try:
                effect = effects.send(answer)
            except StopIteration as done:
                return renewed_after_ms(done.value) if done.value else 0
            if isinstance(effect, Compute):
                answer = await self._loop.run_in_executor(None, effect.call)
            else:
                version = self._pipeline.version_of(type(effect.request))
                answer = await self._ask(effect.request, effect.response, version)

    def writable(self) -> memoryview:
        """Where to put the next bytes that arrive."""
        return self._pipeline.writable()

    def received(self, size_bytes: int) -> None:
        """Process so many bytes, written to `writable`. Raises ConnectionFailed for what answers nothing."""
        for outcome in self._pipeline.received(size_bytes):
            asked, self._asked = self._asked, None
            if asked is None or asked.done():
                continue
            if isinstance(outcome, Answer):
                asked.set_result(outcome)
            else:
                asked.set_exception(outcome.error)
        if not self._pipeline.is_open and self._asked is None:
            raise ConnectionFailed("bytes came that answer no request of the authentication")

    async def _ask(self, request: Message, response: type[R], version: int) -> R:
        self._asked = asked = self._loop.create_future()
        _, parts = self._pipeline.send(request, version, AUTHENTICATION_MS)
        self._write(parts)
        return decode_answer(self._pipeline.address, await asked, response)
