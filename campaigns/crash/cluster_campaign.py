"""The loop of a crash campaign on a cluster: let a load work, a mishap, await the whole cluster, check.

After each mishap every broker says within `WHOLE_TIMEOUT_S` that all replicas of all partitions are in sync.
Then the load checks what was promised to its clients. In the end the cluster stops cleanly, and the replicas
are compared (`replicas_check`).
"""

import random
import time
from collections.abc import Sequence

from campaigns.crash.campaign import AFTER_S, Broken, Load
from campaigns.crash.carrying_out import Scene, carry_out, stop
from campaigns.crash.clusters import Cluster
from campaigns.crash.mishaps import SESSION_TIMEOUT_MS, Mishap, aim, drawn, metadata_of
from campaigns.crash.replicas_check import check_replicas
from odradek.base.errors import OdradekError

# A broker that ends often is started again after up to 30 s, and then verifies its logs.
WHOLE_TIMEOUT_S = 90.0
_ASK_AGAIN_S = 0.1

CLUSTER_SETTINGS = {
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "broker.session.timeout.ms": str(SESSION_TIMEOUT_MS),
    "zookeeper.session.timeout.ms": str(SESSION_TIMEOUT_MS),
    "replica.lag.time.max.ms": "3000",
}


class ClusterCampaign:
    """A cluster, its mishaps, and what was counted meanwhile."""

    def __init__(self, cluster: Cluster, chance: random.Random, mishaps: Sequence[Mishap]) -> None:
        """One of `mishaps` happens in each round, all equally often."""
        self._cluster = cluster
        self._chance = chance
        self._mishaps = drawn(chance, mishaps)
        self._report_read = 0  # how much of the cluster's log has been looked at
        self._whole_s_max = 0.0
        self._rounds = 0
        self._kills = 0
        self._cuts = 0
        self._partitions = 0

    def run(self, load: Load, rounds: int) -> None:
        """So many mishaps to the running cluster. Raises Broken at the first broken promise."""
        try:
            try:
                self.await_whole()
                while self._rounds < rounds:
                    self._round(load)
            finally:
                load.close()
            self.await_whole()
            stop(self._cluster)
            self._partitions = check_replicas(
                {one: self._cluster.directory_of(one) for one in self._cluster.broker_ids}
            )
        except Broken as broken:
            print(f"broken in round {self._rounds}: {broken}", flush=True)
            raise

    def counted(self) -> dict[str, float]:
        """What happened so far, in numbers."""
        return {
            "rounds": self._rounds,
            "kills": self._kills,
            "torn_ends_cut": self._cuts,
            "longest_until_whole_s": round(self._whole_s_max, 1),
            "partitions_compared": self._partitions,
        }

    def _round(self, load: Load) -> None:
        self._rounds += 1
        load.begin()
        aimed = aim(next(self._mishaps), self._cluster, self._chance)
        load.await_moment()
        print(f"round {self._rounds:3}, {time.strftime('%H:%M:%S')}: {aimed}", flush=True)
        carry_out(aimed, Scene(self._cluster, load, self._chance, self.await_whole))
        self._kills += len(aimed.kills)
        time.sleep(self._chance.uniform(*AFTER_S))
        whole_s = self.await_whole()
        load.settle()
        load.check()
        self._read_report(len(aimed.kills))
        counts = ", ".join(f"{count:,} {name}" for name, count in load.counted().items())
        print(f"           whole after {whole_s:.1f} s: {counts}", flush=True)

    def await_whole(self) -> float:
        """Wait until every broker sees all brokers, and all replicas in sync; returns the seconds.

        Raises Broken after WHOLE_TIMEOUT_S.
        """
        started = time.monotonic()
        while lacking := self._lacking():
            if time.monotonic() - started > WHOLE_TIMEOUT_S:
                raise Broken(
                    f"the cluster is not whole after {WHOLE_TIMEOUT_S} s; {len(lacking)}: {lacking[:5]}"
                )
            time.sleep(_ASK_AGAIN_S)
        waited_s = time.monotonic() - started
        self._whole_s_max = max(self._whole_s_max, waited_s)
        return waited_s

    def _lacking(self) -> list[str]:
        ids = list(self._cluster.broker_ids)
        found: list[str] = []
        for broker_id, address in zip(ids, self._cluster.addresses, strict=True):
            try:
                seen = metadata_of(address)
            except OdradekError as error:
                return [f"broker {broker_id}: {error}"]
            known = sorted(one.node_id for one in seen.brokers)
            if known != ids:
                found.append(f"broker {broker_id} knows only the brokers {known}")
            found += [
                f"broker {broker_id}: {topic.name}-{one.partition_index}: leader {one.leader_id},"
                f" in sync {one.isr_nodes}"
                for topic in seen.topics
                for one in topic.partitions
                if one.leader_id < 0 or sorted(one.isr_nodes) != ids
            ]
        return found

    def _read_report(self, killed: int) -> None:
        """A broker that was killed must log that it verified its logs; nobody logs an unforeseen error."""
        text = self._cluster.log_path.read_text()
        report, self._report_read = text[self._report_read :], len(text)
        verified = report.count("was not stopped cleanly")
        if verified < killed:
            raise Broken(f"{killed} brokers were killed, and {verified} have logged that they verified logs")
        if "Traceback" in report:
            first = report.index("Traceback")
            raise Broken(f"an unforeseen error was logged: {report[max(0, first - 300) :][:2300]}")
        self._cuts += report.count("was cut at byte")
