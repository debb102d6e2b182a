"""Drives the start and the stop of a node on the running loop (`server/node/stages` has their order).

    start   ports       bound first: if one is in use, nothing was changed on disk
            store       the engine's file is opened, or the supervisor's store is found
            stages      each is carried out here: the store's and the disk's on threads, clients by listeners
    stop    stages
            store       the engine's file, or the sockets, are closed when all sessions have ended
    crash   all of it   at once, for tests: nothing more is answered, written or marked

A start that fails half-way undoes its steps.
"""

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from odradek.base.errors import OdradekError
from odradek.base.execution import Defer
from odradek.base.settings import BrokerSettings
from odradek.server.edge.unix_server import LOOK_MS
from odradek.server.node import stages
from odradek.server.node.life import Life
from odradek.server.node.node import Node
from odradek.server.node.peers import NoPeers, Peers
from odradek.server.node.ports import Surroundings
from odradek.server.process.boot_id import boot_id
from odradek.server.process.broker import Broker, view_of
from odradek.server.process.broker_store import BrokerStore, open_store
from odradek.server.process.executor import sync_in_parallel
from odradek.server.process.process_contract import is_cluster_stopping
from odradek.server.process.shell import Shell
from odradek.server.process.store_processes import in_session
from odradek.storage.finding import Finding

if TYPE_CHECKING:  # compaction is loaded when there may be work for it
    from odradek.server.cleaning.cleaner_host import CleanerRunner

_log = logging.getLogger(__name__)

T = TypeVar("T")

_DRAIN_LOOKS: Final = 40


async def start(shell: Shell) -> Broker:
    """Start a broker; see the module's head."""
    store: BrokerStore | None = None
    try:
        await _bind(shell)
        store = await open_store(shell)
        sequence = stages.start(
            Life(_surroundings(shell, store)),
            shell.layers,
            shell.handlers,
            shell.file_system,
            shell.listeners.endpoints(),
            sync_in_parallel,
        )
        node = await _drive(sequence, shell, store)
    except BaseException:
        shell.listeners.stop_accepting()
        if shell.peer_listener is not None:
            shell.peer_listener.refuse()
        await _release(shell, store)
        raise
    return Broker(shell, store, node)


async def stop(broker: Broker, *, hands_over: bool = True) -> None:
    """Stop a broker that has started; see the module's head, and `stages.stop` for `hands_over`."""
    sequence = stages.stop(broker.node, sync_in_parallel, hands_over=hands_over)
    await _drive(sequence, broker.shell, broker.store)
    await _release(broker.shell, broker.store)


async def crash(broker: Broker, end_files: Callable[[], None]) -> None:
    """End a started broker in the way a crash of its process would, and leave its files as they are.

    `end_files` frees the descriptors and locks of its file system, as the system does after a crash.
    """
    # Before anything is awaited: neither a request nor a timer comes in between.
    shell = broker.shell
    shell.is_ready = False
    broker.node.life.end()
    end_files()
    shell.listeners.stop_accepting()
    shell.listeners.connections.abort_all()
    if shell.peer_listener is not None:
        shell.peer_listener.abandon()
    # The session of the store is not ended: the next start finds it stale.
    await _release(shell, broker.store)


async def _bind(shell: Shell) -> None:
    """Take all ports. Raises OSError for one that is in use."""
    await shell.listeners.bind()
    if shell.peer_listener is not None:
        shell.peer_listener.bind()
    if shell.admin is not None:
        shell.admin.bind(shell.settings.odradek_admin_host, shell.settings.odradek_admin_port)


async def _release(shell: Shell, store: BrokerStore | None) -> None:
    """End what the shell runs: the end of a stop, of a crash, and of a start that fails.

    Nothing fires, answers or reports any more once the first call of this returns to the loop.
    """
    if shell.peer_sockets is not None:
        shell.peer_sockets.close()
    shell.probe.close()
    shell.driver.close()
    if store is not None:
        store.close()
    if shell.cuts is not None:
        shell.cuts.end()
    if shell.admin is not None:
        await shell.admin.close()
    await shell.executor.close()


async def _drive(sequence: stages.Sequence[T], shell: Shell, store: BrokerStore) -> T:
    """Carry out one stage after another; an error of a stage is raised in the sequence."""
    advance: Callable[[], stages.Stage] = partial(next, sequence)
    while True:
        try:
            stage = advance()
        except StopIteration as end:
            value: T = end.value
            return value
        try:
            result = await _carry_out(stage, shell, store)
        except BaseException as error:
            advance = partial(sequence.throw, error)
        else:
            advance = partial(sequence.send, result)


