"""Runs a client's cores on a loop: sends what they want sent, gives them outcomes and the time.

    driver = Driver(config, loop)
    driver.run(core)                 from now on the core's `due` is asked after every event
    driver.pump()                    after a call of the application that may have changed a core
    await driver.changed()           until the next event
    await driver.until(is_so, 500)   until an event has made it so, or 500 ms are over
    await driver.ask(Send(...))      a single request of the application; returns its outcome

Invariants: every `Send` that a core returned gets its outcome once, never while the core is still at work.
The driver decides nothing but which of several equal brokers is asked.
"""

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from odradek.base.chance import SeededChance
from odradek.base.error_codes import ErrorCode
from odradek.base.ids import NO_BROKER, BrokerId
from odradek.client.aio.home import Home
from odradek.client.aio.link import SETUP_MS, Link, LinkOptions, OnOutcome, unknown_node
from odradek.client.aio.loop_time import LoopClock, LoopTimer
from odradek.client.bootstrap import Address
from odradek.client.core.backoff import Backoff
from odradek.client.core.cluster_view import (
    BACKOFF_MAX_MS,
    BACKOFF_MS,
    MAX_AGE_MS,
    ClusterView,
    Node,
)
from odradek.client.core.requests import Core, Outcome, Send, ToCoordinator, earliest
from odradek.client.core.routing import ANY, Routing
from odradek.client.sampled import USUAL, Sampled, Sampling, average_and_maximum
from odradek.net.request_pipeline import ConnectionFailed
from odradek.net.security import UNPROTECTED, Security
from odradek.timer import TimedCall

# Requests to coordinators have connections of their own: a heartbeat must not wait behind a fetch, which
# the broker may answer late, nor a fetch behind a join.
_DATA: Final = "data"
_COORDINATION: Final = "coordination"


@dataclass(frozen=True, slots=True)
class DriverOptions:
    """How a client reaches its cluster; Kafka's names and defaults."""

    bootstrap: Sequence[Address]
    client_id: str = "odradek"
    retry_backoff_ms: int = BACKOFF_MS
    retry_backoff_max_ms: int = BACKOFF_MAX_MS
    reconnect_backoff_ms: int = 50
    reconnect_backoff_max_ms: int = 1_000
    metadata_max_age_ms: int = MAX_AGE_MS
    metadata_max_idle_ms: int | None = None
    """None: the topics that are wanted stay known."""
    socket_connection_setup_timeout_ms: int = SETUP_MS
    allow_auto_create_topics: bool = False
    security: Security = UNPROTECTED
    sampling: Sampling = USUAL


