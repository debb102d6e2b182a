"""Topics for the length of one measurement."""

import contextlib
import itertools
from collections.abc import Iterator, Mapping, Sequence

from confluent_kafka.admin import AdminClient, NewTopic
from peers import BrokerProcess
from peers.waiting import wait_until

REQUEST_TIMEOUT_S = 120.0
"""Three brokers that have other work to share two cores with make thousands of partitions in minutes."""

_numbers = itertools.count()


@contextlib.contextmanager
def fresh_topic(
    broker: BrokerProcess,
    *,
    partitions: int = 1,
    assignment: Sequence[Sequence[int]] | None = None,
    configs: Mapping[str, str] | None = None,
) -> Iterator[str]:
    """The name of a new topic, deleted afterwards so that disks do not fill up.

    Each partition has a replica on every broker, unless `assignment` names the brokers of each.
    """
    client = admin_of(broker)
    name = f"bench-{next(_numbers)}"
    if assignment is None:
        topic = NewTopic(name, partitions, len(broker.ports), config=dict(configs or {}))
    else:
        named = [list(replicas) for replicas in assignment]
        topic = NewTopic(name, len(named), replica_assignment=named, config=dict(configs or {}))
    client.create_topics([topic], request_timeout=REQUEST_TIMEOUT_S)[name].result()
    try:
        yield name
    finally:
        client.delete_topics([name], request_timeout=REQUEST_TIMEOUT_S)[name].result()


def admin_of(broker: BrokerProcess) -> AdminClient:
    """An admin client that knows all brokers, which may be stopped and started: it says nothing of that."""
    return AdminClient({"bootstrap.servers": broker.addresses, "log_level": 0})


def leaders_of(client: AdminClient, topic: str) -> dict[int, int]:
    """The leader of each partition, -1 where there is none."""
    partitions = client.list_topics(topic, timeout=REQUEST_TIMEOUT_S).topics[topic].partitions
    return {number: partition.leader for number, partition in partitions.items()}


def wait_until_in_sync(client: AdminClient, topic: str, replicas: int, *, timeout_s: float) -> None:
    """Wait until so many replicas of each partition are in sync. Raises AssertionError."""

    def are_in_sync() -> bool:
        partitions = client.list_topics(topic, timeout=REQUEST_TIMEOUT_S).topics[topic].partitions
        return all(len(partition.isrs) >= replicas for partition in partitions.values())

    wait_until(are_in_sync, f"{topic} has not {replicas} replicas in sync", timeout_s=timeout_s)
