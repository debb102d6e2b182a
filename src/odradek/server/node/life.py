"""The life of a node: after its end, no callback or request reaches the node.

Every later call to a node comes through one of its ports: a turn of the loop, work in the background, an
event of the metadata store, an answer of a peer, a report of compaction, a timer task, a request. A `Life`
wraps all of these ports.

    life = Life(surroundings)
    Node over life.surroundings
    life.end()                    from here on none of them reaches the node: this is what a crash is

Invariant: after `end` nothing of the node runs, so the node sends no more answers. Its threads finish the
calls that they have begun, and do not report them. The connections belong to the caller of `end`, which
drops them without telling the node.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from odradek.base.buffers import Buffer
from odradek.base.execution import Background
from odradek.metadata.store import MetadataStore, OnStoreEvent, Operation, StoreEvent, StoreLimits
from odradek.server.edge.dispatch import Answerable, FrameDispatcher
from odradek.server.node.peers import OnPeerOutcome, PeerRequest, Peers
from odradek.server.node.ports import Surroundings

if TYPE_CHECKING:
    from odradek.server.cleaning.cleaner_host import CleanerRunner, CleaningEvents
    from odradek.storage.compaction.job import CleaningJob

A = TypeVar("A")
T = TypeVar("T")


class Life:
    """The time from the construction of a node to its end, by a clean stop or a crash."""

    def __init__(self, outside: Surroundings) -> None:
        self.is_over = False
        self._timer = outside.timer
        self.surroundings = replace(
            outside,
            background=_LivingBackground(outside.background, self),
            defer=lambda callback: outside.defer(self.call(callback)),
            cleaner_runner=lambda: _LivingCleaner(outside.cleaner_runner(), self),
            peers=_LivingPeers(outside.peers, self),
            connect_peers=lambda: _LivingPeers(outside.connect_peers(), self),
            store=_LivingStore(outside.store, self),
            on_finding=self.report(outside.on_finding),
            on_failure=self.report(outside.on_failure),
        )
        """The ports that the node is given."""

    def end(self) -> None:
        """From now on, run nothing of the node."""
        self.is_over = True
        self._timer.close()

    def call(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Wrap `callback`, so that it does nothing when this life is over."""

        def living() -> None:
            if not self.is_over:
                callback()

        return living

    def report(self, callback: Callable[[A], None]) -> Callable[[A], None]:
        """The same for a callback that takes an argument."""

        def living(outcome: A) -> None:
            if not self.is_over:
                callback(outcome)

        return living

    def dispatcher(self, dispatcher: FrameDispatcher) -> FrameDispatcher:
        """Wrap `dispatcher`, so that it drops frames when this life is over."""
        return _LivingDispatcher(dispatcher, self)


class _Over(Exception):
    """Work that was still waiting for a thread when its node died."""


class _LivingDispatcher:
    """A `FrameDispatcher` that drops frames when the life is over."""

    __slots__ = ("_dispatch", "_dispatcher", "_life")

    def __init__(self, dispatcher: FrameDispatcher, life: Life) -> None:
        self._dispatch, self._dispatcher = dispatcher.dispatch, dispatcher
        self._life = life

    def dispatch(self, client: Answerable, frame: Buffer) -> None:
        """See `FrameDispatcher.dispatch`."""
        if not self._life.is_over:
            self._dispatch(client, frame)

    def answer_waits(self, client: Answerable) -> None:
        """See `FrameDispatcher.answer_waits`."""
        self._dispatcher.answer_waits(client)

    def answer_taken(self, client: Answerable) -> None:
        """See `FrameDispatcher.answer_taken`."""
        self._dispatcher.answer_taken(client)


class _LivingBackground:
    """A `Background` that neither begins nor reports work when the life is over."""

    def __init__(self, background: Background, life: Life) -> None:
        self._background = background
        self._life = life

    def submit(
        self, call: Callable[[], T], done: Callable[[T], None], failed: Callable[[Exception], None]
    ) -> None:
        """See `Background.submit`."""
        life = self._life

        def living() -> T:
            if life.is_over:
                raise _Over
            return call()

        self._background.submit(living, life.report(done), life.report(failed))


class _LivingPeers:
    """`Peers` that report no answers when the life is over."""

    def __init__(self, peers: Peers, life: Life) -> None:
        self._peers = peers
        self._life = life

    def send(self, request: PeerRequest, done: OnPeerOutcome) -> None:
        """See `Peers.send`."""
        self._peers.send(request, self._life.report(done))


class _LivingStore:
    """A `MetadataStore` that reports no events when the life is over."""

    def __init__(self, store: MetadataStore, life: Life) -> None:
        self._store = store
        self._life = life

    @property
    def limits(self) -> StoreLimits:
        """See `MetadataStore.limits`."""
        return self._store.limits

    @property
    def lost_for_ms(self) -> int | None:
        """See `MetadataStore.lost_for_ms`."""
        return self._store.lost_for_ms

    def open(self, on_event: OnStoreEvent) -> None:
        """See `MetadataStore.open`."""
        living: Callable[[StoreEvent], None] = self._life.report(on_event)
        self._store.open(living)

    def submit(self, operation: Operation) -> int:
        """See `MetadataStore.submit`."""
        return self._store.submit(operation)

    def close(self) -> None:
        """See `MetadataStore.close`."""
        self._store.close()


class _LivingCleaner:
    """A `CleanerRunner` that reports nothing when the life is over."""

    def __init__(self, runner: CleanerRunner, life: Life) -> None:
        self._runner = runner
        self._life = life

    def run(self, job: CleaningJob, bytes_per_second: float, events: CleaningEvents) -> Callable[[], None]:
        """See `CleanerRunner.run`."""
        report = self._life.report
        living = replace(
            events,
            on_segment=report(events.on_segment),
            done=report(events.done),
            failed=report(events.failed),
        )
        return self._runner.run(job, bytes_per_second, living)