class Driver:
    """See the module; used on the thread of its loop."""

    def __init__(self, options: DriverOptions, loop: asyncio.AbstractEventLoop) -> None:
        self.loop: Final = loop
        """Its loop."""
        self.home = Home(loop)
        """Where its client may be used."""
        self.clock = LoopClock(loop)
        self._loop_timer = LoopTimer(loop, self.clock)
        self.chance = SeededChance(_seed())
        self.view = ClusterView(
            self.chance,
            max_age_ms=options.metadata_max_age_ms,
            max_idle_ms=options.metadata_max_idle_ms,
            backoff_ms=options.retry_backoff_ms,
            backoff_max_ms=options.retry_backoff_max_ms,
            may_create_topics=options.allow_auto_create_topics,
        )
        self.routing = Routing(
            self.view,
            self.chance,
            backoff_ms=options.retry_backoff_ms,
            backoff_max_ms=options.retry_backoff_max_ms,
        )
        self._bootstrap = [unknown_node(host, port) for host, port in options.bootstrap]
        self._link_options = LinkOptions(
            loop,
            self._loop_timer.timer,
            options.client_id,
            Backoff(options.reconnect_backoff_ms, options.reconnect_backoff_max_ms, self.chance),
            options.socket_connection_setup_timeout_ms,
            options.security,
        )
        # The links by broker, address and purpose; they last until the client is closed or the broker has
        # moved. Several brokers may have one address, behind a proxy or by mistake.
        self._links: dict[tuple[Node, str], Link] = {}
        # The cores, the view and the routing among them, in the order in which they are asked.
        self._cores: list[Core] = [self.view, self.routing]
        # Who gets the outcome of each request without one.
        self._owners: dict[Send, OnOutcome] = {}
        # Those who wait for the next event.
        self._waiters: list[asyncio.Future[None]] = []
        # The task that asks the cores again although nothing happened; None while no core wants that.
        self._alarm: TimedCall | None = None
        self._is_pumping = False
        self._is_pumped_again = False
        self._is_closed = False
        # Requests that were given to a link, and answers.
        self._requests = self._responses = 0
        self.sampling = options.sampling
        """Over which time rates and averages are measured."""
        self._sends = Sampled(options.sampling)
        self._latencies = Sampled(options.sampling)

    @property
    def now_ms(self) -> int:
        """The time that cores get."""
        return self.clock.monotonic_ms()

    @property
    def is_closed(self) -> bool:
        """Whether `close` was called."""
        return self._is_closed

    @property
    def bootstrap_count(self) -> int:
        """How many bootstrap servers there are."""
        return len(self._bootstrap)

    def figures(self) -> dict[str, float]:
        """Its metrics, by Kafka's names (`client.metrics`)."""
        return {
            "request-total": self._requests,
            "response-total": self._responses,
            "connection-count": sum(link.is_ready for link in self._links.values()),
            "request-rate": self._sends.count_per_second(self.now_ms),
            "response-rate": self._latencies.count_per_second(self.now_ms),
            **average_and_maximum("request-latency", self._latencies, self.now_ms),
        }

    def run(self, *cores: Core) -> None:
        """Ask these cores too from now on."""
        self._cores.extend(cores)
        self.pump()

    def stop(self, core: Core) -> None:
        """Ask this core no longer; what it has under way still comes back to it."""
        self._cores.remove(core)

    # --- the application's side

    def ask(self, send: Send) -> asyncio.Future[Outcome]:
        """Send one request; the future gets its outcome, also a failure."""
        found: asyncio.Future[Outcome] = self.loop.create_future()

        finish = partial(_give, found)
        if self._is_closed:
            finish(Outcome(send, error=ConnectionFailed("the client is closed")))
            return found
        self._owners[send] = finish
        self.routing.place(send, self.now_ms)
        self.pump()
        return found

    def ask_server(self, number: int, send: Send) -> asyncio.Future[Outcome]:
        """`ask` of one of the bootstrap servers, wherever the request is for; nothing else is sent before."""
        found: asyncio.Future[Outcome] = self.loop.create_future()
        self._owners[send] = partial(_give, found)
        self._link(self._bootstrap[number], _DATA).send(send, send.timeout_ms)
        return found

    async def changed(self, timeout_ms: int | None = None) -> None:
        """Return after the next event, or when the time is over."""
        waiter: asyncio.Future[None] = self.loop.create_future()
        self._waiters.append(waiter)
        handle = None
        if timeout_ms is not None:
            handle = self.loop.call_later(max(0, timeout_ms) / 1000, _end_wait, waiter)
        try:
            await waiter
        finally:
            if handle is not None:
                handle.cancel()
            if waiter in self._waiters:
                self._waiters.remove(waiter)

    async def until(self, is_so: Callable[[], bool], timeout_ms: int) -> bool:
        """Wait until an event has made something so; False if the time is over before."""
        ends_ms = self.now_ms + timeout_ms
        while not is_so():
            left_ms = ends_ms - self.now_ms
            if left_ms <= 0:
                return False
            await self.changed(left_ms)
        return True

    def close(self) -> None:
        """Close all connections; requests without an outcome fail in events of their own.

        In a forked process it does nothing with them: they are its parent's.
        """
        if self._is_closed:
            return
        self._is_closed = True
        if self.home.is_forked:
            return
        if self._alarm is not None:
            self._alarm.cancel()
        for link in self._links.values():
            link.close()
        self._loop_timer.close()
        gone = ConnectionFailed("the client was closed")
        owners, self._owners = self._owners, {}
        for send, done in owners.items():
            done(Outcome(send, error=gone))
        self._wake()

    # --- events

    def pump(self) -> None:
        """Ask all cores what to send, and send it; those who wait look again."""
        if self._is_pumping or self._is_closed:
            self._is_pumped_again = True
            return
        self._is_pumping = True
        try:
            self._is_pumped_again = True
            while self._is_pumped_again:
                self._is_pumped_again = False
                self._send_all()
            self._set_alarm()
        finally:
            self._is_pumping = False
        self._wake()

    def _send_all(self) -> None:
        now_ms = self.now_ms
        for core in self._cores:
            for send in core.due(now_ms):
                self._owners[send] = self._outcome_for(core)
                self.routing.place(send, now_ms)
                # A request may need a coordinator that the routing must look for.
                self._is_pumped_again = True
        for send, node, left_ms in self.routing.ready(now_ms):
            link = self._link_for(send, node)
            if node is ANY:
                self.routing.answers.went_to(send, link.node.id)
            link.send(send, left_ms)
            self._requests += 1
            self._sends.add(1, now_ms)
        for outcome in self.routing.failed(now_ms):
            self.loop.call_soon(self._finish, outcome)

    def _outcome_for(self, core: Core) -> OnOutcome:
        def give(outcome: Outcome) -> None:
            core.outcome(outcome, self.now_ms)

        return give

    def _finish(self, outcome: Outcome) -> None:
        done = self._owners.pop(outcome.send, None)
        if done is None:  # the client was closed
            return
        error = outcome.error
        took_ms = self.routing.finished(outcome, self.now_ms)
        if outcome.response is not None:
            self._responses += 1
            if took_ms is not None:
                self._latencies.add(took_ms, self.now_ms)
        if error is not None and isinstance(error, ConnectionFailed):
            self.routing.refused(outcome.send, error.code)
            if error.code is not ErrorCode.UNSUPPORTED_VERSION:
                self.view.refresh_soon(self.now_ms)
        done(outcome)
        self.pump()

    def _set_alarm(self) -> None:
        due_ms = earliest(*(core.next_deadline_ms() for core in self._cores))
        if self._alarm is not None:
            if self._alarm.deadline_ms == due_ms:
                return
            self._alarm.cancel()
            self._alarm = None
        if due_ms is not None:
            self._alarm = TimedCall(max(due_ms, self.now_ms + 1), self._ring)
            self._loop_timer.timer.add(self._alarm)

    def _ring(self) -> None:
        self._alarm = None
        self.pump()

    def _wake(self) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            _end_wait(waiter)

    # --- links

    def _link_for(self, send: Send, node: BrokerId | None) -> Link:
        if node is ANY:
            return self._any_link()
        purpose = _COORDINATION if isinstance(send.to, ToCoordinator) else _DATA
        return self._link(self.view.nodes[node], purpose)

    def _link(self, node: Node, purpose: str) -> Link:
        link = self._links.get((node, purpose))
        if link is None:
            self._replace(node, purpose)
            link = self._links[node, purpose] = Link(node, self._link_options, self._finish)
        return link

    def _replace(self, node: Node, purpose: str) -> None:
        """Close the links that one to this broker takes the place of."""
        for (other, its_purpose), link in list(self._links.items()):
            has_moved = other.id == node.id != NO_BROKER and its_purpose == purpose
            is_same = other.id == NO_BROKER and (other.host, other.port) == (node.host, node.port)
            if has_moved or (is_same and its_purpose == purpose and not link.load):
                del self._links[other, its_purpose]
                link.close()

    def _any_link(self) -> Link:
        """The least loaded link that is ready; else one to a broker that may be connected to now.

        Those to which connections have failed come last, so that a living one is found soon.
        """
        ready = [link for link in self._links.values() if link.is_ready]
        if ready:
            return min(ready, key=lambda link: link.load)
        nodes = [*self.view.nodes.values(), *self._bootstrap]
        first = self.chance.below(len(nodes))
        for node in sorted(nodes[first:] + nodes[:first], key=self._failures_of):
            known = self._links.get((node, _DATA))
            if known is None:
                return self._link(node, _DATA)
            if not known.is_backing_off:
                return known
        return self._link(nodes[first], _DATA)

    def _failures_of(self, node: Node) -> int:
        known = self._links.get((node, _DATA))
        return 0 if known is None else known.failures


def _give(found: asyncio.Future[Outcome], outcome: Outcome) -> None:
    if not found.done():  # else who asked was cancelled
        found.set_result(outcome)


def _end_wait(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


def _seed() -> int:
    """Returns a seed of the machine's own, which a simulation redirects."""
    return random.getrandbits(63)
