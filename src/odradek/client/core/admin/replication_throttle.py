"""Slows down the copying of replicas that move, by the settings that Kafka's tool uses (KIP-73).

    leader.replication.throttled.rate, follower.replication.throttled.rate    of each broker, bytes per second
    leader.replication.throttled.replicas      of the topic: PARTITION:BROKER of the replicas that it had
    follower.replication.throttled.replicas    of the topic: PARTITION:BROKER of those that are added

They outlast the client that sets them, so whoever sees the end of the moves takes them back. Lists that name
all replicas (`*`) are a person's, and are left alone.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.ids import BrokerId, TopicPartition
from odradek.client.core.admin.configs import ConfigEntry, alter_configs, describe_configs
from odradek.client.core.operation import Operation
from odradek.client.replica_placement import Replicas

RATES: Final = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
LISTS: Final = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")
_ALL: Final = "*"


def throttle(
    moves: Mapping[TopicPartition, tuple[Replicas, Replicas]],
    brokers: Iterable[BrokerId],
    rate: int,
) -> Operation[None]:
    """Let each of the brokers send and fetch at most `rate` bytes per second of these partitions.

    A move is the replicas that the partition has, and those that are added to them.
    """
    by_topic: dict[str, tuple[set[str], set[str]]] = defaultdict(lambda: (set(), set()))
    for (topic, number), (origin, adding) in moves.items():
        leading, following = by_topic[topic]
        leading |= {f"{number}:{one}" for one in origin}
        following |= {f"{number}:{one}" for one in adding}
    for topic, added in sorted(by_topic.items()):
        lists = yield from _lists_of(topic)
        changes = {
            name: _text(lists[name] | more)
            for name, more in zip(LISTS, added, strict=True)
            if _ALL not in lists[name] and not more <= lists[name]
        }
        if changes:
            yield from alter_configs("topic", topic, changes)
    for broker_id in brokers:
        yield from alter_configs("broker", str(broker_id), dict.fromkeys(RATES, str(rate)))


def take_back(
    partitions: Collection[TopicPartition], brokers: Iterable[BrokerId], *, is_last: bool
) -> Operation[bool]:
    """Take the throttle of these partitions back; if no other move is under way, that of their whole topics.

    Then the brokers' rates are taken back, too, unless no list named a replica: then nobody has throttled
    their moves. Returns whether anything was taken back.
    """
    numbers: dict[str, set[int]] = defaultdict(set)
    for topic, number in partitions:
        numbers[topic].add(number)
    is_any = False
    for topic, ended in sorted(numbers.items()):
        try:
            lists = yield from _lists_of(topic)
        except ApiError as refused:
            if refused.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise
            continue  # deleted meanwhile, with its lists
        changes: dict[str, str | None] = {}
        for name, listed in lists.items():
            left = {one for one in listed if one == _ALL or not (is_last or _number(one) in ended)}
            if left != listed:
                changes[name] = _text(left) if left else None
        if changes:
            is_any = True
            yield from alter_configs("topic", topic, changes)
    if is_any and is_last:
        for broker_id in brokers:
            yield from _take_rates_back(broker_id)
    return is_any


def _take_rates_back(broker_id: BrokerId) -> Operation[None]:
    entries = yield from describe_configs("broker", str(broker_id))
    own = [one.name for one in entries if one.name in RATES and _is_from(one, "DYNAMIC_BROKER")]
    if own:
        yield from alter_configs("broker", str(broker_id), dict.fromkeys(own))


def _lists_of(topic: str) -> Operation[dict[str, set[str]]]:
    """The topic's own lists, by name; without those that come from elsewhere."""
    entries = {one.name: one for one in (yield from describe_configs("topic", topic))}
    found = {}
    for name in LISTS:
        one = entries.get(name)
        text = one.value if one is not None and _is_from(one, "DYNAMIC_TOPIC") else None
        found[name] = {part.strip() for part in (text or "").split(",")} - {""}
    return found


def _number(replica: str) -> int:
    return int(replica.partition(":")[0])


def _is_from(entry: ConfigEntry, layer: str) -> bool:
    return entry.source is not None and entry.source.name == layer


def _text(replicas: Collection[str]) -> str:
    return ",".join(sorted(replicas, key=lambda one: tuple(map(int, one.split(":")))))
