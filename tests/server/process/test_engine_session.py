import asyncio
from pathlib import Path

import pytest

from odradek.base.clock import ManualClock
from odradek.metadata.embedded import EmbeddedEngine
from odradek.metadata.store import Create, Created, Result
from odradek.server.edge.loop_stalls import LoopStalls
from odradek.server.process.engine_session import EngineSession
from odradek.server.process.executor import Executor


@pytest.mark.asyncio
async def test_what_is_submitted_after_the_end_is_not_taken_for_a_failure(tmp_path: Path) -> None:
    """A controller with work left when its broker stops: it must not report a broken disk."""
    executor = Executor(asyncio.get_running_loop(), LoopStalls(lambda: 0, ManualClock()))
    session = EngineSession(EmbeddedEngine(tmp_path / "metadata.db"), executor)
    await session.open()
    before: list[Result] = []
    after: list[Result] = []
    session.submit(Create("/before", b""), before.append)
    session.close()
    session.submit(Create("/after", b""), after.append)
    await executor.close()
    assert [type(result) for result in before] == [Created]
    assert after == []