async def _carry_out(stage: stages.Stage, shell: Shell, store: BrokerStore) -> object:
    match stage:
        case stages.ReadStore(process):
            return await in_session(store, process)
        case stages.OpenLogs(call):
            return await shell.executor.run(call)
        case stages.AdmitBrokers(node):
            if shell.registered_addresses is not None:
                shell.registered_addresses.find_by(node.core.registered)
            if shell.peer_listener is not None:
                await shell.peer_listener.accept(node.peer_dispatcher)
        case stages.RefuseBrokers():
            if shell.peer_listener is not None:
                shell.peer_listener.refuse()
        case stages.Join():
            await _join(stage)
        case stages.AdmitClients(node):
            await _admit(shell, node)
        case stages.HandOver(node):
            handed_over = asyncio.Event()
            node.core.hand_over.begin(handed_over.set)
            await handed_over.wait()
        case stages.RefuseClients():
            shell.is_ready = False
            shell.listeners.stop_accepting()
            shell.probe.close()
        case stages.AwaitClients():
            await _await_clients(shell)
            if shell.admin is not None:
                await shell.admin.close()
        case stages.EndCompaction():
            if shell.cleaner_processes is not None:
                await shell.cleaner_processes.close()
        case stages.AwaitWork():
            await store.drain()
            await shell.executor.drain()
        case stages.CloseLogs(close):
            await shell.executor.run(close)
    return None


def _surroundings(shell: Shell, store: BrokerStore) -> Surroundings:
    loop = asyncio.get_running_loop()

    def defer(callback: Callable[[], None]) -> None:
        loop.call_soon(shell.stalls.run, callback)

    def connect_peers() -> Peers:
        return NoPeers(defer) if shell.peer_sockets is None else shell.peer_sockets.connect()

    return Surroundings(
        clock=shell.clock,
        turn_time=shell.turn_time,
        chance=shell.chance,
        timer=shell.driver.timer,
        background=shell.executor,
        defer=defer,
        cleaner_runner=lambda: _cleaner_runner(shell, defer),
        stalls=shell.stalls,
        peers=connect_peers(),
        connect_peers=connect_peers,
        store=store.session(),
        on_finding=_log_finding,
        on_failure=shell.on_failure,
        cluster_brokers=lambda: _brokers_meant(shell.settings),
        all_stop=lambda: is_cluster_stopping(shell.settings.odradek_cluster_directory),
        boot_id=boot_id(),
    )


def _brokers_meant(settings: BrokerSettings) -> int | None:
    """How many brokers the cluster is meant to have; None if nothing says it."""
    if settings.odradek_cluster_brokers is None and not settings.zookeeper_connect:
        return 1
    return settings.odradek_cluster_brokers


def _log_finding(finding: Finding) -> None:
    _log.warning("%s", finding)


def _cleaner_runner(shell: Shell, defer: Defer) -> "CleanerRunner":
    """Returns the runner of compaction: a process of its own, if that sees the same files and time."""
    if shell.has_real_surroundings:
        from odradek.server.cleaning.cleaner_process import CleanerProcesses

        shell.cleaner_processes = CleanerProcesses()
        return shell.cleaner_processes
    from odradek.server.cleaning.cleaner_host import InlineCleaner

    return InlineCleaner(shell.file_system, defer)


async def _join(stage: stages.Join) -> None:
    joined: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def done(error: OdradekError | None) -> None:
        if joined.cancelled():
            return
        if error is None:
            joined.set_result(None)
        else:
            joined.set_exception(error)

    stage.node.join(stage.endpoints, done)
    await joined


async def _admit(shell: Shell, node: Node) -> None:
    table = shell.listeners.connections.table
    node.schedule.every(
        table.sweep_interval_ms, "idle-connections", lambda: table.close_idle(shell.clock.monotonic_ms())
    )
    if shell.peer_listener is not None:
        node.schedule.every(LOOK_MS, "socket-file", shell.peer_listener.renew)
    if shell.admin is not None:  # before clients are accepted: its libraries take 100 ms to load
        await shell.admin.start(view_of(shell, node))
    await shell.listeners.accept(node.dispatcher)
    shell.stalls.has_clients = True
    shell.probe.start()
    shell.is_ready = True


async def _await_clients(shell: Shell) -> None:
    table = shell.listeners.connections.table
    for _ in range(_DRAIN_LOOKS):
        for connection in table:
            if not connection.is_handling:
                connection.close()
        if not len(table):
            return
        await asyncio.sleep(stages.DRAIN_MS_MAX / _DRAIN_LOOKS / 1000)
    for connection in table:
        connection.abort()
