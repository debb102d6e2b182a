"""A seed is one history, byte for byte, also in another process with another hash seed."""

import hashlib
import os
import subprocess
import sys

import pytest

from odradek.base.chance import SeededChance
from odradek.records.builder import BatchBuilder
from odradek.testing.sim import SimNode, World
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from odradek.wire.messages.init_producer_id import InitProducerIdRequest
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

STEPS = 300
"""How often a client sends, a fault happens, time passes, or the world takes a step."""


def batch(value: bytes) -> bytes:
    builder = BatchBuilder()
    builder.append(1_700_000_000_000, None, value)
    return bytes(builder.build())


def send_something(node: SimNode, chance: SeededChance) -> None:
    topic = f"t{chance.below(4)}"
    match chance.below(3):
        case 0:
            wanted = CreatableTopic(topic, 1 + chance.below(5), 1)
            node.send(CreateTopicsRequest([wanted], timeout_ms=5_000))
        case 1:
            data = [PartitionProduceData(chance.below(3), batch(b"%d" % chance.below(100)))]
            node.send(ProduceRequest(None, -1, 5_000, [TopicProduceData(topic, partition_data=data)]), 12)
        case _:
            node.send(InitProducerIdRequest(None, 60_000))


def run(seed: int, brokers: int) -> list[str]:
    """What happens in a world in which clients send, and brokers are killed, lose power, stop and start."""
    world = World(seed, brokers=brokers, is_traced=True)
    chance = SeededChance(seed)
    for _ in range(STEPS):
        node = world.nodes[1 + chance.below(brokers)]
        match chance.below(40):
            case 0 if node.is_alive:
                node.kill()
            case 1 if node.is_alive:
                node.kill_within(chance.below(30))
            case 2 if node.is_alive:
                node.lose_power()
            case 3 if node.is_serving:
                node.begin_stop()
            case 4 | 5 | 6 | 7 | 8 if node.is_over:
                world.begin(node.broker_id)
            case 9:
                world.advance(chance.below(2_000))
            case fate if fate < 25 and node.is_serving:
                send_something(node, chance)
            case _:
                world.step()
    world.settle()
    assert world.trace is not None
    return world.trace


def digest(trace: list[str]) -> str:
    return hashlib.sha256("\n".join(trace).encode()).hexdigest()


@pytest.mark.slow
def test_a_seed_is_one_history_in_every_process_under_every_hash_seed() -> None:
    environment = {**os.environ, "PYTHONHASHSEED": "12345"}
    command = [sys.executable, __file__]
    elsewhere = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert elsewhere.stdout.split() == [digest(run(7, brokers)) for brokers in (2, 3)]


@pytest.mark.slow
def test_the_trace_holds_steps_stages_frames_and_operations_of_the_disks() -> None:
    trace = run(3, 2)
    for part in ("0 ms: ", "1 OpenLogs", "to 1: ", "from 1: ", "write /data/", "sync /data/", "2 killed"):
        assert any(part in event for event in trace), part


@pytest.mark.slow
def test_another_seed_is_another_history() -> None:
    assert run(3, 2) != run(4, 2)


if __name__ == "__main__":
    sys.stdout.write(" ".join(digest(run(7, brokers)) for brokers in (2, 3)))
