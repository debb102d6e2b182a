"""What may happen to a cluster in one round of `./dev crash --brokers`, and to which of its processes.

A broker is chosen by what it does: it leads a written partition, decides as the controller, or coordinates.
That is looked up before the load's moment, so that the mishap follows the moment at once.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from campaigns.crash.clusters import Cluster, ZooKeeperCluster
from odradek.base.ids import BrokerId
from odradek.base.topic_names import INTERNAL_TOPICS
from odradek.client.configuration import ClientConfig
from odradek.wire.messages.metadata import MetadataRequest, MetadataResponse

SESSION_TIMEOUT_MS = 4_000
METADATA_VERSION = 12


class Mishap(Enum):
    """One of them in each round."""

    KILL_LEADER = "kill -9 of the leader of a written partition"
    KILL_CONTROLLER = "kill -9 of the controller"
    KILL_COORDINATOR = "kill -9 of a coordinator"
    KILL_ANY = "kill -9 of any broker"
    KILL_TWO = "kill -9 of two brokers, one after the other"
    STAND_STILL = "SIGSTOP of a leader for longer than its session, SIGCONT"
    KILL_SUPERVISOR = "kill -9 of the supervisor, and a new start"
    KILL_UNSUPERVISED = "kill -9 of the supervisor and of a broker, and a new start"
    TERMINATE = "SIGTERM to a broker"
    RESTART = "a stop of the cluster and a new start"
    CUT_LEADER = "a leader is cut off from the other brokers, one way"
    CUT_STORE = "a broker is cut off from the metadata store, one way"
    ISOLATE_CONTROLLER = "the controller is cut off from everybody"
    STILL_LEADER = "SIGSTOP of a leader for three sessions, SIGCONT"
    STILL_CONTROLLER = "SIGSTOP of the controller for three sessions, SIGCONT"
    STILL_TWO = "SIGSTOP of two brokers at once for three sessions, SIGCONT"
    FULL_DISK = "the disk of a broker is full: it ends and is started again"
    WIPED_DISK = "a stop of the cluster, a disk wiped, and a new start"
    OLD_DISK = "a stop, and a start with an older image of a disk, with its clean mark"
    ROLLING = "SIGTERM to each broker, the next when the cluster is whole: no client gets an error"
    STILL_IN_WRITE = "SIGSTOP of the controller inside a write to the store, for three sessions, SIGCONT"
    STILL_STORE = "SIGSTOP of the process of the metadata store for longer than a session, SIGCONT"
    KILL_ZOOKEEPER = "kill -9 of ZooKeeper, and a new start"
    ZOOKEEPER_AWAY = "ZooKeeper is away for 60 s: acknowledgements go on, leaders and ISRs stay"


CLEAN: Final = frozenset(
    {
        Mishap.STAND_STILL,
        Mishap.TERMINATE,
        Mishap.RESTART,
        Mishap.KILL_SUPERVISOR,
        Mishap.CUT_LEADER,
        Mishap.CUT_STORE,
        Mishap.ISOLATE_CONTROLLER,
        Mishap.STILL_LEADER,
        Mishap.STILL_CONTROLLER,
        Mishap.STILL_TWO,
        Mishap.FULL_DISK,
        Mishap.WIPED_DISK,
        Mishap.OLD_DISK,
        Mishap.ROLLING,
        Mishap.STILL_IN_WRITE,
        Mishap.STILL_STORE,
        Mishap.KILL_ZOOKEEPER,
        Mishap.ZOOKEEPER_AWAY,
    }
)
"""After which no broker has to say that its logs were not closed by a stop."""

OF_SUPERVISORS: Final = frozenset({Mishap.KILL_SUPERVISOR, Mishap.KILL_UNSUPERVISED})
"""What happens only where a supervisor holds the metadata store."""
OF_ZOOKEEPER: Final = frozenset({Mishap.KILL_ZOOKEEPER, Mishap.ZOOKEEPER_AWAY})
"""What happens only around a ZooKeeper."""


def possible(cluster: Cluster) -> list[Mishap]:
    """What may happen to a cluster of this kind."""
    missing = OF_SUPERVISORS if isinstance(cluster, ZooKeeperCluster) else OF_ZOOKEEPER
    return [mishap for mishap in Mishap if mishap not in missing]


@dataclass(frozen=True)
class Aimed:
    """A mishap, and the brokers that it is for."""

    mishap: Mishap
    brokers: tuple[BrokerId, ...]

    def __str__(self) -> str:
        return f"{self.mishap.value} ({', '.join(map(str, self.brokers))})"

    @property
    def kills(self) -> tuple[BrokerId, ...]:
        """The brokers whose next start has to verify their logs."""
        if self.mishap in CLEAN:
            return ()
        return self.brokers


def drawn(chance: random.Random, among: Sequence[Mishap] = tuple(Mishap)) -> Iterator[Mishap]:
    """Each mishap once in an order by chance, and so on."""
    while True:
        yield from chance.sample(among, len(among))


def aim(mishap: Mishap, cluster: Cluster, chance: random.Random) -> Aimed:
    """Choose the brokers. The cluster must be whole."""
    seen = metadata_of(cluster.bootstrap_servers)
    leaders: dict[bool, list[BrokerId]] = {False: [], True: []}
    for topic in seen.topics:
        leaders[topic.name in INTERNAL_TOPICS] += [one.leader_id for one in topic.partitions]
    ids = list(cluster.broker_ids)
    match mishap:
        case Mishap.KILL_LEADER | Mishap.STAND_STILL | Mishap.CUT_LEADER | Mishap.STILL_LEADER:
            brokers = [chance.choice(leaders[False])]
        case (
            Mishap.KILL_CONTROLLER
            | Mishap.ISOLATE_CONTROLLER
            | Mishap.STILL_CONTROLLER
            | Mishap.STILL_IN_WRITE
        ):
            brokers = [seen.controller_id]
        case Mishap.KILL_COORDINATOR:
            brokers = [chance.choice(leaders[True] or ids)]
        case Mishap.KILL_TWO | Mishap.STILL_TWO:
            brokers = chance.sample(ids, 2)
        case (
            Mishap.KILL_ANY
            | Mishap.TERMINATE
            | Mishap.KILL_UNSUPERVISED
            | Mishap.CUT_STORE
            | Mishap.FULL_DISK
            | Mishap.WIPED_DISK
            | Mishap.OLD_DISK
        ):
            brokers = [chance.choice(ids)]
        case Mishap.ROLLING:
            brokers = chance.sample(ids, len(ids))
        case (
            Mishap.KILL_SUPERVISOR
            | Mishap.RESTART
            | Mishap.STILL_STORE
            | Mishap.KILL_ZOOKEEPER
            | Mishap.ZOOKEEPER_AWAY
        ):
            brokers = []
    return Aimed(mishap, tuple(brokers))


def metadata_of(bootstrap: str) -> MetadataResponse:
    """What the first of these brokers knows of all topics. Raises OdradekError."""
    with ClientConfig(bootstrap, request_timeout_ms=5_000).connect() as connection:
        request = MetadataRequest(topics=None, allow_auto_topic_creation=False)
        return connection.ask(request, MetadataResponse, METADATA_VERSION)
