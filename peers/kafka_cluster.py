"""Several brokers of Apache Kafka on this machine, each also a controller: a KRaft quorum of all of them.

A topic has a replica on every broker, unless its creator says otherwise, as in `odradek_cluster`.
"""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import ClassVar

from peers.kafka import KafkaBroker
from peers.process import HOST, free_port

COUNT = 3
START_TIMEOUT_S = 240.0
"""Three JVMs that start at once on two cores with other work took 108 s."""
STOP_TIMEOUT_S = 15.0


class _Member(KafkaBroker):
    """One broker and controller of the quorum."""

    start_timeout_s: float = START_TIMEOUT_S
    stop_timeout_s: float = STOP_TIMEOUT_S

    def __init__(
        self,
        directory: Path,
        settings: Mapping[str, str],
        broker_id: int,
        controller_ports: Mapping[int, int],
    ) -> None:
        super().__init__(directory, settings)
        self._broker_id = broker_id
        self._controller_ports = controller_ports

    def wait(self, deadline: float) -> None:
        """Wait for the first ApiVersions answer. Raises BrokerFailed."""
        self._wait_for_answer(deadline)

    def _base_settings(self) -> dict[str, str]:
        voters = (f"{voter}@{HOST}:{port}" for voter, port in self._controller_ports.items())
        controller = f"CONTROLLER://{HOST}:{self._controller_ports[self._broker_id]}"
        return super()._base_settings() | {
            "node.id": str(self._broker_id),
            "controller.quorum.voters": ",".join(voters),
            "listeners": f"PLAINTEXT://{self.bootstrap},{controller}",
            "default.replication.factor": str(COUNT),
            "min.insync.replicas": "2",
            "offsets.topic.replication.factor": str(COUNT),
            "transaction.state.log.replication.factor": str(COUNT),
            "transaction.state.log.min.isr": "2",
        }


class KafkaCluster(KafkaBroker):
    """Three brokers; it is started once all of them answer, and a broker that ends is not started again.

    `pid` and `port` are those of the last one, whose address clients are given, and find the others.
    """

    count: ClassVar[int] = COUNT
    start_timeout_s: float = START_TIMEOUT_S

    def __init__(self, directory: Path, settings: Mapping[str, str] | None = None) -> None:
        super().__init__(directory, settings)
        controller_ports = {broker_id: free_port() for broker_id in range(1, COUNT + 1)}
        self._members: list[_Member] = [
            _Member(directory / f"broker-{broker_id}", self.settings, broker_id, controller_ports)
            for broker_id in controller_ports
        ]
        self.port = self._members[-1].port

    @property
    def ports(self) -> tuple[int, ...]:
        """The ports of brokers 1, 2 and 3."""
        return tuple(member.port for member in self._members)

    @property
    def data_directory(self) -> Path:
        """The log directory of the last broker."""
        return self.data_directories[-1]

    @property
    def data_directories(self) -> tuple[Path, ...]:
        """The log directories of brokers 1, 2 and 3."""
        return tuple(member.data_directory for member in self._members)

    @property
    def pid(self) -> int:
        """The process of the last broker."""
        return self.pids[-1]

    @property
    def pids(self) -> tuple[int, ...]:
        """The processes of brokers 1, 2 and 3, also of one that was killed."""
        return tuple(member.pid for member in self._members)

    def prepare(self) -> None:
        """Format the storage of all brokers."""
        for member in self._members:
            member.directory.mkdir(parents=True, exist_ok=True)
            member.prepare()

    def launch(self) -> None:
        """Start all processes; the first one serves when most of the quorum does."""
        for member in self._members:
            member.launch()

    def stop(self) -> int:
        """Stop all brokers at once (SIGTERM), and kill what still runs after STOP_TIMEOUT_S.

        Those that stop last have no quorum any more that could answer them.
        """
        with ThreadPoolExecutor() as pool:
            return max(pool.map(_Member.stop, self._members))

    def kill(self) -> int:
        """Kill all brokers."""
        return max(member.kill() for member in self._members)

    def _wait_for_answer(self, deadline: float) -> None:
        for member in self._members:
            member.wait(deadline)
