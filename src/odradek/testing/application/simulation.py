"""One run of one seed: a cluster, the processes of an application, and the loop that lets steps happen.

    Simulation(seed=7, brokers=3).run(test)     the test's result; raises what the test raises

A run ends when the test does. Then tasks that are left are cancelled, in virtual time. It also ends when
nothing can wake the application any more (Deadlock), and at `within` virtual seconds (OutOfTime).
"""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Final, TypeVar

from odradek.base.errors import OdradekError
from odradek.testing.application.cluster import Cluster
from odradek.testing.application.history import History
from odradek.testing.application.machine import Machine
from odradek.testing.application.network import HostNetwork
from odradek.testing.application.process import Process
from odradek.testing.application.stacks import waiting_at, waiting_tasks
from odradek.testing.application.traffic import Traffic
from odradek.testing.kept_logs import KEPT_LEVEL
from odradek.testing.setting_texts import SettingValue, broker_layers, setting_texts
from odradek.testing.sim.world import World

T = TypeVar("T")

TURNS_PER_MS: Final = 100
"""A process that is never idle takes time, too: so many turns of loops take a millisecond."""
CLEANUP_S: Final = 60.0
"""How long tasks may take to end after they were cancelled, in virtual time."""


class Deadlock(OdradekError):
    """The application waits, and nothing can wake it any more."""


class OutOfTime(OdradekError, TimeoutError):
    """The application has not ended within its virtual time."""


