"""What a NOT_LEADER_OR_FOLLOWER answer adds: the partition's leader and that broker's address (KIP-951)."""

from collections.abc import Callable
from typing import Final, TypeVar

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import NO_BROKER, NO_EPOCH, BrokerId, LeaderEpoch, TopicPartition
from odradek.server.node.core import BrokerCore

HINTED_ERRORS: Final = frozenset({ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH})

T = TypeVar("T")


def current_leader(core: BrokerCore, topic_partition: TopicPartition) -> tuple[BrokerId, LeaderEpoch]:
    """The leader and its epoch as this broker knows them, or (-1, -1)."""
    leader, epoch = core.replicas.current_leader(topic_partition)
    if leader != NO_BROKER:
        return leader, epoch
    known = core.image.partition(topic_partition)
    return (NO_BROKER, NO_EPOCH) if known is None else (known.leader, known.leader_epoch)


def endpoints_of(
    core: BrokerCore,
    leaders: dict[BrokerId, None],
    listener: str,
    make: Callable[[BrokerId, str, int, str | None], T],
) -> list[T]:
    """The addresses of those `leaders` that are live, each made by `make` from id, host, port and rack."""
    found = []
    for leader in leaders:
        endpoint = core.endpoint(leader, listener)
        if endpoint is not None:
            found.append(make(leader, endpoint.host, endpoint.port, core.image.brokers[leader].rack))
    return found
