"""How each mishap of `campaigns.crash.mishaps` is carried out on a cluster that clients use."""

import os
import random
import shutil
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self, TypeAlias

from campaigns.crash.campaign import Broken, Load
from campaigns.crash.clusters import Cluster, ZooKeeperCluster
from campaigns.crash.mishaps import SESSION_TIMEOUT_MS, Aimed, Mishap, metadata_of
from odradek.base.errors import OdradekError
from odradek.base.ids import BrokerId
from odradek.client.administering import Admin, administering
from odradek.client.configuration import ClientConfig
from odradek.client.core.admin.topics import create_topic, delete_topics
from odradek.testing.cluster_process import ClusterProcess

SESSION_S = SESSION_TIMEOUT_MS / 1_000
# How long a broker may take to hand over and stop.
STOP_TIMEOUT_S = 45.0
# How much longer than its session a process stands still.
STILL_S = (0.5, 3.0)
# Between the kills of two brokers: sometimes the second one has just become the leader.
BETWEEN_S = (0.0, 0.0, 0.3, 2.5)
# The directions of a one-way cut, and how long cuts last.
WAYS = ("in", "out")
CUT_S = (1.0, 6.0, 3 * SESSION_S)
# How much older than the last one an image of a disk is.
BETWEEN_IMAGES_S = (1.0, 4.0)
# How long nobody supervises, or nobody is ZooKeeper; sometimes longer than a session.
UNSUPERVISED_S = (0.0, 1.0, 6.0)
# How long ZooKeeper is away, and within which time something more must be acknowledged meanwhile.
AWAY_S = 60.0
PROGRESS_S = 10.0
LOOK_S = 1.0
# A topic whose creation is a write of several chunks, and after which time of it the controller stands still.
CHURN_TOPIC: Final = "made-and-deleted"
CHURN_PARTITIONS = 60
INTO_WRITE_S = (0.0, 0.12)
DELETE_TIMEOUT_S = 60.0


Told: TypeAlias = dict[str, tuple[BrokerId, list[BrokerId]]]
"""Leader and ISR of each partition, as one broker knows them."""


@dataclass(frozen=True)
class Scene:
    """Where a mishap happens."""

    cluster: Cluster
    load: Load
    """What clients do meanwhile."""
    chance: random.Random
    await_whole: Callable[[], float]
    """Returns when all replicas are in sync. Raises Broken when that takes too long."""


def carry_out(aimed: Aimed, scene: Scene) -> None:
    """Do it; returns when it is over, which is before the cluster is whole. Raises Broken."""
    cluster, chance = scene.cluster, scene.chance
    pids = [cluster.pid_of(broker_id) for broker_id in aimed.brokers]
    match aimed.mishap:
        case Mishap.TERMINATE:
            _terminate(pids[0])
        case Mishap.ROLLING:
            _roll(aimed.brokers, scene)
        case Mishap.STAND_STILL:
            _stand_still(pids, SESSION_S + chance.uniform(*STILL_S))
        case Mishap.STILL_LEADER | Mishap.STILL_CONTROLLER | Mishap.STILL_TWO:
            _stand_still(pids, 3 * SESSION_S)
        case Mishap.STILL_IN_WRITE:
            with TopicInCreation(cluster.bootstrap_servers, chance):
                _stand_still(pids, 3 * SESSION_S)
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
        case Mishap.RESTART:
            stop(cluster)
            cluster.start()
        case Mishap.STILL_STORE:
            _stand_still([cluster.store_pid], SESSION_S + chance.uniform(*STILL_S))
        case Mishap.KILL_SUPERVISOR | Mishap.KILL_UNSUPERVISED:
            assert isinstance(cluster, ClusterProcess)
            cluster.kill_supervisor()
            _kill(pids, chance)
            time.sleep(chance.choice(UNSUPERVISED_S))
            cluster.start()
        case Mishap.KILL_ZOOKEEPER:
            assert isinstance(cluster, ZooKeeperCluster)
            cluster.zookeeper.kill()
            time.sleep(chance.choice(UNSUPERVISED_S))
            cluster.zookeeper.start()
        case Mishap.ZOOKEEPER_AWAY:
            _take_zookeeper_away(scene)
        case _:
            _kill(pids, chance)


def _terminate(pid: int) -> None:
    os.kill(pid, signal.SIGTERM)
    _await_end(pid)


def _roll(brokers: Sequence[BrokerId], scene: Scene) -> None:
    """Restart one broker after another. Raises Broken when an application has seen an error."""
    before = scene.load.errors()
    for broker_id in brokers:
        _terminate(scene.cluster.pid_of(broker_id))
        scene.await_whole()
    errors = scene.load.errors() - before
    if errors:
        raise Broken(f"{errors} errors have reached clients during a rolling restart")


