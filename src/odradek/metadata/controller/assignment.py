"""Assigns brokers to new partitions: replicas and leaders spread evenly, and over racks.

Without racks, brokers [0 1 2 3 4], start 0, shift 0, three replicas: the leaders go round, and the
followers are shifted by one more after each whole round, so that no pair of brokers shares everything:

    p0: 0 1 2    p5: 0 2 3    p10: 0 3 4
    p1: 1 2 3    p6: 1 3 4    ...
    p2: 2 3 4    p7: 2 4 0
    p3: 3 4 0    p8: 3 0 1
    p4: 4 0 1    p9: 4 1 2

With racks {0: a, 1: b, 2: c, 3: a, 4: b}, brokers are first put in an order that alternates racks,
[0 1 2 3 4]; each next replica is the next broker in that order whose rack holds none yet, as long as
there is such a rack. Racks count only when every broker has one (KIP-36).

Start and shift come from chance for a new topic; for partitions added later they continue the topic's own
first partition, as Kafka does.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from odradek.base.execution import Pace, Steps
from odradek.base.ids import BrokerId
from odradek.metadata.image import BrokerImage, ClusterImage

Assignment = dict[int, tuple[BrokerId, ...]]

PARTITIONS_PER_STEP: Final = 200
"""Of up to a microsecond each."""


def assignable(image: ClusterImage, replication_factor: int) -> Mapping[BrokerId, BrokerImage]:
    """The brokers for new partitions: without those that are stopping, if the others are enough (KIP-841)."""
    staying = {
        broker_id: broker for broker_id, broker in image.brokers.items() if broker_id not in image.stopping
    }
    return staying if len(staying) >= replication_factor else image.brokers


def assign_replicas(
    brokers: Mapping[BrokerId, BrokerImage],
    *,
    partition_count: int,
    replication_factor: int,
    start: int,
    shift: int,
    first_partition: int = 0,
) -> Steps[Assignment]:
    """Replicas for partitions [first_partition, first_partition + partition_count), preferred leader first.

    `replication_factor` is between 1 and the number of brokers.
    """
    assert 1 <= replication_factor <= len(brokers), f"{replication_factor} of {len(brokers)} brokers"
    racks = {broker_id: brokers[broker_id].rack for broker_id in sorted(brokers)}
    if None in racks.values():
        racks = dict.fromkeys(racks, "everywhere")
    order = _alternating(racks)
    assignment: Assignment = {}
    # What begins at the same leader with the same shift ends the same.
    chosen: dict[tuple[int, int], tuple[BrokerId, ...]] = {}
    pace = Pace(PARTITIONS_PER_STEP)
    for number in range(first_partition, first_partition + partition_count):
        if pace.is_over():
            yield
        if number > 0 and number % len(order) == 0:
            shift += 1
        leader_index = (number + start) % len(order)
        begin = leader_index, shift % max(1, len(order) - 1)
        if begin not in chosen:
            chosen[begin] = _replicas(order, racks, *begin, replication_factor)
        assignment[number] = chosen[begin]
    return assignment


def fault_in_replicas(
    replicas: Sequence[BrokerId], live: Collection[BrokerId], replication_factor: int | None
) -> str | None:
    """Say what is wrong with the replicas that a user chose for a partition, or None.

    `replication_factor` is what the topic's other partitions have; None for the first one.
    """
    if not replicas:
        return "an empty list of replicas"
    if len(set(replicas)) != len(replicas):
        return f"the same broker twice: {list(replicas)}"
    for replica in replicas:
        if replica not in live:
            return f"broker {replica}, which is not there"
    if replication_factor is not None and len(replicas) != replication_factor:
        return f"{len(replicas)} replicas where the topic's other partitions have {replication_factor}"
    return None


def _replicas(
    order: Sequence[BrokerId],
    racks: Mapping[BrokerId, str | None],
    leader_index: int,
    shift: int,
    replication_factor: int,
) -> tuple[BrokerId, ...]:
    """The leader, then the brokers behind it in shifted order, those of a rack without a replica first."""
    leader = order[leader_index]
    others = len(order) - 1
    behind = [order[(leader_index + 1 + (shift + step) % others) % len(order)] for step in range(others)]
    chosen = [leader]
    rack_count = len(set(racks.values()))
    used = {racks[leader]}
    while len(chosen) < replication_factor:
        fresh_rack_wanted = len(used) < rack_count
        following = next(
            broker_id
            for broker_id in behind
            if broker_id not in chosen and not (fresh_rack_wanted and racks[broker_id] in used)
        )
        chosen.append(following)
        used.add(racks[following])
    return tuple(chosen)


def _alternating(racks: Mapping[BrokerId, str | None]) -> list[BrokerId]:
    """The brokers in an order that takes one of each rack in turn; racks by name, brokers by id."""
    by_rack: dict[str, list[BrokerId]] = {}
    for broker_id, rack in racks.items():
        by_rack.setdefault(str(rack), []).append(broker_id)
    queues = [by_rack[rack] for rack in sorted(by_rack)]
    longest = max(len(queue) for queue in queues)
    return [queue[place] for place in range(longest) for queue in queues if place < len(queue)]
