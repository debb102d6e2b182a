"""The clusters that a crash campaign runs on: with a supervisor's store, and around a ZooKeeper.

A campaign needs the same of both: all brokers run after `start`, and one that ends is started again by
itself. `ClusterProcess` is the first kind. Of the second, each broker is a process of its own.
"""

import json
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol

from peers.process import HOST, free_port
from peers.zookeeper import ZooKeeperServer

from odradek.base.errors import OdradekError
from odradek.base.ids import BrokerId
from odradek.testing.admin_requests import asked_admin
from odradek.testing.broker_process import BrokerProcess

# The pause before a broker that has ended is started again, like the first one of a supervisor.
_LOOK_S = 0.25


class Cluster(Protocol):
    """What mishaps happen to."""

    log_path: Path
    """All output of all brokers."""

    @property
    def broker_ids(self) -> Sequence[BrokerId]:
        """All brokers."""

    @property
    def addresses(self) -> Sequence[str]:
        """host:port of each broker, in the order of their ids; kept by later starts."""

    @property
    def bootstrap_servers(self) -> str:
        """All brokers' addresses, for clients."""

    @property
    def store_pid(self) -> int:
        """The process that holds the metadata store; it must be running."""

    def directory_of(self, broker_id: BrokerId) -> Path:
        """The log directory of a broker."""

    def pid_of(self, broker_id: BrokerId) -> int:
        """The process of a broker, which must be running."""

    def fault(self, broker_id: BrokerId, document: Mapping[str, Any]) -> Any:
        """Let a broker carry out a request about faults. Raises OdradekError."""

    def start(self) -> None:
        """Start all brokers. Raises OdradekError."""

    def stop(self) -> int:
        """Stop all brokers with SIGTERM; returns an exit code, 0 if all stopped cleanly."""

    def close(self) -> None:
        """Kill whatever still runs."""


class ZooKeeperCluster:
    """Brokers around one ZooKeeper; a thread starts those again that have ended."""

    def __init__(self, directory: Path, brokers: int, *, settings: Mapping[str, str], log_path: Path) -> None:
        """Raises ZooKeeperMissing."""
        directory.mkdir()
        self.log_path = log_path
        self.zookeeper = ZooKeeperServer(directory / "zookeeper")
        self._directory = directory
        self._brokers = {broker_id: self._broker(broker_id, settings) for broker_id in range(1, brokers + 1)}
        self._watch: threading.Thread | None = None
        self._is_over = threading.Event()

    @property
    def broker_ids(self) -> Sequence[BrokerId]:
        """All brokers."""
        return list(self._brokers)

    @property
    def addresses(self) -> Sequence[str]:
        """host:port of each broker, in the order of their ids."""
        return [one.bootstrap_servers for one in self._brokers.values()]

    @property
    def bootstrap_servers(self) -> str:
        """All brokers' addresses, for clients."""
        return ",".join(self.addresses)

    @property
    def store_pid(self) -> int:
        """ZooKeeper's process."""
        return self.zookeeper.pid

    def directory_of(self, broker_id: BrokerId) -> Path:
        """The log directory of a broker."""
        return self._directory / f"broker-{broker_id}"

    def pid_of(self, broker_id: BrokerId) -> int:
        """The process of a broker, which must be running."""
        return self._brokers[broker_id].pid

    def fault(self, broker_id: BrokerId, document: Mapping[str, Any]) -> Any:
        """Let a broker carry out a request about faults. Raises OdradekError."""
        address = self._brokers[broker_id].admin_address
        assert address is not None, "the broker is not running"
        return asked_admin(address, "/test/faults", json.dumps(document).encode())

    def start(self) -> None:
        """Start ZooKeeper, if it does not run, and all brokers. Raises OdradekError."""
        if not self.zookeeper.is_running:
            self.zookeeper.start()
        with ThreadPoolExecutor(len(self._brokers)) as threads:
            list(threads.map(BrokerProcess.start, self._brokers.values()))
        self._is_over = threading.Event()
        self._watch = threading.Thread(target=self._start_again, args=(self._is_over,), daemon=True)
        self._watch.start()

    def stop(self) -> int:
        """Stop all brokers at once with SIGTERM; returns 0, or an exit code that was not clean."""
        self._end_watch()
        with ThreadPoolExecutor(len(self._brokers)) as threads:
            return max(threads.map(BrokerProcess.stop, self._brokers.values()), key=abs)

    def close(self) -> None:
        """Kill whatever still runs."""
        self._end_watch()
        for broker in self._brokers.values():
            if broker.is_running:
                broker.kill()
        self.zookeeper.kill()

    def _broker(self, broker_id: BrokerId, settings: Mapping[str, str]) -> BrokerProcess:
        between = free_port()
        port = free_port()
        given = {
            "node.id": str(broker_id),
            "zookeeper.connect": self.zookeeper.address,
            "listeners": f"CLIENTS://{HOST}:{port},BROKERS://{HOST}:{between}",
            "listener.security.protocol.map": "CLIENTS:PLAINTEXT,BROKERS:PLAINTEXT",
            "inter.broker.listener.name": "BROKERS",
            **settings,
        }
        return BrokerProcess(
            self.directory_of(broker_id),
            port=port,
            admin_port=0,
            settings=given,
            log_path=self.log_path,
            test_faults=True,
        )

    def _start_again(self, is_over: threading.Event) -> None:
        """What a service manager does for a broker in production. A start that fails is tried again."""
        while not is_over.wait(_LOOK_S):
            for broker in self._brokers.values():
                if broker.is_running and broker.exit_code() is not None:
                    broker.wait(0)
                if not broker.is_running:
                    try:
                        broker.start()
                    except OdradekError as error:
                        self._note(f"not started: {error}\n")

    def _note(self, text: str) -> None:
        with self.log_path.open("a") as log:
            log.write(text)

    def _end_watch(self) -> None:
        self._is_over.set()
        if self._watch is not None:
            self._watch.join()
            self._watch = None
