"""When mishaps are over, the cluster gets into order by itself, and every request is answered."""

from __future__ import annotations

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import NO_BROKER, BrokerId, LeaderEpoch, TopicPartition
from odradek.metadata.codec import StateDocument
from odradek.metadata.image import PartitionImage
from odradek.testing.sim.node import SimNode
from odradek.testing.sim.trial.checkers.checker import Checker, brokers_text


class ClusterIsInOrder(Checker):
    """R2, R3, R5a, R15e, X1: each partition has a leader, all replicas are in sync, all brokers know that."""

    NAME = "the cluster is in order when mishaps are over"

    def conclude(self) -> None:
        """See `Checker.conclude`."""
        view = self.scene.view
        living = {node.broker_id: node for node in view.living() if node.is_serving}
        for broker_id, node in view.world.nodes.items():
            if broker_id not in living:
                stage = "it has ended" if node.stage is None else f"it is in {type(node.stage).__name__}"
                self.violated(f"broker {broker_id}", f"broker {broker_id} does not serve: {stage}")
            elif node.failures:
                self.violated(f"broker {broker_id}", f"broker {broker_id} has failed: {node.failures[0]}")
        controllers = [broker_id for broker_id, node in living.items() if node.core.controller.is_active]
        if controllers != [view.controller()]:
            self.violated(
                "controller",
                f"controllers are {brokers_text(controllers)}, and the store names {view.controller()}",
            )
        if pending := view.under_deletion():
            self.violated("deletion", f"topics are still being deleted: {', '.join(pending)}")
        self._check_partitions(living)
        for node in living.values():
            self._check_image(node)

    def _check_partitions(self, living: dict[BrokerId, SimNode]) -> None:
        named = set()
        for place, replicas, state in self.scene.view.states():
            topic_partition = TopicPartition(place.topic, place.partition)
            named.add(topic_partition)
            if state.leader == NO_BROKER:
                if not self.scene.may_wait(place):
                    self.violated(place, f"{place} has no leader; its replicas are {brokers_text(replicas)}")
                continue
            if sorted(state.isr) != sorted(replicas):
                self.violated(
                    place,
                    f"only {brokers_text(state.isr)} of the replicas {brokers_text(replicas)} of {place} are"
                    f" in sync; {self._why_behind(topic_partition, replicas, state.leader, living)}",
                )
                continue
            ends = {}
            for broker_id in replicas:
                node = living.get(broker_id)
                partition = None if node is None else node.core.replicas.partition(topic_partition)
                if partition is not None:
                    ends[broker_id] = (partition.log.end_offset, partition.log.high_watermark.offset)
                    if (partition.leadership is not None) != (broker_id == state.leader):
                        self.violated(place, f"the store names broker {state.leader} as leader of {place}")
            if len(ends) < len(replicas) or any(pair != (pair[0], pair[0]) for pair in ends.values()):
                self.violated(place, f"log end and high watermark of {place} by broker: {ends}")
            elif len(set(ends.values())) > 1:
                self.violated(place, f"the replicas of {place} end at {ends}")
        for node in living.values():
            for partition in node.core.replicas.partitions():
                if partition.topic_partition not in named:
                    self.violated(
                        partition.topic_partition,
                        f"broker {node.broker_id} still hosts {partition.topic_partition}, which is deleted",
                    )

    def _why_behind(
        self,
        topic_partition: TopicPartition,
        replicas: tuple[BrokerId, ...],
        leader: BrokerId,
        living: dict[BrokerId, SimNode],
    ) -> str:
        """The offsets of all replicas, and what the followers' fetchers say."""
        found = []
        for broker_id in replicas:
            node = living.get(broker_id)
            partition = None if node is None else node.core.replicas.partition(topic_partition)
            if node is None or partition is None:
                found.append(f"broker {broker_id} has no replica")
                continue
            words = f"broker {broker_id} is at {partition.log.end_offset}"
            if broker_id == leader:
                words += f" with the high watermark {partition.log.high_watermark.offset}"
            for behind in node.core.fetchers.describe()["behind"]:
                if (behind["topic"], behind["partition"]) == tuple(topic_partition):
                    words += f" ({behind['state']}: {behind.get('why', 'no reason')})"
            found.append(words)
        return ", ".join(found)

    def _check_image(self, node: SimNode) -> None:
        stored = {
            TopicPartition(place.topic, place.partition): _outline(state)
            for place, _, state in self.scene.view.states()
        }
        known = {
            TopicPartition(topic.name, number): _outline(state)
            for topic in node.core.image.live_topics()
            for number, state in topic.partitions.items()
        }
        for topic_partition in {**stored, **known}:
            if known.get(topic_partition) != stored.get(topic_partition):
                self.violated(
                    (node.broker_id, topic_partition),
                    f"broker {node.broker_id} knows {topic_partition} as {known.get(topic_partition)}"
                    f" (leader, epoch, ISR), and the store has {stored.get(topic_partition)}",
                )


def _outline(state: StateDocument | PartitionImage) -> tuple[BrokerId, LeaderEpoch, list[BrokerId]]:
    return state.leader, state.leader_epoch, sorted(state.isr)


class RequestsAreAnswered(Checker):
    """Every request is answered or its connection ends, and no broker answers with a mistake of its own."""

    NAME = "every request is answered"

    def conclude(self) -> None:
        """See `Checker.conclude`."""
        history = self.scene.history
        if history.waiting:
            self.violated("waiting", f"clients still wait for {history.waiting} answers")
        mistakes = history.errors.get(ErrorCode.UNKNOWN_SERVER_ERROR, 0)
        if mistakes:
            self.violated("mistakes", f"{mistakes} answers were UNKNOWN_SERVER_ERROR")
