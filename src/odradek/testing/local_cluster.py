"""A cluster for tests: several real brokers that replicate to each other, for any Kafka client.

    with LocalCluster() as cluster:
        Producer({"bootstrap.servers": cluster.bootstrap_servers, "acks": "all"})
        cluster.kill(cluster.leader_of("orders"))

Each broker runs on a thread of this process, on real time; the metadata store has one more thread. So a
cluster starts in a fraction of a second, and ends with the process of the test, however that ends.
"""

from __future__ import annotations

import shutil
import tempfile
import uuid
import weakref
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError, SettingError
from odradek.base.ids import BrokerId, TopicPartition
from odradek.client.core.requests import CoordinatorKind
from odradek.server.handlers.registry import Handlers
from odradek.testing.broker import TEST_SETTINGS, WITH_LOGS
from odradek.testing.cluster_verbs import ClusterVerbs
from odradek.testing.faults import Fault, Faults, Side, Way
from odradek.testing.host import BrokerNotRunning
from odradek.testing.kept_logs import KeptLog
from odradek.testing.machine_clock import MachineClock
from odradek.testing.setting_texts import SettingValue, broker_layers, setting_texts
from odradek.testing.store_thread import StoreThread
from odradek.testing.tested_group import WAIT_S
from odradek.testing.thread_host import ThreadHost
from odradek.testing.tracebacks import ends_at_caller
from odradek.testing.virtual_clock import VirtualClock

if TYPE_CHECKING:
    from odradek.server.admin.position_watch import Ask
    from odradek.testing.asynchronous_cluster import AsyncClusterVerbs

T = TypeVar("T")

REPLICAS_MAX: Final = 3
"""Topics have a replica on each broker, at most so many."""
_LOOK_S: Final = 0.02
"""How often the brokers are asked while something is waited for."""
_OWN_SETTINGS: Final = (
    "node.id",
    "listeners",
    "log.dirs",
    "odradek.cluster.directory",
    "odradek.metadata.file",
)
_NOT_STARTED: Final = "the cluster was not started yet, or is closed"


def cluster_settings(brokers: int) -> dict[str, SettingValue]:
    """The defaults of a cluster for tests that differ from Kafka's.

    With three brokers each topic has three replicas, two of which must be in sync: any broker may be killed,
    and nothing that acks=all has acknowledged is lost.
    """
    replicas = min(brokers, REPLICAS_MAX)
    return {
        **TEST_SETTINGS,
        "default.replication.factor": replicas,
        "min.insync.replicas": max(1, replicas - 1),
        "offsets.topic.num.partitions": brokers,
        "transaction.state.log.num.partitions": brokers,
        # After a broker was lost or has come back, its followers try again soon.
        "replica.fetch.backoff.ms": 100,
    }


