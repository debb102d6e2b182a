"""A world of three brokers that the commands of `odradek cluster` connect to, and what they print."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from odradek.base.ids import BrokerId
from odradek.cli import cluster_wait, directory_moves, move_progress, progress_lines
from odradek.cli.main import run
from odradek.client import cluster_admin
from odradek.client.bootstrap import parse_bootstrap_servers
from odradek.client.configuration import ClientConfig
from odradek.net.request_pipeline import ConnectionFailed
from odradek.testing.sim import SimNode, World
from odradek.wire.message import Request, ResponseT
from odradek.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)

SESSION_MS = 30_000
REQUEST_TIMEOUT_MS = 30_000


class Asked:
    """A connection to a broker of a world."""

    def __init__(self, node: SimNode, without: Sequence[type] = ()) -> None:
        self._node = node
        self._without = without

    def serves(self, request: type) -> bool:
        return request not in self._without

    def ask(self, request: Request[ResponseT], response: type[ResponseT], most: int = 99) -> ResponseT:
        handler = self._node.handlers.get(request.API_KEY)
        assert handler is not None
        sent = self._node.send(request, min(most, handler.highest_version))
        self._node.world.settle()
        for _ in range(0, REQUEST_TIMEOUT_MS, 10):
            if sent.answers:
                break
            self._node.world.advance(10)
        else:
            raise ConnectionFailed(f"broker {self._node.broker_id} did not answer")
        return sent.answer

    def close(self) -> None:
        """Nothing to close."""

    def __enter__(self) -> "Asked":
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to close."""


class ClusterWorld:
    """Brokers, to which the clients of commands connect."""

    def __init__(self, brokers: int = 3) -> None:
        self.world = World(brokers=brokers)
        self.without: list[type] = []
        """Requests that the brokers do not serve."""
        self.meanwhile: list[Callable[[], object]] = []
        """What happens while a command waits: one of these each time."""

    def connect(self, address: tuple[str, int] | None = None) -> "Asked":
        """A connection to the broker of this address, or to any that lives."""
        if address is None or not address[0].startswith("broker"):
            return Asked(self.alive, self.without)
        node = self.world.nodes[int(address[0].removeprefix("broker").removesuffix(".example"))]
        if not node.is_alive:
            raise ConnectionFailed(f"cannot connect to {address[0]}")
        return Asked(node, self.without)

    @property
    def alive(self) -> SimNode:
        return next(node for node in self.world.nodes.values() if node.is_alive)

    def create(self, name: str, assignments: Sequence[Sequence[BrokerId]], **configs: str) -> None:
        held = [CreatableReplicaAssignment(number, list(one)) for number, one in enumerate(assignments)]
        settings = [CreatableTopicConfig(*one) for one in configs.items()]
        topic = CreatableTopic(name, -1, -1, held, settings)
        sent = self.alive.send(CreateTopicsRequest([topic], timeout_ms=1_000))
        self.world.advance(1_000)
        assert sent.answer.topics[0].error_code == 0

    def kill(self, *broker_ids: BrokerId) -> None:
        """Returns when the others know."""
        for broker_id in broker_ids:
            self.world.kill(broker_id)
        self.world.advance(2 * SESSION_MS)

    def restart(self, broker_id: BrokerId) -> None:
        """Returns when its replicas are in sync again."""
        self.world.node(broker_id)
        self.world.advance(2 * SESSION_MS)


def connect_commands(monkeypatch: pytest.MonkeyPatch, made: ClusterWorld) -> None:
    """Commands connect to this world, and wait in its time."""

    class Clock:
        @staticmethod
        def monotonic() -> float:
            return made.alive.clock.monotonic_ms() / 1000

        @staticmethod
        def sleep(seconds: float) -> None:
            if made.meanwhile:
                made.meanwhile.pop(0)()
            made.world.advance(int(seconds * 1000))

    def connect(config: ClientConfig, address: tuple[str, int] | None = None) -> Asked:
        return made.connect(address or parse_bootstrap_servers(config.bootstrap_servers)[0])

    monkeypatch.setattr(ClientConfig, "connect", connect)
    monkeypatch.setattr(cluster_admin, "time", Clock)
    for module in (cluster_wait, directory_moves, move_progress, progress_lines):
        monkeypatch.setattr(module, "time", Clock)


def said(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    capsys.readouterr()
    assert run(["cluster", *arguments]) == code
    out, err = capsys.readouterr()
    return err if code else out


def document(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    return json.loads(said(capsys, *arguments, "--json"))


def table(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines() if line]