def _stand_still(pids: Sequence[int], seconds: float) -> None:
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(seconds)
    for pid in pids:
        os.kill(pid, signal.SIGCONT)


class TopicInCreation:
    """A topic whose creation is under way inside the `with`; it is deleted at the end.

    Another topic of each kind would make each round longer, because all of them must be in sync.
    """

    def __init__(self, bootstrap: str, chance: random.Random) -> None:
        self._bootstrap = bootstrap
        self._into_s = chance.uniform(*INTO_WRITE_S)
        self._thread = threading.Thread(target=self._create, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        time.sleep(self._into_s)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._thread.join()
        deadline = time.monotonic() + DELETE_TIMEOUT_S
        problem = self._delete()
        while problem is not None:
            if time.monotonic() > deadline:
                raise Broken(f"{CHURN_TOPIC} could not be deleted: {problem}")
            time.sleep(LOOK_S)
            problem = self._delete()

    def _delete(self) -> OdradekError | None:
        """Delete the topic if it is there; returns why that has failed."""
        try:
            if any(topic.name == CHURN_TOPIC for topic in metadata_of(self._bootstrap).topics):
                with self._admin() as admin:
                    admin.carry_out(delete_topics([CHURN_TOPIC]))
        except OdradekError as error:
            return error
        return None

    def _create(self) -> None:
        try:
            with self._admin() as admin:
                admin.carry_out(create_topic(CHURN_TOPIC, partitions=CHURN_PARTITIONS))
        except OdradekError:
            pass  # The controller stood still for too long; whether the topic exists is seen afterwards.

    def _admin(self) -> AbstractContextManager[Admin]:
        """One that asks once: this class looks again itself."""
        return administering(ClientConfig(self._bootstrap), tries_again=False)


def _take_zookeeper_away(scene: Scene) -> None:
    """R7: clients notice nothing, and no leader and no ISR changes. Raises Broken."""
    cluster, load = scene.cluster, scene.load
    assert isinstance(cluster, ZooKeeperCluster)
    before = _leaders_and_isrs(cluster)
    cluster.zookeeper.kill()
    started = time.monotonic()
    progress = Progress(load.acknowledged(), started)
    while time.monotonic() - started < AWAY_S:
        time.sleep(LOOK_S)
        check_unchanged(before, _leaders_and_isrs(cluster))
        progress.note(load.acknowledged(), time.monotonic())
    cluster.zookeeper.start()
    time.sleep(SESSION_S)
    check_unchanged(before, _leaders_and_isrs(cluster))


class Progress:
    """Whether a count grows at least once in PROGRESS_S; None is not judged."""

    def __init__(self, count: int | None, now_s: float) -> None:
        self._count = count
        self._since_s = now_s  # when it has grown the last time

    def note(self, count: int | None, now_s: float) -> None:
        """Raises Broken."""
        if count != self._count:
            self._count, self._since_s = count, now_s
        elif count is not None and now_s - self._since_s > PROGRESS_S:
            raise Broken(f"nothing was acknowledged for {PROGRESS_S} s, after {count}")


def check_unchanged(before: Sequence[Told], now: Sequence[Told]) -> None:
    """Compare what each broker says. Raises Broken with the first partition that has changed."""
    for was, told in zip(before, now, strict=True):
        for partition in sorted(was.keys() | told.keys()):
            if was.get(partition) != told.get(partition):
                raise Broken(
                    f"leader and ISR of {partition} have changed from {was.get(partition)} to"
                    f" {told.get(partition)} while ZooKeeper was away"
                )


def _leaders_and_isrs(cluster: Cluster) -> list[Told]:
    """What each broker says of each partition."""
    return [
        {
            f"{topic.name}-{one.partition_index}": (one.leader_id, sorted(one.isr_nodes))
            for topic in metadata_of(address).topics
            for one in topic.partitions
        }
        for address in cluster.addresses
    ]


def _cut(cluster: Cluster, broker_id: BrokerId, chance: random.Random, what: Mapping[str, str]) -> None:
    """Hold back what goes between a broker and others, for less or more than a session."""
    cut = cluster.fault(broker_id, {"fault": "isolate", **what})
    time.sleep(chance.choice(CUT_S))
    cluster.fault(broker_id, {"fault": "remove", **cut})


def _put_back_older_disk(cluster: Cluster, broker_id: BrokerId, chance: random.Random) -> None:
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


def stop(cluster: Cluster) -> None:
    """Stop the cluster. Raises Broken if that is not clean."""
    code = cluster.stop()
    if code != 0:
        raise Broken(f"the cluster did not stop cleanly: exit code {code}")


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
