"""A whole broker without a loop: real core, controller and handlers over fakes of disk, store and time."""

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, TypeVar

import pytest

from odradek.base.chance import SeededChance
from odradek.base.clock import ManualClock
from odradek.base.settings import SettingLayers
from odradek.metadata.image import Endpoint
from odradek.metadata.memory import MemoryStore
from odradek.metadata.startup import found_cluster, load_image
from odradek.metadata.store import run_in_session
from odradek.records.builder import BatchBuilder
from odradek.server.cleaning.cleaner_host import InlineCleaner
from odradek.server.edge.context import RequestContext
from odradek.server.edge.loop_stalls import LoopStalls
from odradek.server.handlers.registry import Handlers
from odradek.server.node.node import Node as WholeNode
from odradek.server.node.node import known_at_start, open_logs
from odradek.server.node.ports import Surroundings
from odradek.storage.memory_files import MemoryFileSystem
from odradek.timer import Timer
from odradek.wire.apis import APIS

T = TypeVar("T")

HERE = Endpoint("PLAINTEXT", "PLAINTEXT", "broker.example", 9092)


class AtOnce:
    """A background that is in the foreground."""

    def submit(
        self, call: Callable[[], T], done: Callable[[T], None], failed: Callable[[Exception], None]
    ) -> None:
        try:
            result = call()
        except Exception as error:
            failed(error)
        else:
            done(result)


class Turns:
    """Callbacks for later turns of a loop that the test turns by hand."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], None]] = []

    def defer(self, callback: Callable[[], None]) -> None:
        self.waiting.append(callback)

    def run(self) -> None:
        while self.waiting:
            self.waiting.pop(0)()


class ShortClock:
    """A clock for short times that stands still until the test moves it."""

    def __init__(self) -> None:
        self.now_ns = 0

    def __call__(self) -> int:
        return self.now_ns


@pytest.fixture
def short_clock() -> ShortClock:
    return ShortClock()


@pytest.fixture
def stalls(short_clock: ShortClock) -> LoopStalls:
    return LoopStalls(short_clock, ManualClock())


@dataclass
class FakeClient:
    listener: str = "PLAINTEXT"
    peer_host: str = "10.0.0.1"
    peer_port: int = 4000
    is_closed: bool = False
    answers: list[bytes | None] = field(default_factory=list)
    abandon: Callable[[], None] | None = None

    def answer(self, parts: list[Any]) -> None:
        self.answers.append(b"".join(parts))

    def answer_nothing(self) -> None:
        self.answers.append(None)

    def close(self) -> None:
        self.is_closed = True

    def when_lost(self, abandon: Callable[[], None]) -> None:
        self.abandon = abandon


class Node:
    """One broker, alone in its cluster."""

    def __init__(self, *, predecessor: "Node | None" = None, **settings: str) -> None:
        """`predecessor` is the same broker in its life before, which has stopped."""
        self.given_settings = settings
        properties = {name.replace("_", "."): value for name, value in settings.items()}
        self.layers, unknown = SettingLayers.from_static(
            {"log.dirs": "/data", "broker.rack": "r1", **properties}
        )
        assert not unknown
        self.clock = ManualClock() if predecessor is None else predecessor.clock
        self.chance = SeededChance(1)
        self.timer = Timer(self.clock)
        self.turns = Turns()
        self.failures: list[str] = []
        self.store = MemoryStore() if predecessor is None else predecessor.store
        self.disk = MemoryFileSystem(now_ms=self.clock.wall_ms) if predecessor is None else predecessor.disk
        self.session = self.store.session()
        run_in_session(self.store.engine, found_cluster(self.chance))
        image = known_at_start(run_in_session(self.store.engine, load_image()))
        surroundings = Surroundings(
            clock=self.clock,
            chance=self.chance,
            timer=self.timer,
            background=AtOnce(),
            defer=self.turns.defer,
            cleaner_runner=lambda: InlineCleaner(self.disk),
            store=self.session,
            stalls=LoopStalls(ShortClock(), self.clock),
            on_failure=self.failures.append,
        )
        self.logs = open_logs(surroundings, self.layers, image, self.disk)
        self.node = WholeNode(surroundings, self.layers, image, self.logs, Handlers())
        self.core = self.node.core
        joined: list[object] = []
        self.node.join((HERE,), joined.append)
        self.settle()
        assert joined == [None], "the broker joins its own cluster at once"

    def settle(self) -> None:
        """Let happen what is to happen now: later turns of the loop, and what the store was asked."""
        while self.turns.waiting or self.store.has_waiting:
            self.turns.run()
            self.store.deliver()

    def restarted(self) -> "Node":
        """Stop cleanly, and start again with the same disk and the same metadata store."""
        self.settle()
        self.session.close()
        self.store.deliver()
        self.logs.close()
        return Node(predecessor=self, **self.given_settings)

    def send(self, request: Any, version: int | None = None, *, client_id: str = "test") -> "Asked":
        """Hand a request to its handler, by way of its bytes."""
        api = APIS[request.API_KEY]
        version = api.versions.highest if version is None else version
        handler = import_module(f"odradek.server.handlers.{api.snake_name}")
        asked = Asked(FakeClient())
        context = RequestContext(api.key, version, 7, client_id, asked.client)
        decoded = api.request_class.decode(request.encode(version), version)

        def respond(response: Any) -> None:
            if response is not None:  # what a client of that version sees of it
                response = api.response_class.decode(response.encode(version), version)
            asked.answers.append(response)

        handler.handle(self.core, context, decoded, respond)
        return asked

    def ask(self, request: Any, version: int | None = None, *, client_id: str = "test") -> Any:
        """The answer to a request that is answered at once, or at the end of its turn of the loop."""
        asked = self.send(request, version, client_id=client_id)
        if not asked.answers:
            self.settle()
        return asked.answer

    def advance(self, by_ms: int) -> None:
        """Let time pass."""
        self.clock.advance(by_ms)
        self.timer.advance()
        self.settle()


@dataclass
class Asked:
    """A request on its way."""

    client: FakeClient
    answers: list[Any] = field(default_factory=list)

    @property
    def answer(self) -> Any:
        assert len(self.answers) == 1, f"answered {len(self.answers)} times"
        return self.answers[0]


@pytest.fixture
def node() -> Node:
    return Node()


@pytest.fixture
def new_node() -> Callable[..., Node]:
    return Node


@pytest.fixture
def batch() -> Callable[..., bytes]:
    """A batch with these values."""

    def make(*values: bytes, timestamp_ms: int = 1_700_000_000_000) -> bytes:
        builder = BatchBuilder()
        for value in values:
            builder.append(timestamp_ms, None, value)
        return bytes(builder.build())

    return make


@pytest.fixture
def fake_client() -> FakeClient:
    return FakeClient()
