"""What Kafka promises, checked from outside on a cluster that is in good order again.

what_is_missing(world)      what keeps a replica from being in sync, in words; "" when nothing does
check_logs(world)           replicas are equal below HW
check_acknowledged(...)     every record that was acknowledged with acks=all is in its log
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from odradek.base.ids import NO_TOPIC_ID, Offset, TopicPartition
from odradek.records.framing import iter_records
from odradek.records.header import read_header
from odradek.testing.application.traffic import Acknowledged
from odradek.testing.sim.stored import StoredCluster, batches

if TYPE_CHECKING:
    from odradek.testing.sim.world import World

SHOWN_MAX = 5


class PromiseBroken(AssertionError):
    """The cluster has not kept what Kafka promises."""


def what_is_missing(world: World) -> str:
    """Returns why not all brokers are in good order, or "" when all are."""
    for broker_id, node in world.nodes.items():
        if not node.is_serving:
            return f"broker {broker_id} does not serve"
    stored = StoredCluster(world)
    for partition, replicas in stored.partitions().items():
        if stored.leader(partition) is None:
            return f"{partition} has no leader"
        state = stored.state(partition)
        assert state is not None, "a partition with a leader has a state"
        if behind := sorted(set(replicas) - set(state.isr)):
            return f"{partition} is not in sync on {', '.join(map(str, behind))}: ISR {list(state.isr)}"
    return ""


def check_logs(world: World) -> None:
    """Raises PromiseBroken unless the replicas of each partition are equal below the leader's HW."""
    stored = StoredCluster(world)
    for partition, replicas in stored.partitions().items():
        leader = stored.leader(partition)
        if leader is None:
            continue
        led = leader.log(*partition)
        for broker_id in replicas:
            node = world.nodes[broker_id]
            log = node.logs.get(partition) if node.is_serving else None
            if log is None or node is leader:
                continue
            start = max(led.log_start_offset, log.log_start_offset)
            end = min(led.high_watermark.offset, log.end_offset)
            ours = b"".join(batches(led, start, end))
            theirs = b"".join(batches(log, start, end))
            if ours != theirs:
                raise PromiseBroken(
                    f"{partition} differs below HW {end} on brokers {leader.broker_id} and {broker_id}"
                )


def check_acknowledged(world: World, acknowledged: Iterable[Acknowledged]) -> None:
    """Raises PromiseBroken unless each record is where its acknowledgement said.

    Records of topics that are compacted or gone, or below the log start, are not looked for.
    """
    stored = StoredCluster(world)
    names = {document.topic_id: name for name, document in stored.topics().items()}
    held: dict[TopicPartition, dict[Offset, tuple[bytes | None, bytes | None]]] = {}
    lost = []
    for one in acknowledged:
        topic = names.get(one.topic_id, "") if one.topic_id != NO_TOPIC_ID else one.topic
        partition = TopicPartition(topic, one.partition)
        leader = stored.leader(partition)
        if leader is None:
            continue
        log = leader.log(*partition)
        if "compact" in log.config.cleanup_policy:
            continue
        if partition not in held:
            held[partition] = {
                record.offset: (record.key, record.value)
                for batch in batches(log, log.log_start_offset, log.high_watermark.offset)
                for record in iter_records(batch, read_header(batch))
            }
        for number, record in enumerate(iter_records(one.batch, read_header(one.batch))):
            offset = one.base_offset + number
            found = held[partition].get(offset)
            if offset >= log.log_start_offset and found != (record.key, record.value):
                what = "nothing" if found is None else "another record"
                lost.append(
                    f"{partition} has {what} at offset {offset}, where broker {one.broker_id} acknowledged"
                    f" {record.value!r} to {one.process} at {one.at_ms / 1000:.3f} s"
                )
    if lost:
        more = f"\n... and {len(lost) - SHOWN_MAX} more" if len(lost) > SHOWN_MAX else ""
        raise PromiseBroken(
            f"{len(lost)} acknowledged records are lost:\n" + "\n".join(lost[:SHOWN_MAX]) + more
        )
