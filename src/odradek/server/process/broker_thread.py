"""A broker on a thread and a loop of its own, for callers without either: fixtures, notebooks, scripts."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Final, TypeVar

from odradek.base.clock import Clock
from odradek.base.settings import SettingLayers
from odradek.server.node.core import BrokerCore
from odradek.server.process import lifecycle
from odradek.server.process.broker import Broker
from odradek.server.process.event_loop import new_event_loop
from odradek.timer import Timer

T = TypeVar("T")

START_S_MAX: Final = 60.0
CALL_S_MAX: Final = 60.0


class BrokerThread:
    """Started and stopped from any other thread.

    A `VirtualClock` is driven by `clock.drive(broker.timer, broker.run)`.
    """

    def __init__(self, layers: SettingLayers, *, clock: Clock | None = None) -> None:
        self._layers = layers
        self._clock = clock
        self._thread: threading.Thread | None = None
        # Set by the broker's thread, before `start` returns.
        self._loop: asyncio.AbstractEventLoop | None = None
        self._broker: Broker | None = None
        # Resolved when `stop` is called.
        self._stopping: asyncio.Event | None = None

    @property
    def broker(self) -> Broker:
        """The broker; to be touched on its thread only, through `run`."""
        assert self._broker is not None, "the broker is not running"
        return self._broker

    @property
    def core(self) -> BrokerCore:
        """The broker's state; to be touched on its thread only, through `run`."""
        return self.broker.core

    @property
    def timer(self) -> Timer:
        """The one timer that drives everything that waits."""
        return self.broker.timer

    @property
    def bootstrap_servers(self) -> str:
        """host:port of the first listener."""
        return self.broker.bootstrap_servers

    def start(self) -> None:
        """Return when clients may connect. Raises what `Broker.start` raises."""
        assert self._thread is None, "the broker is running already"
        started: Future[None] = Future()
        self._thread = threading.Thread(
            target=self._main, args=(started,), name="odradek-broker", daemon=True
        )
        self._thread.start()
        try:
            started.result(START_S_MAX)
        except BaseException:
            self._thread.join()
            self._thread = None
            raise

    def stop(self) -> None:
        """Stop cleanly and end the thread."""
        assert self._thread is not None, "the broker is not running"
        assert self._loop is not None, "a broker that runs has a loop"
        assert self._stopping is not None, "and waits to be stopped"
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join()
        self._thread = None

    def run(self, call: Callable[[], T]) -> T:
        """Run `call` on the broker's thread and return what it returns, or raise what it raises."""
        assert self._loop is not None, "the broker is not running"
        outcome: Future[T] = Future()

        def on_its_thread() -> None:
            try:
                outcome.set_result(call())
            except BaseException as error:
                outcome.set_exception(error)

        self._loop.call_soon_threadsafe(on_its_thread)
        return outcome.result(CALL_S_MAX)

    def _main(self, started: Future[None]) -> None:
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            runner.run(self._serve(started))

    async def _serve(self, started: Future[None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        try:
            self._broker = Broker(self._layers, clock=self._clock)
            await lifecycle.start(self._broker)
        except BaseException as error:
            started.set_exception(error)
            return
        started.set_result(None)
        await self._stopping.wait()
        await lifecycle.stop(self._broker)
