"""The HTTP listener for operators: metrics for Prometheus, health for supervisors, descriptions of the state.

It only reads. It answers requests to addresses and to allowed names (`net/http_hosts`), on a limited number
of connections with time limits (`connection`). It is on loopback unless `odradek.admin.host` is set.
Starlette, uvicorn and prometheus-client are imported only when the listener starts: they cost more time and
memory than the rest of a broker's start.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import logging
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, TypeVar

from odradek.base.errors import FaultRefused
from odradek.base.execution import Slices, Steps
from odradek.base.extras import missing_extra
from odradek.base.visible import visible_json
from odradek.net.http_hosts import AllowedHosts
from odradek.server.admin.descriptions import RenderedRows, describe
from odradek.server.admin.index_page import index_page
from odradek.server.admin.metrics import metrics_in_steps
from odradek.server.admin.replicas import replicas_in_steps, wanted_replicas
from odradek.server.admin.view import BrokerView
from odradek.server.edge.cannot_listen import CannotListen, cannot_listen
from odradek.server.edge.complaints import Complaints
from odradek.server.edge.open_files import admin_connections_affordable

if TYPE_CHECKING:
    import uvicorn
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Receive, Scope, Send

    from odradek.server.faults.documents import FaultRequests

# How long peers may still read their answers when the listener closes.
CLOSE_S: Final = 1.0
FAULT_BYTES_MAX: Final = 64 << 10
REFUSAL: Final = (
    "This listener answers to localhost, to addresses, and to what odradek.admin.allowed.hosts names.\n"
)
NOT_FOR_TESTS: Final = "this broker takes no faults: it was started without --test-faults"

_PAGE_HEADERS: Final = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"}

T = TypeVar("T")

_log = logging.getLogger(__name__)


class AdminServer:
    """Serves one broker's state on its own loop."""

    def __init__(self) -> None:
        # The socket that is bound and not served yet; None before and after.
        self._listening: socket.socket | None = None
        self._server: uvicorn.Server | None = None
        self._serving: asyncio.Task[None] | None = None
        self.address = ""
        """host:port, once bound."""

    def bind(self, host: str, port: int) -> None:
        """Bind a port; 0 means any free port. Raises CannotListen, also if the extra is not installed."""
        if reason := missing_extra("admin", "odradek.admin.port"):
            raise CannotListen(reason)
        try:
            self._listening = _listen(host.removeprefix("[").removesuffix("]"), port)
        except OSError as error:
            raise cannot_listen(f"{host}:{port}", error) from None
        bound, port = self._listening.getsockname()[:2]
        self.address = f"[{bound}]:{port}" if ":" in bound else f"{bound}:{port}"

    async def start(self, broker: BrokerView) -> None:
        """Begin to answer requests about a broker, after `bind`."""
        assert self._listening is not None, "no port was taken"
        import uvicorn

        class Server(uvicorn.Server):
            @contextlib.contextmanager
            def capture_signals(self) -> Iterator[None]:
                yield  # the broker handles the signals

        config = uvicorn.Config(
            _guarded(
                _application(broker), AllowedHosts(broker.node.core.settings.odradek_admin_allowed_hosts)
            ),
            http=_connections(broker),
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
        )
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
            aborting = asyncio.get_running_loop().call_later(CLOSE_S, self._abort_connections)
            await self._serving
            aborting.cancel()

    def _abort_connections(self) -> None:
        assert self._server is not None, "nothing was started"
        for connection in list(self._server.server_state.connections):
            connection.transport.abort()


def _listen(host: str, port: int) -> socket.socket:
    """Returns a listening socket; `::` means all addresses, including IPv4. Raises OSError."""
    family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    is_for_all = host == "::" and socket.has_dualstack_ipv6()
    return socket.create_server(address[:2], family=family, dualstack_ipv6=is_for_all)


async def _fault_request(request: Request) -> Any:  # noqa: ANN401 - a document of JSON
    """Returns the document of a request about faults; see `server.faults.documents`. Raises FaultRefused.

    Only JSON is accepted: a web page can let a browser send a form without a preflight, but not JSON.
    """
    if request.method == "DELETE":
        number = request.path_params.get("number")
        return {"fault": "clear"} if number is None else {"fault": "remove", "id": number}
    if request.method != "POST":
        return {"fault": "list"}
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise FaultRefused("Content-Type must be application/json")
    content = bytearray()
    async for piece in request.stream():
        content += piece
        if len(content) > FAULT_BYTES_MAX:
            raise FaultRefused(f"a request about faults has {FAULT_BYTES_MAX} bytes at most")
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise FaultRefused(f"this is not JSON: {error}") from None


