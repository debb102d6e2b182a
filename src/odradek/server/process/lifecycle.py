"""How a broker starts and stops: the order of things, and why it is this one.

    start   ports               taken first: where one is in use, nothing was changed on disk
            metadata store      whose cluster this is and every topic's settings, before any log is touched
            log directories     locked, checked to be this cluster's, recovered
            controller          joins, becomes active, says what we lead
            clients             let in only now: whoever connects finds the partitions there
    stop    clients             nobody new; parked requests are answered with what there is
            controller          its session ends, so that the next broker need not wait for its expiry
            logs                checkpoints, flush, `.kafka_cleanshutdown`: the mark comes last

A start that fails half-way undoes what it did.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, Final

from odradek.metadata.image import BrokerImage, ClusterImage
from odradek.metadata.startup import found_cluster, load_image
from odradek.server.admin.http import AdminServer
from odradek.server.edge.dispatch import Dispatcher
from odradek.server.handlers.api_versions import unsupported_version
from odradek.server.node.core import BrokerCore
from odradek.server.node.metadata_bridge import EngineSession
from odradek.server.node.ports import Surroundings
from odradek.server.process.housekeeping import schedule_housekeeping
from odradek.storage import LogManager

if TYPE_CHECKING:
    from odradek.server.process.broker import Broker
    from odradek.timer import Purgatory

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
            broker.admin = AdminServer(broker)
            undo.push_async_callback(broker.admin.close)
            broker.admin.bind(broker.settings.odradek_admin_port)
        engine = await broker.executor.run(lambda: broker.open_engine(broker.settings))
        broker.store = EngineSession(engine, broker.executor)
        undo.callback(broker.store.close)
        await broker.store.open()
        await broker.store.run(found_cluster(broker.chance))
        image = _settings_alone(await broker.store.run(load_image()))
        logs = await broker.executor.run(lambda: _open_logs(broker, image))
        undo.push_async_callback(broker.executor.run, logs.close)
        for line in logs.report.lines():
            _log.warning("%s", line)
        broker.core = _core(broker, image, logs)
        await _join_cluster(broker)
        await _serve(broker)
        undo.pop_all()


async def stop(broker: Broker) -> None:
    """Stop a broker that has started; see the module's head."""
    broker.is_ready = False
    broker.listeners.stop_accepting()
    broker.schedule.close()
    broker.probe.close()
    await _drain(broker)
    if broker.admin is not None:
        await broker.admin.close()
    await broker.stop_compaction()
    broker.store.close()
    broker.driver.close()
    await broker.executor.run(broker.core.logs.close)
    await broker.executor.close()


def _open_logs(broker: Broker, image: ClusterImage) -> LogManager:
    broker.layers.dynamic_default = dict(image.default_broker_config)
    broker.layers.dynamic_broker = dict(image.broker_config(broker.settings.node_id))
    return LogManager.open(
        broker.settings,
        cluster_id=image.cluster_id,
        file_system=broker.file_system,
        clock=broker.clock,
        chance=broker.chance,
        config_of=lambda topic: broker.layers.topic_config(image.topic_config(topic)),
    )


def _settings_alone(loaded: ClusterImage) -> ClusterImage:
    """What a broker knows at first: settings; topics and brokers it hears of from the controller."""
    return ClusterImage(
        cluster_id=loaded.cluster_id,
        topic_configs=loaded.topic_configs,
        broker_configs=loaded.broker_configs,
        default_broker_config=loaded.default_broker_config,
        group_configs=loaded.group_configs,
    )


def _core(broker: Broker, image: ClusterImage, logs: LogManager) -> BrokerCore:
    loop = asyncio.get_running_loop()
    surroundings = Surroundings(
        clock=broker.clock,
        chance=broker.chance,
        timer=broker.timer,
        background=broker.executor,
        defer=lambda callback: _discard(loop.call_soon(broker.stalls.run, callback)),
        store=broker.store,
        on_failure=broker.on_failure,
    )
    core = BrokerCore(surroundings, broker.layers, image, logs)
    broker.store.on_event = core.controller.on_store_event
    return core


def _discard(handle: asyncio.Handle) -> None:
    """A turn of the loop that nobody will cancel."""


async def _join_cluster(broker: Broker) -> None:
    settings = broker.core.settings
    joined: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    logs = broker.core.logs
    broker.core.controller.start(
        BrokerImage(
            broker.core.broker_id,
            broker.listeners.advertised(),
            settings.broker_rack,
            log_dir_ids=tuple(directory.directory_id for directory in logs.directories),
            clean_stop=logs.stopped_cleanly,
        ),
        lambda error: joined.set_result(None) if error is None else joined.set_exception(error),
    )
    await joined


async def _serve(broker: Broker) -> None:
    broker.core.on_settings.append(broker.listeners.take_settings)
    schedule_housekeeping(broker)
    dispatcher = Dispatcher(broker.core, broker.handlers, unsupported_version, broker.stalls)
    await broker.listeners.accept(dispatcher)
    broker.probe.start()
    broker.is_ready = True
    if broker.admin is not None:
        await broker.admin.start()


async def _drain(broker: Broker) -> None:
    """Answer what waits for data, let the others finish for a while, then close every connection."""
    broker.core.groups.resign_all()
    core = broker.core
    parked: tuple[Purgatory[Any], ...] = (*core.replicas.purgatories.all(), core.topic_purgatory)
    for purgatory in parked:
        for operations in purgatory.watchers().values():
            for operation in operations:
                operation.force_complete()
    for _ in range(_DRAIN_LOOKS):
        for connection in broker.listeners.table:
            if not connection.is_handling:
                connection.close()
        if not len(broker.listeners.table):
            return
        await asyncio.sleep(DRAIN_MS_MAX / _DRAIN_LOOKS / 1000)
    for connection in broker.listeners.table:
        connection.abort()
