"""Runs processes of the metadata store on the loop, each in a session of its own."""

import asyncio
from typing import Protocol, TypeVar

from odradek.base.errors import OdradekError
from odradek.metadata.store import MetadataStore, StoreSteps, run_in_session

T = TypeVar("T")


class Sessions(Protocol):
    """Where sessions come from."""

    def session(self) -> MetadataStore:
        """Returns a `MetadataStore` that is not open yet."""


async def in_session(store: Sessions, process: StoreSteps[T]) -> T:
    """Run a store process in a session of its own. Raises OdradekError."""
    ended: asyncio.Future[T] = asyncio.get_running_loop().create_future()

    def done(outcome: T | OdradekError) -> None:
        if ended.done():
            return
        if isinstance(outcome, OdradekError):
            ended.set_exception(outcome)
        else:
            ended.set_result(outcome)

    run_in_session(store.session(), process, done)
    return await ended
