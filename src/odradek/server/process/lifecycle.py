"""How a broker starts and stops: the order of things, and why it is this one.

    start   ports               taken first: where one is in use, nothing was changed on disk
            metadata store      whose cluster this is and every topic's settings, before any log is touched
            log directories     locked, checked to be this cluster's, recovered
            controller          joins, becomes active, says what we lead
            clients             let in only now: a client that connects finds the partitions there
    stop    clients             no new ones; parked requests are answered with what there is
            controller          its session ends, so that the next broker need not wait for its expiry
            logs                checkpoints, flush, `.kafka_cleanshutdown`: the mark comes last
    crash   all of it           at once, for tests: nothing is answered, written or marked any more

A start that fails half-way undoes what it did.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Final

from odradek.base.clock import machine_short_clock
from odradek.base.errors import OdradekError
from odradek.metadata.startup import FoundAtStart, read_at_start
from odradek.metadata.store import run_in_session
from odradek.metadata.store_host import StoreHost
from odradek.server.admin.http import AdminServer
from odradek.server.node.node import Node, expected_logs, known_at_start, open_logs
from odradek.server.node.ports import Surroundings
from odradek.server.process.boot_id import boot_id
from odradek.server.process.broker import Broker
from odradek.server.process.executor import sync_in_parallel
from odradek.storage import LogManager

if TYPE_CHECKING:  # compaction is loaded when there first may be work for it
    from odradek.server.cleaning.cleaner_host import CleanerRunner

_log = logging.getLogger(__name__)

DRAIN_MS_MAX: Final = 2_000
_DRAIN_LOOKS: Final = 40


async def start(broker: Broker) -> None:
    """Start a broker; see the module's head."""
    async with AsyncExitStack() as undo:
        undo.push_async_callback(broker.executor.close)
        undo.callback(broker.driver.close)
        undo.callback(broker.listeners.stop_accepting)
        await broker.listeners.bind()
        if broker.settings.odradek_admin_port >= 0:
            broker.admin = AdminServer()
            undo.push_async_callback(broker.admin.close)
            broker.admin.bind(broker.settings.odradek_admin_port)
        engine = await broker.executor.run(lambda: broker.open_engine(broker.settings))
        broker.store_host = StoreHost(engine, broker.executor)
        undo.callback(broker.store_host.close)
        loaded, last = await _read_at_start(broker)
        image, expected = known_at_start(loaded), expected_logs(loaded, broker.settings.node_id, last)
        surroundings = _surroundings(broker)
        logs = await broker.executor.run(
            lambda: open_logs(surroundings, broker.layers, image, broker.file_system, expected)
        )
        undo.push_async_callback(_close, broker, logs)
        for line in logs.report.lines():
            _log.warning("%s", line)
        broker.node = Node(surroundings, broker.layers, image, logs, broker.handlers)
        undo.callback(broker.core.store_session.close)
        # Before the logs are closed: nothing of the node may run while another thread closes them.
        undo.callback(broker.node.life.end)
        await _join_cluster(broker)
        await _serve(broker)
        undo.pop_all()


async def stop(broker: Broker) -> None:
    """Stop a broker that has started; see the module's head."""
    broker.is_ready = False
    broker.listeners.stop_accepting()
    broker.probe.close()
    await _drain(broker)
    broker.core.record_work.close()
    if broker.admin is not None:
        await broker.admin.close()
    broker.node.stop_compaction()
    if broker.cleaner_processes is not None:
        await broker.cleaner_processes.close()
    broker.core.store_session.close()
    broker.store_host.close()
    broker.driver.close()
    await broker.executor.drain()
    broker.node.life.end()
    await _close(broker, broker.core.logs)
    await broker.executor.close()


async def crash(broker: Broker, end_files: Callable[[], None]) -> None:
    """End a broker that has started as a crash of its process would, and leave its files as they are.

    `end_files` frees the descriptors and locks of its file system, as the system does then.
    """
    # Before anything is awaited: neither a request nor a timer comes in between.
    broker.is_ready = False
    broker.node.life.end()
    end_files()
    broker.listeners.stop_accepting()
    for connection in broker.listeners.table:
        connection.abort()
    broker.probe.close()
    broker.driver.close()
    if broker.admin is not None:
        await broker.admin.close()
    broker.store_host.close()  # without ending the session: the next start finds it stale
    await broker.executor.close()


async def _read_at_start(broker: Broker) -> FoundAtStart:
    """Read the metadata store before anything else is opened. Raises OdradekError."""
    found: asyncio.Future[FoundAtStart] = asyncio.get_running_loop().create_future()

    def done(outcome: FoundAtStart | OdradekError) -> None:
        if found.cancelled():
            return
        if isinstance(outcome, OdradekError):
            found.set_exception(outcome)
        else:
            found.set_result(outcome)

    reading = read_at_start(broker.settings.node_id, broker.chance)
    run_in_session(broker.store_host.session(), reading, done)
    return await found


async def _close(broker: Broker, logs: LogManager) -> None:
    """The clean mark names this run, if the controller knew of it (R15)."""
    epoch = broker.core.broker_epoch if hasattr(broker, "node") else None
    await broker.executor.drain()  # no file has two writers
    await broker.executor.run(lambda: logs.close(epoch, sync_in_parallel))


def _surroundings(broker: Broker) -> Surroundings:
    loop = asyncio.get_running_loop()
    return Surroundings(
        clock=broker.clock,
        short_clock=machine_short_clock(),
        chance=broker.chance,
        timer=broker.timer,
        background=broker.executor,
        defer=lambda callback: _discard(loop.call_soon(broker.stalls.run, callback)),
        cleaner_runner=lambda: _cleaner_runner(broker),
        stalls=broker.stalls,
        orders=None,
        store=broker.store_host.session(),
        on_failure=broker.on_failure,
        boot_id=boot_id(),
    )


def _cleaner_runner(broker: Broker) -> "CleanerRunner":
    """Compaction runs in a process of its own where that sees the same files and the same time."""
    if broker.has_real_surroundings:
        from odradek.server.cleaning.cleaner_process import CleanerProcesses

        broker.cleaner_processes = CleanerProcesses()
        return broker.cleaner_processes
    from odradek.server.cleaning.cleaner_host import InlineCleaner

    return InlineCleaner(broker.file_system)


def _discard(handle: asyncio.Handle) -> None:
    """A turn of the loop that is never cancelled."""


async def _join_cluster(broker: Broker) -> None:
    joined: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    broker.node.join(
        broker.listeners.endpoints(),
        lambda error: joined.set_result(None) if error is None else joined.set_exception(error),
    )
    await joined


async def _serve(broker: Broker) -> None:
    node, table = broker.node, broker.listeners.table
    node.serve()
    node.schedule.every(
        table.sweep_interval_ms, "idle-connections", lambda: table.close_idle(broker.clock.monotonic_ms())
    )
    if broker.admin is not None:  # before clients are let in: its libraries take 100 ms to load
        await broker.admin.start(broker.view)
    await broker.listeners.accept(node.dispatcher)
    broker.probe.start()
    broker.is_ready = True


async def _drain(broker: Broker) -> None:
    """Answer what waits for data, let the others finish for a while, then close every connection."""
    broker.node.let_go()
    for _ in range(_DRAIN_LOOKS):
        for connection in broker.listeners.table:
            if not connection.is_handling:
                connection.close()
        if not len(broker.listeners.table):
            return
        await asyncio.sleep(DRAIN_MS_MAX / _DRAIN_LOOKS / 1000)
    for connection in broker.listeners.table:
        connection.abort()
