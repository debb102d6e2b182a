"""Serves the figures of a run over HTTP, on loopback: `/metrics` for Prometheus, `/healthz` for supervisors.

It only reads. One thread answers one request at a time, and no peer can hold it for longer than REQUEST_S.
The `Host` of a request is checked (`net/http_hosts`), so that no web page can read the figures by DNS
rebinding.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, ClassVar, Final

from odradek.base.errors import OdradekError
from odradek.base.system_errors import reason_of
from odradek.net.http_hosts import AllowedHosts

LOOPBACK: Final = "127.0.0.1"
REQUEST_S: Final = 5
_HOSTS: Final = AllowedHosts([])


class CannotServe(OdradekError):
    """The port is in use, or may not be bound."""


@contextmanager
def served(port: int, metrics: Callable[[], str]) -> Iterator[str]:
    """Serve on that port, 0 for any free one, until the end of the block. Yields `host:port`.

    Raises CannotServe. `metrics` makes the text; it is called on a thread of its own.
    """

    class Handler(_Handler):
        pages: ClassVar = {"/metrics": metrics, "/healthz": lambda: "alive\n"}

    try:
        server = HTTPServer((LOOPBACK, port), Handler)
    except OSError as error:
        reason = reason_of(error)
        raise CannotServe(f"cannot listen on {LOOPBACK}:{port}: {reason}") from None
    serving = threading.Thread(target=server.serve_forever, name="figures", daemon=True)
    serving.start()
    try:
        yield f"{LOOPBACK}:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        serving.join()


class _Handler(BaseHTTPRequestHandler):
    """Answers one request, and closes the connection."""

    pages: ClassVar[dict[str, Callable[[], str]]]
    # http.server gives up a connection whose peer sends or reads nothing for so many seconds.
    timeout = REQUEST_S

    def do_GET(self) -> None:
        """Called for each GET."""
        hosts = [(b"host", one.encode("latin-1")) for one in self.headers.get_all("Host", [])]
        page = self.pages.get(self.path.partition("?")[0])
        if not _HOSTS.allow(hosts):
            self._answer(403, "This listener answers to localhost and to addresses.\n")
        elif page is None:
            self._answer(404, "There are /metrics and /healthz.\n")
        else:
            self._answer(200, page())

    def _answer(self, status: int, text: str) -> None:
        content = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002 - http.server's names
        """Requests are not logged: Prometheus makes one every few seconds."""
