"""The metadata store that the supervisor serves to its brokers, as the supervisor sees it."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeAlias

from odradek.base.ids import BrokerId

OnSession: TypeAlias = Callable[[BrokerId, int], None]
"""Called when a session begins or comes back, with its broker and process id (0 where that is not known).

It is called in an event of its own."""


class ServedStore(Protocol):
    """A store that is served."""

    async def controller_id(self) -> BrokerId | None:
        """The broker that is the controller; None if there is none, or it is not known."""

    async def stop(self) -> None:
        """Stop serving, without ending sessions."""


class ServeStore(Protocol):
    """Serves the store of a file over a socket in a directory. Raises DataDirectoryError."""

    async def __call__(self, directory: str, file: Path, on_session: OnSession) -> ServedStore:
        """See the class."""
