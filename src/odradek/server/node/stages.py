"""How a node starts and stops: two sequences of stages, the same in a broker's process and in a simulation.

    start   ReadStore       whose cluster this is and every topic's settings, before any log is touched
            OpenLogs        the directories locked, checked to be this cluster's, recovered
            AdmitBrokers    before Join, because the controller's orders come from another broker
            Join            registered, and the controller's orders obeyed: the broker leads its partitions
            AdmitClients    only now: a client that connects finds the partitions led
    stop    HandOver        other brokers lead what this one leads, if it is not alone; bounded by settings
            RefuseClients   no new ones; then parked requests are answered with what they have so far
            AwaitClients    requests at work are answered, for up to DRAIN_MS_MAX
            EndCompaction   cleanings under way are dropped
            RefuseBrokers   until here followers fetch and orders are obeyed, as in Kafka, which ends all
                            requests when its leaders have moved, before it closes anything
            AwaitWork       the session has ended, so that the next start need not wait for its expiry, and
                            the threads have finished their calls: no file has two writers
            CloseLogs       checkpoints, flush, `.kafka_cleanshutdown`: the mark comes last

A stage is an action of the surroundings, or a wait for one. A sequence yields the stage and is sent its
result; an error of the stage is raised in the sequence. The node's own actions come between two stages. The
sequences know no loop: the driver of a sequence has a `match` over the stages, and may drop the sequence
between two of them, which is a crash.

A start that fails undoes what it did, by the same stages as a stop, before it raises.
"""

from collections.abc import Callable, Generator
from typing import Any, TypeAlias, TypeVar

from odradek.base.settings import SettingLayers
from odradek.base.values import value
from odradek.metadata.image import Endpoint
from odradek.metadata.startup import FoundAtStart, read_at_start
from odradek.metadata.store import StoreSteps
from odradek.server.node.life import Life
from odradek.server.node.node import Node, ServedHandlers, expected_logs, known_at_start
from odradek.server.node.stored_settings import check_stored_settings
from odradek.storage import FileSystem, LogManager
from odradek.storage.finding import Finding, FindingKind
from odradek.storage.flushing import InParallel, one_after_another

T = TypeVar("T")


@value
class ReadStore:
    """Run a store process in a session of its own; the sequence is sent what it returned."""

    process: StoreSteps[FoundAtStart]


@value
class OpenLogs:
    """Run a blocking call on another thread; the sequence is sent what it returned."""

    call: Callable[[], LogManager]


@value
class AdmitBrokers:
    """Accept the other brokers: from now on their frames go to the node."""

    node: Node


@value
class Join:
    """Let the node join under these addresses (`Node.join`), and wait until it has joined."""

    node: Node
    endpoints: tuple[Endpoint, ...]


@value
class AdmitClients:
    """Accept clients: from now on their frames go to the node."""

    node: Node


@value
class HandOver:
    """Let the node move its leaderships to other brokers (`hand_over.HandOver`), and wait until it ends."""

    node: Node


@value
class RefuseClients:
    """Accept no more clients."""


@value
class AwaitClients:
    """Close each connection when its request at work is answered; all of them after DRAIN_MS_MAX."""


@value
class EndCompaction:
    """Wait until no cleaning is running."""


@value
class RefuseBrokers:
    """Accept no more brokers, and close their connections together with their parked requests."""


@value
class AwaitWork:
    """Wait until the session has ended in the store, and the threads have finished all their calls."""


@value
class CloseLogs:
    """Run a blocking call on another thread; the node's life is over."""

    call: Callable[[], None]


Stage: TypeAlias = (
    ReadStore
    | OpenLogs
    | AdmitBrokers
    | Join
    | AdmitClients
    | HandOver
    | RefuseClients
    | AwaitClients
    | EndCompaction
    | RefuseBrokers
    | AwaitWork
    | CloseLogs
)
Sequence: TypeAlias = Generator[Stage, Any, T]

DRAIN_MS_MAX = 2_000
"""How long a stop waits for the requests of clients at work."""


def start(
    life: Life,
    layers: SettingLayers,
    handlers: ServedHandlers,
    file_system: FileSystem,
    endpoints: tuple[Endpoint, ...],
    in_parallel: InParallel = one_after_another,
) -> Sequence[Node]:
    """Start a node; returns it when clients are accepted.

    Raises SettingError for stored settings of topics, and DataDirectoryError, before anything is changed on
    disk; also whatever a stage raises.
    """
    ports = life.surroundings
    try:
        found: FoundAtStart = yield ReadStore(read_at_start(layers.in_force.node_id, ports.chance))
        broker_id, loaded = layers.in_force.node_id, found.image
        check_stored_settings(loaded)
        image, expected = known_at_start(loaded), expected_logs(loaded, broker_id, found.last_registration)
        for sentence in layers.let_in_force(image.default_broker_config, image.broker_config(broker_id)):
            ports.on_finding(Finding(FindingKind.SETTING_REFUSED, sentence))
        settings = layers.in_force
        logs: LogManager = yield OpenLogs(
            lambda: LogManager.open(
                settings,
                cluster_id=image.cluster_id,
                file_system=file_system,
                clock=ports.clock,
                chance=ports.chance,
                config_of=lambda topic: layers.topic_config(image.topic_config(topic)),
                expected=expected,
                producer_expiration_ms=lambda: layers.in_force.producer_id_expiration_ms,
            )
        )
    except BaseException:
        life.end()
        raise
    for finding in logs.report.findings():
        ports.on_finding(finding)
    node = Node(life, layers, image, logs, handlers)
    former = loaded.brokers.get(broker_id)
    if former is not None:  # before brokers are admitted: one of them may send orders for it
        node.core.controller.note_former_registration(former.epoch)
    try:
        yield AdmitBrokers(node)
        yield Join(node, endpoints)
        node.serve()
        yield AdmitClients(node)
    except GeneratorExit:  # dropped: a crash undoes nothing
        raise
    except BaseException:
        yield from stop(node, in_parallel)
        raise
    return node


def stop(
    node: Node, in_parallel: InParallel = one_after_another, *, hands_over: bool = True
) -> Sequence[None]:
    """Stop a node that was created, whether its start succeeded or failed.

    Without `hands_over` it keeps its leaderships to the end: the other brokers stop at the same time.
    """
    if hands_over and node.core.hand_over.is_needed:
        yield HandOver(node)
    yield RefuseClients()
    node.let_go()
    yield AwaitClients()
    node.core.record_work.close()
    node.stop_compaction()
    yield EndCompaction()
    yield RefuseBrokers()
    node.core.store_session.close()
    yield AwaitWork()
    # The clean mark names this run, if the controller knew of it (R15).
    broker_epoch, logs = node.core.broker_epoch, node.core.logs
    # Before the logs are closed: nothing of the node may run while another thread closes them.
    node.life.end()
    yield CloseLogs(lambda: logs.close(broker_epoch, in_parallel))
