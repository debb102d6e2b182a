"""A world of three brokers that the commands of `odradek cluster` connect to, and what they print."""

import json
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import pytest

from odradek.base.closing import Closing
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.ids import BrokerId
from odradek.cli import cluster_wait, directory_moves, move_progress, progress_lines
from odradek.cli.main import run
from odradek.client import administering
from odradek.client.bootstrap import Address
from odradek.client.core.operation import Operation, Pause
from odradek.client.core.requests import Outcome, Send, ToController, ToCoordinator, ToNode
from odradek.client.refusal import raise_for
from odradek.client.settings import BOOTSTRAP_SERVERS, DEFAULT_API_TIMEOUT_MS, Settings
from odradek.net.request_pipeline import ConnectionFailed
from odradek.testing.sim import SimNode, World
from odradek.wire.apis import APIS
from odradek.wire.message import Request, ResponseT
from odradek.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from odradek.wire.messages.metadata import MetadataRequest, MetadataResponse

T = TypeVar("T")

SESSION_MS = 30_000
REQUEST_TIMEOUT_MS = 30_000


class Asked:
    """A connection to a broker of a world."""

    def __init__(self, node: SimNode, without: Sequence[type] = ()) -> None:
        self.node = node
        self._without = without

    def serves(self, request: type) -> bool:
        return request not in self._without

    def ask(self, request: Request[ResponseT], response: type[ResponseT], most: int = 99) -> ResponseT:
        handler = self.node.handlers.get(request.API_KEY)
        assert handler is not None
        sent = self.node.send(request, min(most, handler.highest_version))
        self.node.world.settle()
        for _ in range(0, REQUEST_TIMEOUT_MS, 10):
            if sent.answers:
                break
            self.node.world.advance(10)
        else:
            raise ConnectionFailed(f"broker {self.node.broker_id} did not answer")
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

    def outcome(self, send: Send, bootstrap: Address) -> Outcome:
        """What becomes of one request of an admin client."""
        try:
            node = self._node_of(send, bootstrap)
            handler = node.handlers.get(send.request.API_KEY)
            if handler is None or type(send.request) in self.without or handler.highest_version < send.lowest:
                said = f"{type(send.request).__name__} is not served"
                return Outcome(send, error=ConnectionFailed(said, ErrorCode.UNSUPPORTED_VERSION))
            response = APIS[send.request.API_KEY].response_class
            most = min(send.highest, send.request.VERSIONS.highest)
            answer = Asked(node).ask(cast("Request[Any]", send.request), response, most)
        except ApiError as error:
            return Outcome(send, error=error)
        return Outcome(send, answer, node=node.broker_id)

    def _node_of(self, send: Send, bootstrap: Address) -> SimNode:
        known = self.connect(bootstrap)
        match send.to:
            case ToNode(broker_id):
                pass
            case ToController():
                broker_id = known.ask(MetadataRequest(topics=[]), MetadataResponse).controller_id
            case ToCoordinator(key, kind):
                request = FindCoordinatorRequest(key, kind, [key])
                answer = known.ask(request, FindCoordinatorResponse, 3)
                raise_for(answer.error_code)
                broker_id = answer.node_id
            case _:
                return known.node
        node = self.world.nodes.get(broker_id)
        brokers = known.ask(MetadataRequest(topics=[]), MetadataResponse).brokers
        if node is None or broker_id not in [one.node_id for one in brokers]:
            raise ApiError(ErrorCode.BROKER_NOT_AVAILABLE, f"the cluster has no broker {broker_id}")
        if not node.is_alive:
            raise ConnectionFailed(f"cannot connect to broker{broker_id}.example")
        return node

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


class WorldAdmin(Closing):
    """Carries out operations in a world, and waits in its time."""

    def __init__(self, made: ClusterWorld, settings: Settings) -> None:
        self._made = made
        self._servers = settings[BOOTSTRAP_SERVERS]
        self._bootstrap = self._servers[0]
        self._timeout_ms = settings[DEFAULT_API_TIMEOUT_MS]

    def reach(self) -> None:
        """Ask the bootstrap servers, one after another, until one answers."""
        failures = []
        for server in self._servers:
            try:
                self._made.connect(server)
            except ConnectionFailed as failed:
                failures.append(failed)
            else:
                self._bootstrap = server
                return
        raise ConnectionFailed("; ".join(map(str, failures)), failures[0].code)

    def carry_out(self, operation: Operation[T]) -> T:
        """Returns its result. Raises why the last attempt failed when its time is over."""
        clock = self._made.alive.clock
        deadline_ms = clock.monotonic_ms() + self._timeout_ms
        try:
            effect = next(operation)
            while True:
                if not isinstance(effect, Pause):
                    effect = operation.send([self._made.outcome(one, self._bootstrap) for one in effect])
                    continue
                if clock.monotonic_ms() >= deadline_ms:
                    raise effect.error
                if self._made.meanwhile:
                    self._made.meanwhile.pop(0)()
                self._made.world.advance(min(1_000, 100 << min(effect.number, 4)))
                effect = operation.send(())
        except StopIteration as done:
            result: T = done.value
            return result

    def close(self) -> None:
        """Nothing to close."""


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

    monkeypatch.setattr(administering, "opened", lambda settings, **_: WorldAdmin(made, settings))
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