async def _carried_out(
    faults: FaultRequests,
    asked: Any,  # noqa: ANN401 - a document of JSON
    is_gone: Callable[[], Awaitable[bool]],
) -> object:
    """Carry out a request about faults; `is_gone` says that its client is. Raises FaultRefused."""
    from odradek.server.admin.move_documents import is_move, planned_move
    from odradek.server.admin.wait_documents import is_wait, waited

    if is_wait(asked):
        return await waited(asked, faults, is_gone)
    if is_move(asked):
        return await asyncio.to_thread(planned_move(asked, faults.bootstrap_servers))
    return faults.carry_out(asked)


def _connections(broker: BrokerView) -> Any:  # noqa: ANN401 - what uvicorn calls for each connection
    from odradek.server.admin.connection import AdminConnection, AdminLimits

    core = broker.node.core
    limits = AdminLimits(core.timer, Complaints(_log, core.clock), admin_connections_affordable())
    return functools.partial(AdminConnection, limits)


async def _in_slices(slices: Slices, steps: Steps[T]) -> T:
    """Run work in slices of the loop. Returns its result, or raises what it raises."""
    ended: asyncio.Future[T] = asyncio.get_running_loop().create_future()

    def run() -> Steps[None]:
        result = yield from steps
        if not ended.done():  # else the request was cancelled
            ended.set_result(result)

    def failed(error: Exception) -> None:
        if not ended.done():
            ended.set_exception(error)

    slices.run(run(), failed)
    return await ended


async def _pieces(broker: BrokerView, rows: RenderedRows) -> AsyncIterator[bytes]:
    """Yields the text of rows; the next piece is made once the connection has taken the one before."""
    while not rows.is_done:
        yield (await _in_slices(broker.node.core.slices, rows.next_piece())).encode()


def _guarded(application: ASGIApp, hosts: AllowedHosts) -> ASGIApp:
    """Wraps the application with a check that the Host of a request is allowed."""
    from starlette.responses import PlainTextResponse

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not hosts.allow(scope["headers"]):
            await PlainTextResponse(REFUSAL, status_code=403)(scope, receive, send)
        else:
            await application(scope, receive, send)

    return guarded


def _application(broker: BrokerView) -> ASGIApp:
    from starlette.applications import Starlette
    from starlette.responses import HTMLResponse, PlainTextResponse, Response, StreamingResponse
    from starlette.routing import Route

    async def index(request: Request) -> Response:
        core = broker.node.core
        page = index_page(
            core.broker_id,
            core.image.cluster_id,
            is_ready=broker.is_ready(),
            takes_faults=broker.faults is not None,
        )
        return HTMLResponse(page, headers=_PAGE_HEADERS)

    async def metrics(request: Request) -> Response:
        text = await _in_slices(broker.node.core.slices, metrics_in_steps(broker))
        return PlainTextResponse(text, media_type="text/plain; version=0.0.4")

    async def healthz(request: Request) -> Response:
        return PlainTextResponse("alive\n")

    async def readyz(request: Request) -> Response:
        if broker.is_ready():
            return PlainTextResponse("ready\n")
        return PlainTextResponse("not ready\n", status_code=503)

    def document(content: object, status_code: int = 200) -> Response:
        return Response(visible_json(content), status_code, media_type="application/json")

    async def described(request: Request) -> Response:
        found = describe(broker, request.path_params["subject"])
        if found is None:
            return document({"error": "there is nothing of that name to describe"}, 404)
        return StreamingResponse(_pieces(broker, RenderedRows(found)), media_type="application/json")

    async def replicas(request: Request) -> Response:
        try:
            wanted = wanted_replicas(request.query_params)
        except ValueError as error:
            return document({"error": str(error)}, 400)
        text = await _in_slices(broker.node.core.slices, replicas_in_steps(broker.node.core, wanted))
        return Response(text, media_type="application/json")

    async def faults(request: Request) -> Response:
        if broker.faults is None:
            return document({"error": NOT_FOR_TESTS}, 403)
        try:
            asked = await _fault_request(request)
            return document(await _carried_out(broker.faults, asked, request.is_disconnected))
        except FaultRefused as refused:
            return document({"error": str(refused)}, 400)

    return Starlette(
        routes=[
            Route("/", index),
            Route("/metrics", metrics),
            Route("/healthz", healthz),
            Route("/readyz", readyz),
            Route("/describe/replicas", replicas),
            Route("/describe/{subject}", described),
            Route("/test/faults", faults, methods=["GET", "POST", "DELETE"]),
            Route("/test/faults/{number:int}", faults, methods=["DELETE"]),
        ]
    )