class Simulation:
    """One run."""

    def __init__(
        self,
        seed: int,
        *,
        brokers: int = 3,
        within: float = 600.0,
        settings: Mapping[str, SettingValue] | None = None,
        is_traced: bool = False,
    ) -> None:
        """`within` is the limit of virtual seconds; `settings` are the brokers', under Kafka's names.

        Raises SettingError.
        """
        self.seed = seed
        self.world = World(seed, is_traced=is_traced)
        self.traffic = Traffic(self.world.clock)
        self.history = History(self.world, self.traffic)
        self.processes: list[Process[Any]] = []
        """The test's own first, then those that it has spawned."""
        self.failed_ms = 0
        """The virtual time at which a run has failed."""
        self.told: list[str] = []
        """Lines of what happened until a run has failed."""
        self._within = within
        self._settings = _kafka_settings(brokers, settings or {})
        self._brokers = brokers
        # The test's coroutine; before a run there is none.
        self._test: Coroutine[Any, Any, Any]
        # The number of turns taken when time passed last, and that time.
        self._turns_before = 0
        self._passed_ms = 0

    def spawn(self, coroutine: Coroutine[Any, Any, T], name: str) -> Process[T]:
        """See `Cluster.spawn`."""
        number = len(self.processes)
        name = name or f"process-{number}"
        network = HostNetwork(
            self.world, f"10.0.0.{number + 1}", lambda broker_id: self.traffic.observer(name, broker_id)
        )
        process = Process(self.world, network, name, coroutine)
        process.on_killed = lambda: self.history.note(f"{name} is killed")
        self.processes.append(process)
        return process

    def run(self, test: Callable[[Cluster], Coroutine[Any, Any, T]]) -> T:
        """Run the test. Raises what it raises, Deadlock, OutOfTime; what its processes raised unheard."""
        __tracebackhide__ = True
        with _log_nothing_of_brokers(), Machine(self.world.clock, self.seed).simulated():
            for broker_id in range(1, self._brokers + 1):
                self.world.node(broker_id, **self._settings)
            self.history.look()
            self._test = test(Cluster(self))
            process = self.spawn(self._test, "test")
            try:
                end_ms = self.world.clock.monotonic_ms() + round(self._within * 1000)
                while process.is_alive:
                    self._go_on(end_ms)
                result = process.result()
                self._raise_unheard()
            except Exception:
                self.failed_ms, self.told = self.world.clock.monotonic_ms(), self.history.told()
                raise
            finally:
                self._end()
        return result

    def _go_on(self, end_ms: int) -> None:
        """Run a step or, when there is none now, let time pass. Raises OutOfTime, Deadlock."""
        if self.world.clock.monotonic_ms() > end_ms:
            raise OutOfTime(
                self._waiting(f"not at its end after {self._within:g} s of virtual time")
            ).with_traceback(self._place())
        if not self._step():
            if not self._can_wake():
                raise Deadlock(self._waiting("nothing can wake the application any more")).with_traceback(
                    self._place()
                )
            self._wait(end_ms)

    def _step(self) -> bool:
        """Run a step; returns False if there is none now."""
        clock = self.world.clock
        turns = sum(process.loop.turns for process in self.processes)
        if clock.monotonic_ms() != self._passed_ms:
            self._passed_ms, self._turns_before = clock.monotonic_ms(), turns
        elif turns - self._turns_before >= TURNS_PER_MS:
            clock.advance(1)
        if not self.world.step():
            return False
        self.history.look()
        return True

    def _wait(self, end_ms: int) -> None:
        """Let time pass until something is due, or until after `end_ms`."""
        due_ms = self.world.next_ms()
        until_ms = end_ms + 1 if due_ms is None else min(due_ms, end_ms + 1)
        self.world.clock.advance(max(0, until_ms - self.world.clock.monotonic_ms()))

    def _can_wake(self) -> bool:
        """Whether time passing, or a broker, can wake the application."""
        living = [process for process in self.processes if process.is_alive]
        return any(not process.loop.is_idle or process.is_connected for process in living)

    def _waiting(self, what: str) -> str:
        living = [process for process in self.processes if process.is_alive]
        lines = [line for process in living for line in waiting_tasks(process.name, process.loop.tasks())]
        return "\n".join([f"{what}; these tasks wait:", *lines])

    def _place(self) -> TracebackType | None:
        """The line of the test at which it waits, as the innermost entry of a traceback."""
        return waiting_at(getattr(self._test, "cr_frame", None))

    def _raise_unheard(self) -> None:
        """Raise what ended a process that nobody has awaited."""
        __tracebackhide__ = True
        for process in self.processes:
            if process.has_failed_unheard:
                process.result()

    def _end(self) -> None:
        """End what is left of the application, and let Python drop it."""
        end_ms = self.world.clock.monotonic_ms() + round(CLEANUP_S * 1000)
        living = [process for process in self.processes if not process.was_killed]
        for process in living:
            process.end()
        while any(process.loop.tasks() for process in living) and self.world.clock.monotonic_ms() <= end_ms:
            if not self._step():
                self._wait(end_ms)
        with _log_nothing():
            for process in self.processes:
                process.bury()
            gc.collect()


@contextmanager
def _log_nothing_of_brokers() -> Iterator[None]:
    """Keep brokers' lines out of reports, unless a level was set: they have neither a broker nor a time.

    What faults do to brokers is in the history.
    """
    log = logging.getLogger("odradek")
    before = log.level
    if before in (logging.NOTSET, logging.ERROR, KEPT_LEVEL):  # the latter two are set for brokers in threads
        log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        log.setLevel(before)


@contextmanager
def _log_nothing() -> Iterator[None]:
    """Processes that were killed say nothing more."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)


def _kafka_settings(brokers: int, settings: Mapping[str, SettingValue]) -> dict[str, str]:
    """These settings, and Kafka's defaults as far as they fit so many brokers; as `World.node` takes them.

    Raises SettingError.
    """
    replicas = min(3, brokers)
    texts = setting_texts(
        {
            "default.replication.factor": replicas,
            "offsets.topic.num.partitions": brokers,
            "offsets.topic.replication.factor": replicas,
            "transaction.state.log.num.partitions": brokers,
            "transaction.state.log.replication.factor": replicas,
            "transaction.state.log.min.isr": min(2, replicas),
            **settings,
        }
    )
    broker_layers({"log.dirs": "/data", **texts})
    return {name.replace(".", "_"): text for name, text in texts.items()}
