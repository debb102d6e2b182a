"""An asyncio event loop whose turns are steps of a `World`, and whose time is the world's.

    loop.steps() -> [loop.turn]     callbacks are ready, or a timer is due
    loop.turn()                     due timers become ready; what was ready at the turn's beginning runs
    loop.next_ms()                  when the next timer is due

Each process of the application has a loop of its own (`process`). A turn is what asyncio calls an iteration:
bytes that arrive and other steps of the world come between turns, never inside. What would reach beyond the
simulation raises NotSimulated. Calls in executors run within a turn of their own, on this thread.
"""

from __future__ import annotations

import asyncio
import heapq
import logging
import sys
import weakref
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from contextvars import Context
from functools import partial
from itertools import count
from math import ceil
from threading import get_ident
from typing import Any, Final, Protocol, TypeAlias, TypeVar, TypeVarTuple

from odradek.base.clock import Clock
from odradek.testing.application.refusals import refuse, refused
from odradek.testing.application.tasks import SimFuture, SimTask

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
ExceptionHandler: TypeAlias = Callable[[asyncio.AbstractEventLoop, dict[str, Any]], object]
TaskFactory: TypeAlias = Callable[..., asyncio.Future[Any]]

TIMERS_MIN: Final = 100
"""Cancelled timers are removed when there are twice as many timers as after the last time, and this many."""

_log = logging.getLogger("asyncio")


class Network(Protocol):
    """What a loop asks of the simulated network."""

    def resolve(self, host: str | bytes | None, port: bytes | str | int | None) -> list[tuple[str, int]]:
        """The addresses of a name. Raises NotSimulated if it is no broker's."""

    async def connect(
        self, loop: SimLoop, protocol_factory: Callable[[], asyncio.BaseProtocol], host: str, port: int
    ) -> tuple[asyncio.Transport, asyncio.BaseProtocol]:
        """Open a connection to a broker. Raises OSError."""


