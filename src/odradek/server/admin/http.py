"""The loopback HTTP listener: metrics for Prometheus, health for supervisors, and what the broker is doing.

Law: it only reads. Starlette, uvicorn and prometheus-client are imported when it is started and never
without it: they cost more time and memory than the rest of a broker's start.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from odradek.server.admin.descriptions import describe
from odradek.server.admin.metrics import render_metrics
from odradek.server.admin.view import BrokerView
from odradek.server.edge.listener import cannot_listen

if TYPE_CHECKING:
    import uvicorn
    from starlette.requests import Request
    from starlette.responses import Response


HOST: Final = "127.0.0.1"


class AdminServer:
    """Serves one broker's state on its own loop."""

    def __init__(self) -> None:
        # Bound, and not yet served; None before and after.
        self._listening: socket.socket | None = None
        self._server: uvicorn.Server | None = None
        self._serving: asyncio.Task[None] | None = None
        self.address = ""
        """host:port, once bound."""

    def bind(self, port: int) -> None:
        """Take a port of loopback; 0 is any free one. Raises CannotListen."""
        try:
            self._listening = socket.create_server((HOST, port))
        except OSError as error:
            raise cannot_listen(HOST, port, error) from None
        self.address = f"{HOST}:{self._listening.getsockname()[1]}"

    async def start(self, broker: BrokerView) -> None:
        """Answer about a broker, after `bind`."""
        assert self._listening is not None, "no port was taken"
        import uvicorn

        class Server(uvicorn.Server):
            @contextlib.contextmanager
            def capture_signals(self) -> Iterator[None]:
                yield  # signals are the broker's

        config = uvicorn.Config(_application(broker), lifespan="off", log_config=None, access_log=False)
        self._server = Server(config)
        self._serving = asyncio.create_task(self._server.serve(sockets=[self._listening]))
        self._listening = None

    async def close(self) -> None:
        """Stop listening and end open requests."""
        if self._listening is not None:
            self._listening.close()
            self._listening = None
        if self._server is not None and self._serving is not None:
            self._server.should_exit = True
            await self._serving


def _application(broker: BrokerView) -> Any:  # noqa: ANN401 - an ASGI application
    from starlette.applications import Starlette
    from starlette.responses import JSONResponse, PlainTextResponse
    from starlette.routing import Route

    async def metrics(request: Request) -> Response:
        return PlainTextResponse(render_metrics(broker), media_type="text/plain; version=0.0.4")

    async def healthz(request: Request) -> Response:
        return PlainTextResponse("alive\n")

    async def readyz(request: Request) -> Response:
        if broker.is_ready():
            return PlainTextResponse("ready\n")
        return PlainTextResponse("not ready\n", status_code=503)

    async def described(request: Request) -> Response:
        found = describe(broker, request.path_params["subject"])
        if found is None:
            return JSONResponse({"error": "there is nothing of that name to describe"}, status_code=404)
        return JSONResponse(found)

    return Starlette(
        routes=[
            Route("/metrics", metrics),
            Route("/healthz", healthz),
            Route("/readyz", readyz),
            Route("/describe/{subject}", described),
        ]
    )
