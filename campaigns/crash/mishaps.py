"""What happens to a cluster in one round of `./dev crash --brokers`, and to which of its processes.

A broker is chosen by what it does: it leads a written partition, decides as the controller, or coordinates.
That is looked up before the load's moment, so that the mishap follows the moment at once.
"""

import os
import random
import shutil
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from campaigns.crash.campaign import Broken
from odradek.base.ids import BrokerId
from odradek.base.topic_names import INTERNAL_TOPICS
from odradek.client.configuration import ClientConfig
from odradek.testing.cluster_process import ClusterProcess
from odradek.wire.messages.metadata import MetadataRequest, MetadataResponse

SESSION_TIMEOUT_MS = 4_000
METADATA_VERSION = 12
# How long a broker may take to hand over and stop.
STOP_TIMEOUT_S = 45.0
# How much longer than its session a process stands still.
STILL_S = (0.5, 3.0)
# Between the kills of two brokers: sometimes the second one has just become the leader.
BETWEEN_S = (0.0, 0.0, 0.3, 2.5)
# The directions of a one-way cut, and how long cuts last.
WAYS = ("in", "out")
CUT_S = (1.0, 6.0, 3 * SESSION_TIMEOUT_MS / 1_000)
# How much older than the last one an image of a disk is.
BETWEEN_IMAGES_S = (1.0, 4.0)
# How long nobody supervises; sometimes longer than a session.
UNSUPERVISED_S = (0.0, 1.0, 6.0)


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
    }
)
"""After which no broker has to say that its logs were not closed by a stop."""


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


def aim(mishap: Mishap, cluster: ClusterProcess, chance: random.Random) -> Aimed:
    """Choose the brokers. The cluster must be whole."""
    seen = metadata_of(cluster.bootstrap_servers)
    leaders: dict[bool, list[BrokerId]] = {False: [], True: []}
    for topic in seen.topics:
        leaders[topic.name in INTERNAL_TOPICS] += [one.leader_id for one in topic.partitions]
    ids = list(cluster.broker_ids)
    match mishap:
        case Mishap.KILL_LEADER | Mishap.STAND_STILL | Mishap.CUT_LEADER | Mishap.STILL_LEADER:
            brokers = [chance.choice(leaders[False])]
        case Mishap.KILL_CONTROLLER | Mishap.ISOLATE_CONTROLLER | Mishap.STILL_CONTROLLER:
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
        case Mishap.KILL_SUPERVISOR | Mishap.RESTART:
            brokers = []
    return Aimed(mishap, tuple(brokers))


def carry_out(aimed: Aimed, cluster: ClusterProcess, chance: random.Random) -> None:
    """Do it; returns when it is over, which is before the cluster is whole. Raises Broken."""
    pids = [cluster.pid_of(broker_id) for broker_id in aimed.brokers]
    match aimed.mishap:
        case Mishap.TERMINATE:
            os.kill(pids[0], signal.SIGTERM)
            _await_end(pids[0])
        case Mishap.STAND_STILL:
            _stand_still(pids, SESSION_TIMEOUT_MS / 1_000 + chance.uniform(*STILL_S))
        case Mishap.STILL_LEADER | Mishap.STILL_CONTROLLER | Mishap.STILL_TWO:
            _stand_still(pids, 3 * SESSION_TIMEOUT_MS / 1_000)
        case Mishap.CUT_LEADER:
            _cut(cluster, aimed.brokers[0], chance, {"from": "brokers", "way": chance.choice(WAYS)})
        case Mishap.CUT_STORE:
            _cut(cluster, aimed.brokers[0], chance, {"from": "store", "way": chance.choice(WAYS)})
        case Mishap.ISOLATE_CONTROLLER:
            _cut(cluster, aimed.brokers[0], chance, {})
        case Mishap.FULL_DISK:
            cluster.fault(aimed.brokers[0], {"fault": "full_disk"})
            _await_end(pids[0])
        case Mishap.WIPED_DISK:
            stop(cluster)
            shutil.rmtree(cluster.directory_of(aimed.brokers[0]))
            cluster.start()
        case Mishap.OLD_DISK:
            _put_back_older_disk(cluster, aimed.brokers[0], chance)
        case Mishap.KILL_SUPERVISOR | Mishap.KILL_UNSUPERVISED:
            cluster.kill_supervisor()
            _kill(pids, chance)
            time.sleep(chance.choice(UNSUPERVISED_S))
            cluster.start()
        case Mishap.RESTART:
            stop(cluster)
            cluster.start()
        case _:
            _kill(pids, chance)


def _stand_still(pids: Sequence[int], seconds: float) -> None:
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(seconds)
    for pid in pids:
        os.kill(pid, signal.SIGCONT)


def _cut(
    cluster: ClusterProcess, broker_id: BrokerId, chance: random.Random, what: Mapping[str, str]
) -> None:
    """Hold back what goes between a broker and others, for less or more than a session."""
    cut = cluster.fault(broker_id, {"fault": "isolate", **what})
    time.sleep(chance.choice(CUT_S))
    cluster.fault(broker_id, {"fault": "remove", **cut})


def _put_back_older_disk(cluster: ClusterProcess, broker_id: BrokerId, chance: random.Random) -> None:
    """As from a backup: whole, and stopped cleanly, but not the last thing that the broker had."""
    directory = cluster.directory_of(broker_id)
    image = directory.with_name(f"{directory.name}.image")
    stop(cluster)
    shutil.copytree(directory, image)
    cluster.start()
    time.sleep(chance.choice(BETWEEN_IMAGES_S))
    stop(cluster)
    shutil.rmtree(directory)
    image.rename(directory)
    cluster.start()


def stop(cluster: ClusterProcess) -> None:
    """Stop the cluster. Raises Broken if that is not clean."""
    code = cluster.stop()
    if code != 0:
        raise Broken(f"the cluster did not stop cleanly: exit code {code}")


def metadata_of(bootstrap: str) -> MetadataResponse:
    """What the first of these brokers knows of all topics. Raises OdradekError."""
    with ClientConfig(bootstrap, request_timeout_ms=5_000).connect() as connection:
        request = MetadataRequest(topics=None, allow_auto_topic_creation=False)
        return connection.ask(request, MetadataResponse, METADATA_VERSION)


def _kill(pids: Sequence[int], chance: random.Random) -> None:
    for number, pid in enumerate(pids):
        if number:
            time.sleep(chance.choice(BETWEEN_S))
        os.kill(pid, signal.SIGKILL)


def _await_end(pid: int) -> None:
    """Until then the cluster is still whole. Raises Broken when the process does not end."""
    deadline = time.monotonic() + STOP_TIMEOUT_S
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.02)
    raise Broken(f"a broker has not stopped within {STOP_TIMEOUT_S} s of SIGTERM")