class SimLoop(asyncio.AbstractEventLoop):
    """One event loop of the application."""

    def __init__(self, clock: Clock, network: Network, name: str) -> None:
        self.name = name
        """Of its process, for reports."""
        self.is_paused = False
        """Whether its process stands still."""
        self.turns = 0
        """How many turns it has taken."""
        self.complaints: list[dict[str, Any]] = []
        """What went wrong in callbacks and tasks that nobody awaits, as asyncio describes it."""
        self._clock = clock
        self._network = network
        self._numbers = count(1)
        self._ready: deque[asyncio.Handle] = deque()
        # A heap of (when, the order of calls, handle).
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._timers_max = TIMERS_MIN
        self._is_running = False
        self._is_closed = False
        self._thread = get_ident()
        self._exception_handler: ExceptionHandler | None = None
        self._task_factory: TaskFactory | None = None
        self._generators: weakref.WeakSet[AsyncGenerator[Any, Any]] = weakref.WeakSet()

    def __repr__(self) -> str:
        return f"<SimLoop of {self.name}>"

    def next_number(self) -> int:
        """Numbers tasks and futures, in the order in which they are made."""
        return next(self._numbers)

    # --- the world's side

    @property
    def is_idle(self) -> bool:
        """Whether no callback is ready, and none will be by time passing."""
        return not self._ready and self._next_timer() is None

    def steps(self) -> list[Callable[[], None]]:
        """See `Actor.steps`."""
        if self.is_paused or self._is_running or self._is_closed:
            return []
        if not self._ready:
            due = self._next_timer()
            if due is None or due > self._now():
                return []
        return [self.turn]

    def next_ms(self) -> int | None:
        """See `Actor.next_ms`."""
        due = None if self.is_paused or self._is_closed else self._next_timer()
        return None if due is None else ceil(due * 1000 - 1e-6)

    def turn(self) -> None:
        """Run what is ready now; what becomes ready meanwhile is for the next turn."""
        self.turns += 1
        now = self._now()
        while (due := self._next_timer()) is not None and due <= now:
            self._ready.append(heapq.heappop(self._timers)[2])
        outer_loop, outer_hooks = asyncio._get_running_loop(), sys.get_asyncgen_hooks()  # noqa: SLF001
        asyncio._set_running_loop(self)  # noqa: SLF001 - for loops
        sys.set_asyncgen_hooks(firstiter=self._generators.add, finalizer=self._finalize)
        self._is_running = True
        try:
            for _ in range(len(self._ready)):
                handle = self._ready.popleft()
                if not handle.cancelled():
                    handle._run()  # noqa: SLF001 - as every loop does
                if self.is_paused or self._is_closed:
                    break  # by what it has run just now
        finally:
            self._is_running = False
            sys.set_asyncgen_hooks(*outer_hooks)
            asyncio._set_running_loop(outer_loop)  # noqa: SLF001

    def _now(self) -> float:
        """A little later than `time`, because sums of floats are not exact."""
        return self.time() + 1e-7

    def _next_timer(self) -> float | None:
        timers = self._timers
        while timers and timers[0][2].cancelled():
            heapq.heappop(timers)
        return timers[0][0] if timers else None

    # --- callbacks and time

    def time(self) -> float:
        """The world's time in seconds, in whole milliseconds."""
        return self._clock.monotonic_ms() / 1000

    def call_soon(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        """See asyncio."""
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def call_soon_threadsafe(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        """See asyncio; raises NotSimulated on another thread."""
        if get_ident() != self._thread:
            refuse("a callback from another thread")
        return self.call_soon(callback, *args, context=context)

    def call_later(
        self, delay: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """See asyncio."""
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """See asyncio."""
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        if len(self._timers) >= self._timers_max:
            self._timers = [timer for timer in self._timers if not timer[2].cancelled()]
            heapq.heapify(self._timers)
            self._timers_max = max(TIMERS_MIN, 2 * len(self._timers))
        heapq.heappush(self._timers, (when, self.next_number(), handle))
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Called by asyncio's handle; see `call_at`."""

    # --- tasks and futures

    def create_future(self) -> asyncio.Future[Any]:
        """See asyncio."""
        return SimFuture(self)

    def create_task(
        self,
        coro: Coroutine[Any, Any, T] | Generator[Any, None, T],
        *,
        name: str | None = None,
        context: Context | None = None,
        **options: Any,
    ) -> asyncio.Task[T]:
        """See asyncio; `options` are for a task factory."""
        if self._task_factory is None:
            return SimTask(coro, loop=self, name=name, context=context)
        if context is not None:
            options["context"] = context
        made: Any = self._task_factory(self, coro, **options)
        if name is not None:
            made.set_name(name)
        return made  # type: ignore[no-any-return]

    def set_task_factory(self, factory: TaskFactory | None) -> None:
        """See asyncio."""
        self._task_factory = factory

    def get_task_factory(self) -> TaskFactory | None:
        """See asyncio."""
        return self._task_factory

    def tasks(self) -> list[asyncio.Task[Any]]:
        """The tasks that have not ended, oldest first."""
        found = asyncio.all_tasks(self)
        return sorted(found, key=lambda task: task.number if isinstance(task, SimTask) else 0)

    # --- executors

    def run_in_executor(self, executor: object, func: Callable[[*Ts], T], *args: *Ts) -> asyncio.Future[T]:
        """Returns the result of a call that runs in a later turn, on this thread, whichever the executor."""
        future: asyncio.Future[T] = self.create_future()
        self.call_soon(self._execute, future, partial(func, *args))
        return future

    @staticmethod
    def _execute(future: asyncio.Future[T], call: Callable[[], T]) -> None:
        if future.cancelled():
            return
        try:
            result = call()
        except Exception as error:
            future.set_exception(error)
        else:
            future.set_result(result)

    def set_default_executor(self, executor: object) -> None:
        """See asyncio; has no effect."""

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        """See asyncio; there is none."""

    # --- the network

    async def getaddrinfo(
        self,
        host: str | bytes | None,
        port: bytes | str | int | None,
        *,
        family: int = 0,
        type: int = 0,  # noqa: A002 - asyncio's name
        proto: int = 0,
        flags: int = 0,
    ) -> list[tuple[Any, ...]]:
        """The addresses of a broker's name. Raises NotSimulated for any other."""
        from socket import AF_INET, IPPROTO_TCP, SOCK_STREAM

        found = self._network.resolve(host, port)
        return [(AF_INET, SOCK_STREAM, IPPROTO_TCP, "", address) for address in found]

    async def create_connection(  # type: ignore[override]
        self,
        protocol_factory: Callable[[], asyncio.BaseProtocol],
        host: str | None = None,
        port: int | None = None,
        *,
        ssl: object = None,
        sock: object = None,
        **options: Any,
    ) -> tuple[asyncio.Transport, asyncio.BaseProtocol]:
        """Open a connection to a broker; the options of a socket have no effect. Raises OSError."""
        if ssl:
            refuse("TLS", "connect without it; brokers have a PLAINTEXT listener")
        if sock is not None or host is None or port is None:
            refuse("a connection over a socket", "connect to a broker's host and port")
        return await self._network.connect(self, protocol_factory, host, int(port))

    # --- errors

    def set_exception_handler(self, handler: ExceptionHandler | None) -> None:
        """See asyncio."""
        self._exception_handler = handler

    def get_exception_handler(self) -> ExceptionHandler | None:
        """See asyncio."""
        return self._exception_handler

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        """Log it."""
        error = context.get("exception")
        _log.error("%s: %s", self.name, context.get("message"), exc_info=error or False)

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Keep it for the report, and hand it to the application's handler, or log it."""
        if self._is_closed:
            return
        self.complaints.append(context)
        if self._exception_handler is None:
            self.default_exception_handler(context)
        else:
            self._exception_handler(self, context)

    def get_debug(self) -> bool:
        """See asyncio."""
        return False

    def set_debug(self, enabled: bool) -> None:
        """See asyncio; has no effect."""

    # --- the end

    def is_running(self) -> bool:
        """Whether a turn is under way."""
        return self._is_running

    def is_closed(self) -> bool:
        """See asyncio."""
        return self._is_closed

    def close(self) -> None:
        """Drop everything; there are no more turns."""
        self._is_closed = True
        self._ready.clear()
        self._timers.clear()

    async def shutdown_asyncgens(self) -> None:
        """See asyncio."""
        generators = list(self._generators)
        self._generators.clear()
        for generator in generators:
            await generator.aclose()

    def _finalize(self, generator: AsyncGenerator[Any, Any]) -> None:
        """Called when an asynchronous generator is dropped before its end."""
        self._generators.discard(generator)
        if not self._is_closed:
            self.create_task(generator.aclose())

    # --- what is not simulated

    run_forever = run_until_complete = stop = refused(
        "running the loop", "the simulation does that; await, or use asyncio.create_task"
    )
    create_server = create_unix_server = start_tls = refused("a server of the application")
    create_unix_connection = create_datagram_endpoint = refused("a socket that is not TCP")
    connect_accepted_socket = refused("a socket")
    sock_accept = sock_connect = sock_recv = sock_recv_into = sock_sendall = refused("a socket")
    sock_recvfrom = sock_recvfrom_into = sock_sendto = sock_sendfile = sendfile = refused("a socket")
    add_reader = remove_reader = add_writer = remove_writer = refused("a file descriptor in the loop")
    connect_read_pipe = connect_write_pipe = refused("a pipe")
    subprocess_exec = subprocess_shell = refused("a process of the operating system", "use cluster.spawn")
    add_signal_handler = remove_signal_handler = refused(
        "a signal", "end a process of the application by kill()"
    )
    getnameinfo = refused("the name of an address")
