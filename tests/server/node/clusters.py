"""A cluster of simulated brokers, as the clients of coordinators see it: they wait, and look for others."""

from collections.abc import Callable
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import BrokerId
from odradek.testing.sim import SimNode, World
from odradek.wire.message import Request, ResponseT
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from odradek.wire.messages.find_coordinator import Coordinator, FindCoordinatorRequest

GROUP: Final = 0
TRANSACTION: Final = 1
"""The key types of FindCoordinator."""
LIMIT_MS: Final = 60_000
SETTINGS: Final = {
    "offsets_topic_num_partitions": "3",
    "transaction_state_log_num_partitions": "3",
    "group_initial_rebalance_delay_ms": "0",
}


class Cluster:
    """A world of brokers with small internal topics."""

    def __init__(self, seed: int = 1, *, brokers: int = 3, **settings: str) -> None:
        self.world = World(seed)
        self.world.brokers_meant = brokers
        for broker_id in range(1, brokers + 1):
            self.world.node(broker_id, **SETTINGS, **settings)

    @property
    def nodes(self) -> dict[BrokerId, SimNode]:
        """The latest life of each broker."""
        return self.world.nodes

    @property
    def serving(self) -> list[SimNode]:
        """The brokers that serve clients."""
        return [node for node in self.nodes.values() if node.is_serving]

    def wait(self, is_done: Callable[[], bool], limit_ms: int = LIMIT_MS) -> int:
        """Let time pass until something is so; returns how many milliseconds that took."""
        self.world.settle()
        for waited_ms in range(0, limit_ms, 50):
            if is_done():
                return waited_ms
            self.world.advance(50)
        raise AssertionError(f"not so after {limit_ms} ms")

    def ask(
        self,
        node: SimNode,
        request: Request[ResponseT],
        version: int | None = None,
        *,
        limit_ms: int = LIMIT_MS,
    ) -> ResponseT:
        """Send a request, and wait for its answer."""
        sent = node.send(request, version)
        self.wait(lambda: bool(sent.answers), limit_ms)
        return sent.answer

    def create(self, name: str, partitions: int = 3) -> None:
        """Make a topic with a replica on every broker, and wait until all know its leaders."""
        topic = CreatableTopic(name, partitions, len(self.nodes))
        answer = self.ask(self.serving[0], CreateTopicsRequest([topic], timeout_ms=5_000))
        assert answer.topics[0].error_code == 0, answer
        self.wait(lambda: all(name in node.core.image.topics for node in self.serving))

    def leader(self, name: str, partition: int) -> SimNode:
        """The leader of a partition, as a broker that serves knows it."""
        return self.nodes[self.serving[0].topic(name).partitions[partition].leader]

    def found(self, key_type: int, key: str, asked: SimNode | None = None) -> Coordinator:
        """What a broker answers to FindCoordinator."""
        request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=[key])
        (row,) = self.ask(asked or self.serving[0], request).coordinators
        return row

    def coordinator(self, key_type: int, key: str, *, but: SimNode | None = None) -> SimNode:
        """The broker that coordinates a key for all that serve, and is ready to; another one than `but`."""

        def are_agreed() -> bool:
            rows = [self.found(key_type, key, node) for node in self.serving if node is not but]
            ids = {row.node_id for row in rows}
            return (
                {row.error_code for row in rows} == {ErrorCode.NONE}
                and len(ids) == 1
                and (but is None or but.broker_id not in ids)
            )

        self.wait(are_agreed)
        asked = next(node for node in self.serving if node is not but)
        return self.nodes[self.found(key_type, key, asked).node_id]
