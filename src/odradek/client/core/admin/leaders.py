"""Questions that the leaders of partitions answer."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.ids import NO_BROKER, BrokerId, TopicPartition
from odradek.client.core.admin.elements import Answered, Part, Results, ask_each
from odradek.client.core.operation import Operation, ask, passes
from odradek.client.core.requests import Send, ToAny, ToNode
from odradek.wire.message import Message
from odradek.wire.messages.metadata import MetadataResponse
from odradek.wire.versions import VERSION_LIMIT

R = TypeVar("R", bound=Message)
T = TypeVar("T")

_SOON: Final = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,  # of the metadata: its leader has not heard of it yet
    ErrorCode.BROKER_NOT_AVAILABLE,  # the leader has just joined or left: this client does not know it
}


def ask_leaders(
    partitions: Iterable[TopicPartition],
    request: Callable[[Sequence[TopicPartition]], Message],
    kind: type[R],
    answered: Callable[[R], Answered[TopicPartition, T]],
    *,
    highest: int = VERSION_LIMIT,
    awaits_leaders: bool = True,
) -> Operation[Results[TopicPartition, T]]:
    """Ask the leaders of partitions, and where a leader has moved or is still to be elected, its successor.

    Without `awaits_leaders`, a partition that has none is refused with LEADER_NOT_AVAILABLE. Raises ApiError
    for the first partition that does not exist.
    """

    def requests(left: Sequence[TopicPartition]) -> Operation[Sequence[Part[TopicPartition]]]:
        parts = []
        for node, led in (yield from _leaders(left)).items():
            if node == NO_BROKER:
                parts += [Part([one], None, _leaderless(one)) for one in led]
            else:
                parts.append(Part(led, Send(ToNode(node), request(led), highest=highest)))
        return parts

    def passing(code: ErrorCode) -> bool:
        """Whether the partition's leader, or another one, answers soon."""
        if code is ErrorCode.LEADER_NOT_AVAILABLE and not awaits_leaders:
            return False
        return passes(code) or code in _SOON

    return (
        yield from ask_each(partitions, requests, kind, lambda answer, _: answered(answer), passing=passing)
    )


def leaders_of(topics: Iterable[str]) -> Operation[dict[TopicPartition, BrokerId]]:
    """The leader of each partition of these topics, -1 where there is none; topics that are not there, or may
    not be seen, are left out."""
    from odradek.client.core.admin.topics import METADATA_VERSION_MAX, metadata_request

    send = Send(ToAny(), metadata_request(sorted(set(topics))), highest=METADATA_VERSION_MAX)
    answer = yield from ask(send, MetadataResponse, lambda _: [])
    return {
        TopicPartition(topic.name or "", one.partition_index): one.leader_id
        for topic in answer.topics
        if topic.error_code == ErrorCode.NONE
        for one in topic.partitions
    }


def _leaderless(partition: TopicPartition) -> ApiError:
    return ApiError(ErrorCode.LEADER_NOT_AVAILABLE, f"{partition} has no leader")


def _leaders(partitions: Iterable[TopicPartition]) -> Operation[dict[BrokerId, list[TopicPartition]]]:
    """The partitions by leader. Raises ApiError for one that does not exist."""
    wanted = sorted(set(partitions))
    # With the messages that make topics: 20 ms that a list of transactions does not need.
    from odradek.client.core.admin.topics import describe_topics

    described = yield from describe_topics(sorted({one.topic for one in wanted}))
    leaders = {
        TopicPartition(topic.name, one.partition): one.leader
        for topic in described
        for one in topic.partitions
    }
    by_node: dict[BrokerId, list[TopicPartition]] = {}
    for one in wanted:
        if one not in leaders:
            raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no partition {one}")
        by_node.setdefault(leaders[one], []).append(one)
    return by_node
