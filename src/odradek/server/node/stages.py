"""How a node starts and stops: two sequences of stages, the same in a broker's process and in a simulation.

    start   ReadStore       whose cluster this is and every topic's settings, before any log is touched
            OpenLogs        the directories locked, checked to be this cluster's, recovered
            AdmitBrokers    it is by the orders of another broker, the controller, that it joins
            Join            registered, and the controller's orders obeyed: we lead what we lead
            AdmitClients    only now: a client that connects finds the partitions there
    stop    RefuseClients   no new ones; then parked requests are answered with what there is
            AwaitClients    what is at work is answered, for a while
            EndCompaction   what is being cleaned is dropped
            RefuseBrokers   until here followers fetch and orders are obeyed, as in Kafka, which ends all
                            requests when its leaders have moved, before it closes anything
            AwaitWork       the session has ended, so that the next life need not wait for its expiry, and
                            threads have nothing left to do: no file has two writers
            CloseLogs       checkpoints, flush, `.kafka_cleanshutdown`: the mark comes last

A stage is what the surroundings have to do, or to wait for. A sequence yields it and is sent what it led to;
an error is raised in it. What the node does by itself stands between two stages. The sequences know no loop:
whoever drives one has a `match` over the stages, and may drop it between two of them, which is a crash.

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
from odradek.storage import FileSystem, LogManager
from odradek.storage.finding import Finding, FindingKind
from odradek.storage.flushing import InParallel, one_after_another

T = TypeVar("T")


@value
class ReadStore:
    """Run a process in a session of its own; sent what it returned."""

    process: StoreSteps[FoundAtStart]


@value
class OpenLogs:
    """Make a call that blocks, on another thread; sent what it returned."""

    call: Callable[[], LogManager]


@value
class AdmitBrokers:
    """Let the other brokers in: their frames go to the node from here on."""

    node: Node


@value
class Join:
    """Let the node join under these addresses (`Node.join`), and wait until it has."""

    node: Node
    endpoints: tuple[Endpoint, ...]


@value
class AdmitClients:
    """Let clients in: their frames go to the node from here on."""

    node: Node


@value
class RefuseClients:
    """Let no more clients in."""


@value
class AwaitClients:
    """Close each connection when what is at work there is answered; all of them after DRAIN_MS_MAX."""


@value
class EndCompaction:
    """Wait until nothing cleans logs any more."""


@value
class RefuseBrokers:
    """Let no more brokers in, and end their connections, with what they have parked."""


@value
class AwaitWork:
    """Wait until the session has ended in the store, and all that threads were given is done."""


@value
class CloseLogs:
    """Make a call that blocks, on another thread; the node's life is over."""

    call: Callable[[], None]


Stage: TypeAlias = (
    ReadStore
    | OpenLogs
    | AdmitBrokers
    | Join
    | AdmitClients
    | RefuseClients
    | AwaitClients
    | EndCompaction
    | RefuseBrokers
    | AwaitWork
    | CloseLogs
)
Sequence: TypeAlias = Generator[Stage, Any, T]

DRAIN_MS_MAX = 2_000
"""How long a stop waits for what clients have at work."""


def start(
    life: Life,
    layers: SettingLayers,
    handlers: ServedHandlers,
    file_system: FileSystem,
    endpoints: tuple[Endpoint, ...],
    in_parallel: InParallel = one_after_another,
) -> Sequence[Node]:
    """Start a node; returns it when clients have been let in.

    Raises DataDirectoryError, before anything was changed on disk, and whatever a stage raises.
    """
    ports = life.surroundings
    try:
        found: FoundAtStart = yield ReadStore(read_at_start(layers.in_force.node_id, ports.chance))
        broker_id, loaded = layers.in_force.node_id, found.image
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


def stop(node: Node, in_parallel: InParallel = one_after_another) -> Sequence[None]:
    """Stop a node that was made, whether its start came to its end or failed."""
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
