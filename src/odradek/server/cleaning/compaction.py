"""Compaction in its broker: who cleans, and what the cleaner is given of the broker."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from odradek.server.cleaning.cleaner_host import CleanerHost, CleanerRunner, InlineCleaner
from odradek.server.cleaning.cleaner_process import CleanerProcesses

if TYPE_CHECKING:
    from odradek.server.process.broker import Broker


def make_cleaner(broker: "Broker") -> CleanerHost:
    """The cleaner of a broker that has started; in a process of its own where that sees the same files."""
    loop, core = asyncio.get_running_loop(), broker.core
    runner: CleanerRunner = (
        CleanerProcesses() if broker.has_real_surroundings else InlineCleaner(broker.file_system)
    )

    def later(callback: Callable[[], None]) -> None:
        loop.call_soon(callback)

    return CleanerHost(
        core.logs,
        runner,
        clock=broker.clock,
        background=broker.executor,
        defer=later,
        settings=lambda: core.settings,
        on_failed=core.replicas.directory_failed,
    )
