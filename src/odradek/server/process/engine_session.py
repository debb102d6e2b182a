"""One session with a metadata store whose engine blocks: its calls run in a lane, results come back here.

Law: it keeps the store's promise: results in the order of submission, and before each result the events of
everything earlier. Policy belongs to the controller.
"""

import logging
from collections.abc import Callable

from odradek.metadata.store import (
    Applied,
    Failed,
    Fault,
    Operation,
    Process,
    Result,
    StoreEngine,
    StoreEvent,
    T,
    run_process,
)
from odradek.server.process.executor import Executor, Lane

_log = logging.getLogger(__name__)


class EngineSession:
    """A `MetadataStore` over a `StoreEngine`."""

    def __init__(self, engine: StoreEngine, executor: Executor) -> None:
        self._engine = engine
        self._lane = Lane(executor)
        self._executor = executor
        self._session = 0
        # From `close` on nothing is submitted any more: whoever still has wishes is stopping, too.
        self._is_closed = False
        self.on_event: Callable[[StoreEvent], None] = lambda event: None
        """Takes what watches saw, and the end of the session."""

    @property
    def session_id(self) -> int:
        """See `MetadataStore.session_id`."""
        return self._session

    async def open(self) -> None:
        """Begin the session."""
        self._session = await self._executor.run(self._engine.open_session)

    async def run(self, process: Process[T]) -> T:
        """Run a process to its end, before anything is submitted. Raises StoreRefused."""
        session = self._session
        return await self._executor.run(
            lambda: run_process(process, lambda operation: self._engine.apply(session, operation).result)
        )

    def submit(self, operation: Operation, done: Callable[[Result], None]) -> None:
        """See `MetadataStore.submit`; after `close` nothing happens, and `done` is never called."""
        if self._is_closed:
            return
        session = self._session

        def applied(outcome: Applied) -> None:
            for told, event in outcome.events:
                if told == session:
                    self.on_event(event)
            done(outcome.result)

        self._lane.submit(
            lambda: self._engine.apply(session, operation),
            applied,
            lambda error: done(Failed(Fault.STORE_FAILED, str(error))),
        )

    def close(self) -> None:
        """See `MetadataStore.close`; then let go of the store's file. Done when the executor is closed."""

        def end() -> None:
            self._engine.close_session(self._session)
            self._engine.close()

        self._is_closed = True
        self._lane.submit(end, lambda done: None, _warn)


def _warn(error: Exception) -> None:
    _log.warning("the session with the metadata store did not end in good order: %s", error)
