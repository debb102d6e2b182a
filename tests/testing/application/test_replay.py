"""A seed is one history of an unmodified aiokafka application, in every process, under any hash seed."""

import asyncio
import hashlib
import os
import random
import subprocess
import sys

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from odradek.testing import Cluster
from odradek.testing.application.simulation import Simulation

RECORDS = 40


async def consume(cluster: Cluster, found: list[bytes]) -> None:
    async with AIOKafkaConsumer(
        "orders", bootstrap_servers=cluster.bootstrap_servers, group_id="g", auto_offset_reset="earliest"
    ) as consumer:
        async for message in consumer:
            found.append(message.value or b"")


async def application(cluster: Cluster, partitions: int) -> list[bytes]:
    """A producer and a group of two, one of which is killed; a broker dies and comes back."""
    await cluster.create_topic("orders", partitions=partitions, min_insync_replicas=2)
    found: list[bytes] = []
    members = [cluster.spawn(consume(cluster, found)) for _ in range(2)]
    async with AIOKafkaProducer(
        bootstrap_servers=cluster.bootstrap_servers, acks="all", enable_idempotence=True
    ) as producer:
        for number in range(RECORDS):
            await producer.send_and_wait("orders", b"%d" % number, key=b"%d" % number)
            await asyncio.sleep(random.random() / 2)
            if number == RECORDS // 4:
                broker = cluster.leader_of("orders")
                cluster.kill(broker)
            if number == RECORDS // 2:
                members[0].kill()
                await cluster.start(broker)
    await asyncio.sleep(30)
    return found


def digest(seed: int, partitions: int) -> str:
    simulation = Simulation(seed, is_traced=True)
    found = simulation.run(lambda cluster: application(cluster, partitions))
    trace = simulation.world.trace
    assert trace is not None
    return hashlib.sha256(repr((found, trace)).encode()).hexdigest()


def digest_elsewhere(seed: int, partitions: int, hash_seed: str) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    command = [sys.executable, __file__, str(seed), str(partitions)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


@pytest.mark.slow
@pytest.mark.integration
def test_a_seed_is_one_history_in_every_process() -> None:
    here = digest(3, 3)
    assert {digest_elsewhere(3, 3, hash_seed) for hash_seed in ("0", "1", "12345")} == {here}


@pytest.mark.slow
def test_a_seed_is_the_same_history_after_others() -> None:
    first, second = digest(3, 3), digest(4, 3)
    assert first != second
    assert digest(3, 3) == first


if __name__ == "__main__":
    sys.stdout.write(digest(int(sys.argv[1]), int(sys.argv[2])))
