"""A worker of Kafka Connect in distributed mode, with exactly-once sources, driven through its REST API."""

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path

from peers.process import HOST, free_port
from peers.waiting import wait_until

from compat.connect.java_process import JavaProcess

REST_TIMEOUT_S = 30.0
TRY_AGAIN = (404, 409, 500, 503)
"""A worker that starts, or whose group rebalances, refuses with these."""


class Worker(JavaProcess):
    """A worker of one cluster of Connect, whose topics are named after its `group`."""

    def __init__(self, bootstrap: str, group: str, name: str, directory: Path) -> None:
        """Topics get the broker's own replication factor. Raises JarsMissing."""
        self._port = free_port()
        topics = {
            f"{kind}.storage.{what}": value
            for kind in ("config", "offset", "status")
            for what, value in (("topic", f"{group}-{kind}s"), ("replication.factor", "-1"))
        }
        converters = dict.fromkeys(
            ("key.converter", "value.converter"), "org.apache.kafka.connect.storage.StringConverter"
        )
        settings = {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "exactly.once.source.support": "enabled",
            "offset.flush.interval.ms": "500",
            "listeners": f"http://{HOST}:{self._port}",
            "plugin.discovery": "service_load",
            # A killed worker's tasks wait this long for its return, after its session.
            "scheduled.rebalance.max.delay.ms": "500",
            "session.timeout.ms": "6000",
            "heartbeat.interval.ms": "500",
        }
        main_class = "org.apache.kafka.connect.cli.ConnectDistributed"
        super().__init__(main_class, name, settings | topics | converters, directory)

    def ask(self, method: str, path: str, body: Mapping[str, str] | None = None) -> object:
        """The answer to a request, when the worker is ready for it."""
        answers: list[object] = []

        def is_answered() -> bool:
            self.check_alive()
            try:
                answers.append(self._ask_once(method, path, body))
            except urllib.error.HTTPError as refusal:
                if refusal.code not in TRY_AGAIN:
                    raise AssertionError(f"{method} {path}: {refusal.code} {refusal.read()!r}") from None
            except OSError:  # it does not listen yet
                pass
            return bool(answers)

        wait_until(is_answered, f"{method} {path} is never answered")
        return answers[0]

    def _ask_once(self, method: str, path: str, body: Mapping[str, str] | None) -> object:
        request = urllib.request.Request(
            f"http://{HOST}:{self._port}{path}",
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
            method=method,
        )
        with urllib.request.urlopen(request, timeout=REST_TIMEOUT_S) as answer:
            return json.loads(answer.read() or b"null")

    def configure(self, connector: str, **settings: str) -> None:
        """Make a connector, or change it; underscores stand for dots."""
        named = {key.replace("_", "."): value for key, value in settings.items()}
        self.ask("PUT", f"/connectors/{connector}/config", named)
