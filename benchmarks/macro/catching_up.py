"""How fast a follower that has nothing copies a partition."""

import re
import time
from collections.abc import Mapping

from peers import BrokerProcess, KafkaTools

from benchmarks.macro.scenario import Better, CpuMeter, Figure, Scenario
from benchmarks.macro.topics import admin_of, fresh_topic, wait_until_in_sync
from odradek import Admin
from odradek.base.ids import TopicPartition

RECORD_BYTES = 1024
RECORDS = 1_000_000
WAIT_S_MAX = 300.0

SPEED = Figure("catch-up", "MB/s", Better.HIGHER, ratio_goal=1.0)
CPU = Figure("broker CPU", "s/GB", Better.LOWER)


class CatchUp(Scenario):
    """A partition on brokers 1 and 2 is given a third replica, on broker 3 (AlterPartitionReassignments)."""

    name = "cluster-catch-up"
    title = "Three brokers: a new follower copies 1 GB"
    figures = (SPEED, CPU)

    def measure(self, broker: BrokerProcess, *, quick: bool) -> Mapping[str, float]:
        """Time from the request until the new replica is in sync."""
        records = RECORDS // 20 if quick else RECORDS
        with fresh_topic(broker, assignment=[[1, 2]]) as topic:
            report = KafkaTools(broker.addresses).producer_performance(
                topic,
                record_count=records,
                record_bytes=RECORD_BYTES,
                properties=("acks=all", "batch.size=65536", "linger.ms=5"),
            )
            assert re.search(rf"^{records} records sent", report, re.MULTILINE), report
            client = admin_of(broker)
            wait_until_in_sync(client, topic, 2, timeout_s=WAIT_S_MAX)
            with Admin(broker.addresses) as admin, CpuMeter(broker) as cpu:
                started = time.perf_counter()
                admin.alter_partition_reassignments({TopicPartition(topic, 0): (1, 2, 3)})
                wait_until_in_sync(client, topic, 3, timeout_s=WAIT_S_MAX)
                took_s = time.perf_counter() - started
        size_bytes = records * RECORD_BYTES
        return {SPEED.name: size_bytes / 1e6 / took_s, CPU.name: cpu.used_s / (size_bytes / 1e9)}
