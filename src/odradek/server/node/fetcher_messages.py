"""Encodes the asks of fetchers as requests, and decodes responses into the answers that fetchers take.

    request = yield from to_request(ask, sender)      Fetch 18, OffsetForLeaderEpoch 4, ListOffsets 11
    yield from apply_response(fetcher, response)      answers are made one after another, as they are applied

The size of an ask grows with the number of changed partitions, so requests are made in steps, too. A Fetch
names topics by id, the other two requests name them by name.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from odradek.base.error_codes import known_code
from odradek.base.execution import ITEMS_PER_STEP, Steps
from odradek.base.ids import BrokerId, TopicId, TopicPartition
from odradek.base.offset_timestamps import EARLIEST, LATEST
from odradek.replication.fetcher import (
    Ask,
    EpochEndAnswer,
    EpochEndsAsk,
    FetchAnswer,
    FetchAsk,
    Fetcher,
    OffsetAnswer,
    OffsetsAsk,
    PartitionAnswer,
    PartitionAsk,
)
from odradek.storage import EpochEnd
from odradek.wire.message import Message
from odradek.wire.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
    ReplicaState,
)
from odradek.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from odradek.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)

FetcherRequest: TypeAlias = FetchRequest | OffsetForLeaderEpochRequest | ListOffsetsRequest

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class FetchSender:
    """The broker that fetches, and its limits."""

    broker_id: BrokerId
    broker_epoch: int
    """The epoch of the broker's registration (KIP-903); -1 before the first."""
    wait_max_ms: int
    """`replica.fetch.wait.max.ms`."""
    min_bytes: int
    """`replica.fetch.min.bytes`."""
    partition_max_bytes: int
    """`replica.fetch.max.bytes`."""
    response_max_bytes: int
    """`replica.fetch.response.max.bytes`."""


def to_request(ask: Ask, sender: FetchSender) -> Steps[FetcherRequest]:
    """Returns the request for an ask, made a few partitions per step."""
    match ask:
        case FetchAsk():
            return (yield from _fetch_request(ask, sender))
        case EpochEndsAsk():
            parts = (
                (
                    one.topic_partition,
                    OffsetForLeaderPartition(one.topic_partition.partition, one.leader_epoch, one.epoch),
                )
                for one in ask.asks
            )
            by_topic = yield from _by_topic(parts)
            topics = [OffsetForLeaderTopic(name, of_topic) for name, of_topic in by_topic.items()]
            return OffsetForLeaderEpochRequest(sender.broker_id, topics)
        case OffsetsAsk():
            named = (
                (
                    one.topic_partition,
                    ListOffsetsPartition(
                        one.topic_partition.partition,
                        one.leader_epoch,
                        EARLIEST if one.is_earliest else LATEST,
                    ),
                )
                for one in ask.asks
            )
            listed = yield from _by_topic(named)
            return ListOffsetsRequest(
                sender.broker_id,
                topics=[ListOffsetsTopic(name, of_topic) for name, of_topic in listed.items()],
            )


def _by_topic(parts: Iterable[tuple[TopicPartition, T]]) -> Steps[dict[str, list[T]]]:
    found: dict[str, list[T]] = {}
    for number, (named, part) in enumerate(parts, 1):
        found.setdefault(named.topic, []).append(part)
        if number % ITEMS_PER_STEP == 0:
            yield
    return found


def _fetch_request(ask: FetchAsk, sender: FetchSender) -> Steps[FetchRequest]:
    topics: dict[TopicId, FetchTopic] = {}
    for number, one in enumerate(ask.asks, 1):
        topic = topics.get(one.topic_id)
        if topic is None:
            topic = topics[one.topic_id] = FetchTopic(one.topic_partition.topic, one.topic_id)
        topic.partitions.append(_fetch_partition(one, sender.partition_max_bytes))
        if number % ITEMS_PER_STEP == 0:
            yield
    forgotten: dict[TopicId, ForgottenTopic] = {}
    for number, one in enumerate(ask.forgotten, 1):
        left = forgotten.get(one.topic_id)
        if left is None:
            left = forgotten[one.topic_id] = ForgottenTopic(one.topic_partition.topic, one.topic_id)
        left.partitions.append(one.topic_partition.partition)
        if number % ITEMS_PER_STEP == 0:
            yield
    return FetchRequest(
        replica_id=sender.broker_id,
        replica_state=ReplicaState(sender.broker_id, sender.broker_epoch),
        max_wait_ms=sender.wait_max_ms if ask.may_wait else 0,
        min_bytes=sender.min_bytes,
        max_bytes=sender.response_max_bytes,
        session_id=ask.session_id,
        session_epoch=ask.session_epoch,
        topics=list(topics.values()),
        forgotten_topics_data=list(forgotten.values()),
    )


def _fetch_partition(one: PartitionAsk, max_bytes: int) -> FetchPartition:
    return FetchPartition(
        one.topic_partition.partition,
        one.leader_epoch,
        one.fetch_offset,
        one.last_fetched_epoch,
        one.log_start_offset,
        max_bytes,
    )


def apply_response(fetcher: Fetcher, response: Message) -> Steps[None]:
    """Apply a response to the fetcher that asked, in steps."""
    match response:
        case FetchResponse():
            return fetcher.on_fetched(fetch_answer(response, fetcher.partitions.name_of))
        case OffsetForLeaderEpochResponse():
            return fetcher.on_epoch_ends(epoch_end_answers(response))
        case ListOffsetsResponse():
            return fetcher.on_offsets(offset_answers(response))
    raise AssertionError(f"{type(response).__name__} answers nothing that a fetcher asks")


def fetch_answer(response: FetchResponse, name_of: Callable[[TopicId], str | None]) -> FetchAnswer:
    """Returns the answer in a response, without partitions of topics that `name_of` does not know."""
    return FetchAnswer(known_code(response.error_code), response.session_id, _parts(response, name_of))


def _parts(response: FetchResponse, name_of: Callable[[TopicId], str | None]) -> Iterator[PartitionAnswer]:
    for topic in response.responses:
        name = name_of(topic.topic_id)
        if name is not None:
            for part in topic.partitions:
                yield PartitionAnswer(
                    TopicPartition(name, part.partition_index),
                    known_code(part.error_code),
                    part.high_watermark,
                    part.log_start_offset,
                    b"" if part.records is None else part.records,
                    _diverging(part),
                )


def _diverging(part: PartitionData) -> EpochEnd | None:
    found = part.diverging_epoch
    return None if found is None or found.epoch < 0 else EpochEnd(found.epoch, found.end_offset)


def epoch_end_answers(response: OffsetForLeaderEpochResponse) -> Iterator[EpochEndAnswer]:
    """The answers in a response, one after another."""
    for topic in response.topics:
        for part in topic.partitions:
            end = EpochEnd(part.leader_epoch, part.end_offset)
            yield EpochEndAnswer(
                TopicPartition(topic.topic, part.partition), known_code(part.error_code), end
            )


def offset_answers(response: ListOffsetsResponse) -> Iterator[OffsetAnswer]:
    """The answers in a response, one after another."""
    for topic in response.topics:
        for part in topic.partitions:
            named = TopicPartition(topic.name, part.partition_index)
            yield OffsetAnswer(named, known_code(part.error_code), part.offset)
