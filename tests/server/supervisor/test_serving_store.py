"""The store that a supervisor serves: it knows the controller, and who begins a session."""

import asyncio
import os
from pathlib import Path

from odradek.base.ids import BrokerId
from odradek.metadata import codec, paths
from odradek.metadata.store import Create, StoreSteps
from odradek.server.process.store_processes import in_session
from odradek.server.supervisor.serving_store import StoreOfCluster, serve_store


def test_it_knows_the_controller(tmp_path: Path) -> None:
    def name_controller() -> StoreSteps[None]:
        yield Create(paths.CONTROLLER, codec.encode_controller(2, 0))

    async def test() -> None:
        directory = tmp_path / "sockets"
        directory.mkdir(mode=0o700)
        sessions: list[tuple[BrokerId, int]] = []
        store = await serve_store(
            str(directory), tmp_path / "metadata.db", lambda broker_id, pid: sessions.append((broker_id, pid))
        )
        assert isinstance(store, StoreOfCluster)
        try:
            assert await store.controller_id() is None
            await in_session(store.server, name_controller())
            assert await store.controller_id() == 2
            assert os.listdir(directory) == ["store.sock"]
            assert sessions == [], "those of the supervisor itself are not reported"
        finally:
            await store.stop()

    asyncio.run(test())