class LocalCluster(ClusterVerbs):
    """Brokers 1, 2, ...: a `with` block starts them and removes them at the end; or call `start` and `close`.

    Invariant: a broker that is started again has the same port and the same data.
    """

    @ends_at_caller
    def __init__(
        self,
        brokers: int = 3,
        *,
        settings: Mapping[str, SettingValue] | None = None,
        log_dirs: int = 1,
    ) -> None:
        """`settings` are Kafka's broker settings by name, for all brokers.

        Each broker has so many log directories, of which one may fail (`faults(1).full_disk(directory=...)`).
        Raises SettingError for an unknown setting, for an invalid value, and for one that each broker must
        have of its own.
        """
        if brokers < 1:
            raise SettingError(f"a cluster has at least one broker, not {brokers}")
        if log_dirs < 1:
            raise SettingError(f"a broker has at least one log directory, not {log_dirs}")
        given = settings or {}
        for name in _OWN_SETTINGS:
            if name in given:
                raise SettingError(f"{name} cannot be set: the cluster gives each broker its own")
        self.settings: Mapping[str, str] = setting_texts({**cluster_settings(brokers), **given})
        """The settings of all brokers, as a settings file spells them."""
        broker_layers(self.settings)
        self.broker_ids: tuple[BrokerId, ...] = tuple(range(1, brokers + 1))
        """The ids of the brokers, also of those that are not running."""
        self._log_dirs = log_dirs
        # None before `start` and after `close`.
        self._store: StoreThread | None = None
        self._hosts: dict[BrokerId, ThreadHost] = {}
        self._paused: set[BrokerId] = set()
        # Brokers on which faults were set since they were last cleared, and those whose disk was full.
        self._faulty: set[BrokerId] = set()
        self._full: set[BrokerId] = set()
        # Those that were isolated since; what is in force, they say themselves.
        self._isolated: set[BrokerId] = set()
        self._log = KeptLog()
        # Removes the temporary directory, at the end of the process at the latest.
        self._remove: Callable[[], object] = lambda: None

    # --- where it is

    @property
    @ends_at_caller
    def bootstrap_servers(self) -> str:
        """host:port of all brokers, also of those that are not running. Raises BrokerNotRunning."""
        return ",".join(self._host(one).bootstrap_servers for one in self.broker_ids)

    @ends_at_caller
    def address_of(self, broker_id: BrokerId) -> str:
        """host:port of one broker."""
        return self._host(broker_id).bootstrap_servers

    @property
    def running(self) -> list[BrokerId]:
        """The brokers that run; a paused one does."""
        return [one for one, host in self._hosts.items() if host.is_running]

    def log_mark(self) -> int:
        """Where the log ends now, for `log_text`."""
        return self._log.mark()

    def log_text(self, since: int = 0) -> str:
        """What the brokers and the store have logged since a mark; each line names its broker.

        The last events are kept, of INFO and above unless the logger `odradek` has another level.
        """
        return self._log.text(since)

    def __repr__(self) -> str:
        return f"<a cluster of {len(self.broker_ids)} brokers in this process, {len(self.running)} running>"

    # --- life

    @ends_at_caller
    def start(self, broker_id: BrokerId | None = None) -> None:
        """Start the cluster, or one broker again after `kill` or `stop`; returns when clients can connect.

        Does nothing where they run. For the replicas of a broker to be in sync again, see `wait_in_sync`.
        """
        if broker_id is not None:
            host = self._host(broker_id)
            if not host.is_running:
                host.start()
            return
        if self._store is not None:
            for one in self.broker_ids:
                self.start(one)
            return
        try:
            self._start_all()
        except BaseException:
            self.close()
            raise

    @ends_at_caller
    def stop(self, broker_id: BrokerId) -> None:
        """Stop a broker cleanly: it hands its leaderships over. Does nothing while it is stopped."""
        host = self._host(broker_id)
        if host.is_running:
            self._paused.discard(broker_id)
            host.stop()

    @ends_at_caller
    def restart(self, broker_id: BrokerId) -> None:
        """`stop` and `start`; after `kill`, only `start`. Returns when clients can connect.

        Its replicas may not be in sync yet: see `wait_in_sync`.
        """
        self.stop(broker_id)
        self.start(broker_id)

    @ends_at_caller
    def kill(self, broker_id: BrokerId) -> None:
        """End a broker as `kill -9` does. The others know of it at once, and elect leaders among them."""
        self._running_host(broker_id).kill()
        self._paused.discard(broker_id)
        self._running_store().end_sessions(broker_id)

    @ends_at_caller
    def pause(self, broker_id: BrokerId) -> None:
        """Suspend a broker as SIGSTOP does: connections stay, nothing is answered.

        When `broker.session.timeout.ms` has passed its session ends, and other brokers lead its partitions.
        """
        self._running_host(broker_id).pause()
        self._paused.add(broker_id)

    @ends_at_caller
    def resume(self, broker_id: BrokerId) -> None:
        """Continue after `pause`."""
        self._host(broker_id).resume()
        self._paused.discard(broker_id)

    @ends_at_caller
    def restore(self) -> None:
        """Undo what the test did: faults end, all brokers run, and all replicas are in sync.

        Does nothing if nothing was done. A broker whose disk was full may be about to end, so it is stopped
        and started.
        """
        self.resume_store()
        if not self._paused and not self._faulty and len(self.running) == len(self.broker_ids):
            return
        for one in list(self._paused):
            self.resume(one)
        for one in self._faulty & set(self.running):
            self.stop(one) if one in self._full else self.faults(one).clear()
        self._faulty, self._full, self._isolated = set(), set(), set()
        self.start()
        self.wait_in_sync()

    @ends_at_caller
    def faults(self, broker_id: BrokerId) -> Faults:
        """The faults that a test can set on one broker; see `Faults`. They end when the broker does."""
        self._running_host(broker_id)
        return Faults(partial(self._fault, broker_id))

    @ends_at_caller
    def isolate(self, broker_id: BrokerId, *, from_: Side | None = None, way: Way = "both") -> Fault:
        """Cut a broker off: from the other brokers, from the metadata store, or (None) from both.

        With `way="in"` nothing reaches it, with "out" nothing leaves it. Connections stay open, and what was
        held back arrives when the fault is removed or its `with` block ends. Clients still reach the broker.
        Without the store it loses its leaderships after `broker.session.timeout.ms`.
        """
        return self.faults(broker_id).isolate(from_=from_, way=way)

    @ends_at_caller
    def expire_session(self, broker_id: BrokerId) -> None:
        """End the session of a running broker with the metadata store, as if the store had not heard of it.

        The others lead its partitions, until it has registered again.
        """
        self._running_host(broker_id)
        self._running_store().end_sessions(broker_id)

    @ends_at_caller
    def pause_store(self) -> None:
        """Suspend the metadata store: nothing is elected or created, and no session ends, until it resumes.

        Records are produced and read meanwhile.
        """
        self._running_store().pause()

    @ends_at_caller
    def resume_store(self) -> None:
        """Continue after `pause_store`; otherwise does nothing."""
        if self._store is not None:
            self._store.resume()

    def close(self) -> None:
        """End the cluster for good and remove its files."""
        hosts, store = self._hosts, self._store
        self._hosts, self._store = {}, None
        self._paused.clear()
        if store is not None:
            store.resume()
        try:
            for host in hosts.values():
                if host.is_running:
                    host.kill()
            if store is not None:
                store.stop()
        finally:
            self._remove()
            self._log.end()

    @ends_at_caller
    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- what is in it

    @ends_at_caller
    def create_topic(
        self,
        name: str | None = None,
        *,
        partitions: int = 1,
        replication_factor: int = -1,
        configs: Mapping[str, SettingValue] | None = None,
    ) -> str:
        """Create a topic, by default under a new name and with the cluster's replication factor.

        Returns its name when all its replicas are in sync.
        """
        from odradek.client.core.admin.topics import NewTopic

        topic = name or f"topic-{uuid.uuid4().hex[:12]}"
        self._create_topic(NewTopic(topic, partitions, replication_factor, setting_texts(configs or {})))
        self.wait_in_sync(topic)
        return topic

    # --- where a replica is

    @ends_at_caller
    def directory_of(self, broker_id: BrokerId, topic: str, partition: int = 0) -> str:
        """Returns the log directory of a broker that holds its replica of a partition.

        Raises ApiError if it has none, or if its directory is offline.
        """
        thread, wanted = self._running_host(broker_id).thread, TopicPartition(topic, partition)
        log = thread.run(lambda: thread.core.logs.get(wanted))
        if log is None:
            raise ApiError(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"broker {broker_id} has no replica of {wanted}"
            )
        return log.directory

    # --- coroutines

    @property
    def aio(self) -> AsyncClusterVerbs:
        """The same methods, as coroutines."""
        from odradek.testing.asynchronous_cluster import AsyncClusterVerbs

        return AsyncClusterVerbs(self)

    async def __aenter__(self) -> Self:
        await self.aio.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aio.close()

    # --- within

    def _start_all(self) -> None:
        self._log.begin()
        WITH_LOGS.add(self)
        directory = Path(tempfile.mkdtemp(prefix="odradek-"))
        self._remove = weakref.finalize(self, shutil.rmtree, directory, ignore_errors=True)
        store = StoreThread(directory / "metadata.db", thread_name=self._log.thread_name("store"))
        store.start()
        self._store = store
        for one in self.broker_ids:
            directories = [f"{directory / f'broker-{one}'}-{number}" for number in range(self._log_dirs)]
            settings = {
                **self.settings,
                "log.dirs": ",".join(directories),
                "node.id": str(one),
                "odradek.cluster.directory": store.directory,
                "odradek.cluster.brokers": str(len(self.broker_ids)),
            }
            thread_name = self._log.thread_name(f"broker {one}")
            self._hosts[one] = ThreadHost(
                directory, settings, VirtualClock(), durable=False, thread_name=thread_name
            )
        _load_code()
        with ThreadPoolExecutor(len(self._hosts)) as threads:
            for started in [threads.submit(host.start) for host in self._hosts.values()]:
                started.result()
        self.wait_in_sync()
        # Their topics cannot be made while a broker is missing: a test may kill one before it needs them.
        for kind in CoordinatorKind:
            self._coordinator(kind, "first", WAIT_S)
        self.wait_in_sync()

    def _host(self, broker_id: BrokerId) -> ThreadHost:
        if not self._hosts:
            raise BrokerNotRunning(_NOT_STARTED)
        if broker_id not in self._hosts:
            raise BrokerNotRunning(
                f"there is no broker {broker_id}: the brokers are {', '.join(map(str, self.broker_ids))}"
            )
        return self._hosts[broker_id]

    def _running_host(self, broker_id: BrokerId) -> ThreadHost:
        host = self._host(broker_id)
        if not host.is_running:
            raise BrokerNotRunning(
                f"broker {broker_id} is not running: it was stopped or killed, or it has failed"
            )
        return host

    def _running_store(self) -> StoreThread:
        if self._store is None:
            raise BrokerNotRunning(_NOT_STARTED)
        return self._store

    def _fault(self, broker_id: BrokerId, document: Mapping[str, Any]) -> Any:  # noqa: ANN401 - a document of JSON
        answer = self._running_host(broker_id).fault(document)
        self._faulty.add(broker_id)
        if document.get("fault") == "full_disk":
            self._full.add(broker_id)
        if document.get("fault") == "isolate":
            self._isolated.add(broker_id)
        return answer

    def _answering_ids(self) -> list[BrokerId]:
        return [
            one for one in self.running if one not in self._paused and not self._is_isolated(one, "store")
        ]

    def _is_isolated(self, broker_id: BrokerId, side: Side) -> bool:
        if broker_id not in self._isolated:
            return False
        rules = self._hosts[broker_id].fault({"fault": "list"})
        return any(one["fault"] == "isolate" and one.get("from") in (None, side) for one in rules)

    def _fault_asks(self) -> Mapping[BrokerId, Ask]:
        return {one: self._hosts[one].fault for one in self._answering_ids()}

    def _servers(self) -> str:
        answering = self._answering_ids()
        # One that is isolated from the others may know what was true long ago.
        informed = [one for one in answering if not self._is_isolated(one, "brokers")]
        found = [self.address_of(one) for one in informed or answering]
        if not found:
            raise BrokerNotRunning("no broker of the cluster is running, or all are paused or isolated")
        return ",".join(found)

    def _now_ms(self) -> int:
        return MachineClock().wall_ms()


def _load_code() -> None:
    """Load what brokers leave out at their start.

    Two threads that load a package and a module of it at once may each see the other's half-loaded: Python
    breaks the deadlock of its locks so.
    """
    for _ in Handlers(load_code=lambda call: call()).load_by_and_by():
        pass
