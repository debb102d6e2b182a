"""Three brokers that replicate while connections are cut and brokers die: nothing acknowledged is lost.

The seed chooses what goes wrong and when. When the faults end, all replicas are in sync and hold the same
bytes, and every record that was acknowledged to acks=all is among them.
"""

from collections.abc import Callable
from random import Random

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import BrokerId
from odradek.testing.sim import SimRequest
from odradek.wire.messages.produce import ProduceResponse
from tests.server.node.test_replica_fetchers import ALL, BROKERS, Cluster, P, code_of

ROUNDS = 40
STARTS_WITHIN_S = 200


class Trial:
    """One history."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.cluster = Cluster(seed)
        self.world = self.cluster.world
        # Each produce, and the numbers of the records in it.
        self.sent: list[tuple[range, SimRequest[ProduceResponse]]] = []

    # --- what may happen

    def produce(self) -> None:
        for node in self.cluster.alive:
            partition = node.core.replicas.partition(P) if node.is_serving else None
            if partition is not None and partition.leadership is not None:
                first = self.cluster.written + 1
                sent = self.cluster.produce(self.random.randint(1, 3), ALL, at=node)
                self.sent.append((range(first, self.cluster.written + 1), sent))
                return

    def cut(self) -> None:
        a, b = self.random.sample(BROKERS, 2)
        self.world.cut(a, b, one_way=self.random.random() < 0.5)

    def drop(self) -> None:
        a, b = self.random.sample(BROKERS, 2)
        self.world.links.drop(a, b)

    def slow_down(self) -> None:
        a, b = self.random.sample(BROKERS, 2)
        self.world.links.slow(a, b, self.random.choice((50, 700, 4_000)))

    def kill(self) -> None:
        if len(self.cluster.alive) > 1:
            self.world.kill(self.random.choice(self.cluster.alive).broker_id)

    def start_one(self) -> None:
        dead = [node.broker_id for node in self.world.nodes.values() if not node.is_alive]
        if dead:
            self.world.heal()
            self.start(self.random.choice(dead))

    def start(self, broker_id: BrokerId) -> None:
        node = self.world.begin(broker_id)
        self.world.settle()
        for _ in range(STARTS_WITHIN_S):
            if node.is_serving:
                return
            assert node.is_alive, node.start_error
            self.world.advance(1_000)
        raise AssertionError(f"broker {broker_id} does not start: {node.stage}")

    def wait(self) -> None:
        self.world.advance(self.random.choice((20, 1_000, 12_000, 31_000)))

    def run(self) -> None:
        happens: tuple[Callable[[], None], ...] = (
            *(self.produce,) * 6,
            *(self.cut, self.world.heal, self.drop, self.slow_down),
            *(self.kill, self.start_one, self.start_one, self.wait, self.wait),
        )
        for _ in range(ROUNDS):
            self.random.choice(happens)()
            for _ in range(self.random.randint(0, 40)):
                self.world.step()

    def end_the_faults(self) -> None:
        self.world.heal()
        for broker_id in BROKERS:
            if not self.world.nodes[broker_id].is_alive:
                self.start(broker_id)
        self.world.advance(60_000)

    # --- what must hold then

    def contents(self) -> set[bytes]:
        found = set()
        for node in self.cluster.alive:
            log = node.log("orders")
            read = log.read(0, 1 << 30, log.end_position, at_least_one=True)
            found.add(bytes(read.held_records))
        return found


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_nothing_acknowledged_is_lost_and_all_replicas_become_equal(seed: int) -> None:
    """R2, R3, R5c, R7, R10, R11, X1, X4."""
    trial = Trial(seed)
    trial.run()
    trial.end_the_faults()
    cluster = trial.cluster
    ends = cluster.ends()
    assert ends == [ends[0]] * 3
    assert cluster.high_watermarks() == ends
    assert cluster.isr() == BROKERS
    (content,) = trial.contents()
    acknowledged = [
        number
        for numbers, sent in trial.sent
        if sent.answers and code_of(sent) is ErrorCode.NONE
        for number in numbers
    ]
    assert acknowledged
    assert [number for number in acknowledged if b"record %d;" % number not in content] == []
