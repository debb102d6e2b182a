"""A broker on a thread and a loop of its own, for callers without a loop: fixtures, notebooks, scripts."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import Final, TypeAlias, TypeVar

from odradek.base.clock import Clock
from odradek.base.settings import BrokerSettings, SettingLayers
from odradek.metadata.store import StoreEngine
from odradek.server.node.core import BrokerCore
from odradek.server.process import lifecycle
from odradek.server.process.broker import Broker
from odradek.server.process.event_loop import new_event_loop
from odradek.server.process.shell import Shell
from odradek.storage import FileSystem
from odradek.timer import Timer

T = TypeVar("T")

START_S_MAX: Final = 60.0
CALL_S_MAX: Final = 60.0

_Ending: TypeAlias = Callable[[Broker], Awaitable[None]]


class BrokerThread:
    """A broker on a thread of its own, started and stopped from any other thread.

    A `VirtualClock` is driven by `clock.drive(broker.timer, broker.run)`.
    """

    def __init__(
        self,
        layers: SettingLayers,
        *,
        clock: Clock | None = None,
        file_system: FileSystem | None = None,
        open_engine: Callable[[BrokerSettings], StoreEngine] | None = None,
        takes_faults: bool = False,
        thread_name: str = "odradek-broker",
    ) -> None:
        """See `Shell` for the other arguments."""
        self._layers = layers
        self._clock = clock
        self._file_system = file_system
        self._open_engine = open_engine
        self._takes_faults = takes_faults
        self._thread_name = thread_name
        self._thread: threading.Thread | None = None
        # Set by the broker's thread, before `start` returns.
        self._loop: asyncio.AbstractEventLoop | None = None
        self._broker: Broker | None = None
        # Resolved on the loop, with the way in which the broker ends.
        self._ending: asyncio.Future[_Ending] | None = None
        self.failure = ""
        """Why the broker stopped by itself, when it had no log directory left; empty if it did not."""

    @property
    def broker(self) -> Broker:
        """The broker; use it only on its thread, through `run`."""
        assert self._broker is not None, "the broker is not running"
        return self._broker

    @property
    def core(self) -> BrokerCore:
        """The broker's state; use it only on its thread, through `run`."""
        return self.broker.core

    @property
    def timer(self) -> Timer:
        """The only timer: it drives every deadline and delay of the broker."""
        return self.broker.timer

    @property
    def bootstrap_servers(self) -> str:
        """host:port of the first listener."""
        return self.broker.bootstrap_servers

    @property
    def is_running(self) -> bool:
        """Whether it was started, and has neither been ended nor failed."""
        return self._thread is not None and self._thread.is_alive() and not self.failure

    def start(self) -> None:
        """Start the broker; returns when clients may connect. Raises what `lifecycle.start` raises."""
        assert self._thread is None, "the broker is running already"
        started: Future[None] = Future()
        self._thread = threading.Thread(
            target=self._main, args=(started,), name=self._thread_name, daemon=True
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
        self._end(lifecycle.stop)

    def kill(self, end_files: Callable[[], None]) -> None:
        """End the broker as in a crash, and end the thread; see `lifecycle.crash`."""
        self._end(lambda broker: lifecycle.crash(broker, end_files))

    def run(self, call: Callable[[], T]) -> T:
        """Run `call` on the broker's thread and return what it returns, or raise what it raises."""
        return self.submit(call).result(CALL_S_MAX)

    def submit(self, call: Callable[[], T]) -> "Future[T]":
        """Begin to run `call` on the broker's thread; the future gets what it returns or raises."""
        assert self._loop is not None, "the broker is not running"
        outcome: Future[T] = Future()

        def on_its_thread() -> None:
            try:
                outcome.set_result(call())
            except BaseException as error:
                outcome.set_exception(error)

        self._loop.call_soon_threadsafe(on_its_thread)
        return outcome

    def _end(self, ending: _Ending) -> None:
        assert self._thread is not None, "the broker is not running"
        assert self._loop is not None, "a broker that runs has a loop"
        try:
            self._loop.call_soon_threadsafe(self._end_by, ending)
        except RuntimeError:
            pass  # it has failed, and its loop is closed
        self._thread.join()
        self._thread = None

    def _end_by(self, ending: _Ending) -> None:
        """On the loop: end the broker, unless it is ending already."""
        assert self._ending is not None, "a broker that runs can be ended"
        if not self._ending.done():
            self._ending.set_result(ending)

    def _failed(self, reason: str) -> None:
        """On the loop: the broker cannot go on, and stops as a process of its own would."""
        self.failure = self.failure or reason
        self._end_by(lifecycle.stop)

    def _main(self, started: Future[None]) -> None:
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            runner.run(self._serve(started))

    async def _serve(self, started: Future[None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._ending = self._loop.create_future()
        try:
            shell = Shell(
                self._layers,
                clock=self._clock,
                file_system=self._file_system,
                open_engine=self._open_engine,
                on_failure=self._failed,
                takes_faults=self._takes_faults,
            )
            self._broker = await lifecycle.start(shell)
        except BaseException as error:
            started.set_exception(error)
            return
        started.set_result(None)
        ending = await self._ending
        await ending(self._broker)
