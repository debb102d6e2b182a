"""Serves the embedded metadata store in the supervisor's process."""

from pathlib import Path

from odradek.base.errors import OdradekError
from odradek.base.ids import BrokerId
from odradek.metadata import codec, paths
from odradek.metadata.service.server import ServedSession
from odradek.metadata.startup import read_document
from odradek.server.process.store_processes import in_session
from odradek.server.process.store_server import StoreServer
from odradek.server.process.store_server import serve_store as serve_on_loop
from odradek.server.supervisor.store_port import OnSession, ServedStore


class StoreOfCluster:
    """See `ServedStore`."""

    def __init__(self, server: StoreServer) -> None:
        self.server = server
        """The socket and the engine."""

    async def controller_id(self) -> BrokerId | None:
        """See `ServedStore.controller_id`."""
        try:
            found = await in_session(self.server, read_document(paths.CONTROLLER, codec.decode_controller))
        except OdradekError:
            return None  # a stop goes on without knowing it
        return None if found is None else found.value

    async def stop(self) -> None:
        """See `ServedStore.stop`."""
        await self.server.stop()


async def serve_store(directory: str, file: Path, on_session: OnSession) -> ServedStore:
    """See `ServeStore`."""

    def on_served(session: ServedSession) -> None:
        on_session(session.broker_id, session.pid)

    return StoreOfCluster(await serve_on_loop(directory, file, on_session=on_served))
