"""Requests and answers, decoded by `wire`, as one line each: what they say about which partitions.

    Produce                orders-0: 3 records, acks=all
    answer                 orders-0: offset 41
    Fetch                  orders-0 at offset 41
    answer                 orders-0: offsets 41-43, HW 41
    OffsetForLeaderEpoch   orders-0: where does epoch 3 end?
    answer                 orders-0: epoch 3 ends at 41
    LeaderAndIsr           orders-0: leader 2, epoch 4, ISR 2,3

Other APIs are shown by their names and their errors. Invariant: whatever a client sends, something is
returned; bytes that do not decode are shown as such.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, TypeAlias

from odradek.base.buffers import Buffer
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import OdradekError
from odradek.base.ids import NO_BROKER, NO_PRODUCER_ID, NO_TOPIC_ID, TopicId, TopicPartition
from odradek.records.header import BatchHeader, iter_headers
from odradek.testing.sim.history.events import Message
from odradek.wire.apis import APIS
from odradek.wire.message import Message as WireMessage
from odradek.wire.messages.create_topics import CreateTopicsRequest
from odradek.wire.messages.fetch import FetchRequest, FetchResponse, PartitionData
from odradek.wire.messages.leader_and_isr import LeaderAndIsrRequest
from odradek.wire.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from odradek.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)
from odradek.wire.messages.produce import ProduceRequest, ProduceResponse
from odradek.wire.messages.stop_replica import StopReplicaRequest
from odradek.wire.messages.update_metadata import UpdateMetadataRequest

SHOWN_MAX: Final = 20
"""The largest number of partitions of a message that are shown one by one."""
REPR_CHARACTERS_MAX: Final = 1_000
NAMED_MAX: Final = 3
"""The largest number of partitions in the line of a message."""
ACKS: Final = {-1: "all"}

Names: TypeAlias = Mapping[TopicId, str]
"""The names of topics by their ids, of deleted topics too."""
Part: TypeAlias = tuple[TopicPartition, str]
"""A partition, and what a message says about it."""


def read_request(api_key: int, version: int, frame: Buffer, position: int, names: Names) -> Message:
    """Returns what a request says; its body begins at `position`."""
    return _read(api_key, version, frame, position, names, is_request=True)


def read_answer(api_key: int, version: int, frame: Buffer, position: int, names: Names) -> Message:
    """Returns what an answer says; its body begins at `position`."""
    return _read(api_key, version, frame, position, names, is_request=False)


def _read(
    api_key: int, version: int, frame: Buffer, position: int, names: Names, *, is_request: bool
) -> Message:
    api = APIS.get(api_key)
    if api is None:
        return Message(f"API {api_key}", f"version {version}, {len(frame)} bytes")
    kind = api.request_class if is_request else api.response_class
    try:
        message = kind.decode(frame, version, position, may_be_longer=True)
    except (OdradekError, LookupError) as error:
        return Message(api.name, f"does not decode: {error}")
    reader = _READERS.get(kind)
    if reader is None:
        return _other(api.name, message)
    lines: list[str] = []
    parts = list(reader(message, names, lines))
    is_quiet = isinstance(message, FetchRequest | FetchResponse) and not parts and not lines
    found = _message(api.name, parts, lines, is_quiet=is_quiet)
    is_answered = not (isinstance(message, ProduceRequest) and message.acks == 0)
    return found if is_answered else replace(found, is_answered=False)


def _message(api: str, parts: list[Part], heads: Iterable[str], *, is_quiet: bool = False) -> Message:
    shown = [f"{name}{_after_name(words)}" for name, words in parts[:NAMED_MAX]]
    if len(parts) > NAMED_MAX:
        shown.append(f"and {len(parts) - NAMED_MAX} more")
    words = "; ".join([*heads, *shown])
    unnamed = max(0, len(parts) - SHOWN_MAX)
    return Message(api, words, tuple(heads), tuple(parts[:SHOWN_MAX]), unnamed, is_quiet)


def _after_name(words: str) -> str:
    """As in "orders-0 at offset 41" and "orders-0: 3 records"."""
    return f" {words}" if words.startswith("at ") else f": {words}"


def _other(api: str, message: WireMessage) -> Message:
    code = getattr(message, "error_code", 0)
    return Message(api, _error(code) if code else "", (repr(message)[:REPR_CHARACTERS_MAX],))


def _error(code: int) -> str:
    try:
        return ErrorCode(code).name
    except ValueError:
        return f"error {code}"


def _topic(name: str, topic_id: TopicId, names: Names) -> str:
    if name or topic_id == NO_TOPIC_ID:
        return name
    return names.get(topic_id, str(topic_id))


def _ids(ids: Iterable[int]) -> str:
    return ",".join(map(str, ids))


def _led(leader: int, epoch: int, isr: Iterable[int]) -> str:
    who = "no leader" if leader == NO_BROKER else f"leader {leader}"
    return f"{who}, epoch {epoch}, ISR {_ids(isr)}"


def _batches(records: Buffer | None) -> list[BatchHeader]:
    """The headers of the whole batches in `records`. Raises CorruptRecord or InvalidRecord."""
    return [header for _, header in iter_headers(records)] if records else []


def _counted(records: int) -> str:
    return "1 record" if records == 1 else f"{records} records"


# --- requests


def _produce(request: ProduceRequest, names: Names, lines: list[str]) -> Iterable[Part]:
    lines.append(f"acks={ACKS.get(request.acks, request.acks)}")
    for topic in request.topic_data:
        name = _topic(topic.name, topic.topic_id, names)
        for data in topic.partition_data:
            yield TopicPartition(name, data.index), _produced(data.records)


def _produced(records: Buffer | None) -> str:
    try:
        batches = _batches(records)
    except OdradekError as error:
        return f"records that do not decode: {error}"
    words = _counted(sum(one.record_count for one in batches))
    if batches and batches[0].producer_id != NO_PRODUCER_ID:
        first = batches[0]
        words += f", producer {first.producer_id} epoch {first.producer_epoch} sequence {first.base_sequence}"
    return words


def _fetch(request: FetchRequest, names: Names, lines: list[str]) -> Iterable[Part]:
    del lines
    for topic in request.topics:
        name = _topic(topic.topic, topic.topic_id, names)
        for one in topic.partitions:
            words = f"at offset {one.fetch_offset}"
            if one.last_fetched_epoch >= 0:
                words += f", last epoch {one.last_fetched_epoch}"
            yield TopicPartition(name, one.partition), words
    for gone in request.forgotten_topics_data:
        name = _topic(gone.topic, gone.topic_id, names)
        for number in gone.partitions:
            yield TopicPartition(name, number), "no longer"


def _epoch_ends(request: OffsetForLeaderEpochRequest, names: Names, lines: list[str]) -> Iterable[Part]:
    del names, lines
    for topic in request.topics:
        for one in topic.partitions:
            words = f"where does epoch {one.leader_epoch} end?"
            yield TopicPartition(topic.topic, one.partition), words


def _list_offsets(request: ListOffsetsRequest, names: Names, lines: list[str]) -> Iterable[Part]:
    del names, lines
    for topic in request.topics:
        for one in topic.partitions:
            wanted = {-1: "latest offset?", -2: "earliest offset?"}.get(one.timestamp)
            words = wanted or f"offset at timestamp {one.timestamp}?"
            yield TopicPartition(topic.name, one.partition_index), words


def _leader_and_isr(request: LeaderAndIsrRequest, names: Names, lines: list[str]) -> Iterable[Part]:
    del names
    lines.append(f"controller {request.controller_id} epoch {request.controller_epoch}")
    for topic in request.topic_states:
        for one in topic.partition_states:
            words = _led(one.leader, one.leader_epoch, one.isr)
            yield TopicPartition(topic.topic_name, one.partition_index), words


def _update_metadata(request: UpdateMetadataRequest, names: Names, lines: list[str]) -> Iterable[Part]:
    del names
    lines.append(f"live brokers {_ids(sorted(broker.id for broker in request.live_brokers))}")
    for topic in request.topic_states:
        for one in topic.partition_states:
            words = _led(one.leader, one.leader_epoch, one.isr)
            yield TopicPartition(topic.topic_name, one.partition_index), words


def _stop_replica(request: StopReplicaRequest, names: Names, lines: list[str]) -> Iterable[Part]:
    del names, lines
    for topic in request.topic_states:
        for one in topic.partition_states:
            words = "stop and delete" if one.delete_partition else "stop"
            yield TopicPartition(topic.topic_name, one.partition_index), words


def _create_topics(request: CreateTopicsRequest, names: Names, lines: list[str]) -> Iterable[Part]:
    del names
    lines.extend(topic.name for topic in request.topics[:SHOWN_MAX])
    return ()


# --- answers


def _produce_answer(answer: ProduceResponse, names: Names, lines: list[str]) -> Iterable[Part]:
    del lines
    for topic in answer.responses:
        name = _topic(topic.name, topic.topic_id, names)
        for one in topic.partition_responses:
            words = _error(one.error_code) if one.error_code else f"offset {one.base_offset}"
            yield TopicPartition(name, one.index), words


def _fetch_answer(answer: FetchResponse, names: Names, lines: list[str]) -> Iterable[Part]:
    if answer.error_code:
        lines.append(_error(answer.error_code))
    for topic in answer.responses:
        name = _topic(topic.topic, topic.topic_id, names)
        for one in topic.partitions:
            yield TopicPartition(name, one.partition_index), _fetched(one)


def _fetched(one: PartitionData) -> str:
    if one.error_code:
        return _error(one.error_code)
    diverging = one.diverging_epoch
    if diverging is not None and diverging.end_offset >= 0:
        return f"diverging, epoch {diverging.epoch} ends at {diverging.end_offset}"
    return f"{_found(one.records)}, HW {one.high_watermark}"


def _found(records: Buffer | None) -> str:
    try:
        batches = _batches(records)
    except OdradekError as error:
        return f"records that do not decode: {error}"
    if not batches:
        return "no records"
    first, last = batches[0].base_offset, batches[-1].last_offset
    return f"offset {first}" if first == last else f"offsets {first}-{last}"


def _epoch_ends_answer(
    answer: OffsetForLeaderEpochResponse, names: Names, lines: list[str]
) -> Iterable[Part]:
    del names, lines
    for topic in answer.topics:
        for one in topic.partitions:
            if one.error_code:
                words = _error(one.error_code)
            elif one.end_offset < 0:
                words = "the epoch is unknown"
            else:
                words = f"epoch {one.leader_epoch} ends at {one.end_offset}"
            yield TopicPartition(topic.topic, one.partition), words


def _list_offsets_answer(answer: ListOffsetsResponse, names: Names, lines: list[str]) -> Iterable[Part]:
    del names, lines
    for topic in answer.topics:
        for one in topic.partitions:
            words = _error(one.error_code) if one.error_code else f"offset {one.offset}"
            yield TopicPartition(topic.name, one.partition_index), words


_READERS: Final[Mapping[type[WireMessage], Callable[[Any, Names, list[str]], Iterable[Part]]]] = {
    ProduceRequest: _produce,
    FetchRequest: _fetch,
    OffsetForLeaderEpochRequest: _epoch_ends,
    ListOffsetsRequest: _list_offsets,
    LeaderAndIsrRequest: _leader_and_isr,
    UpdateMetadataRequest: _update_metadata,
    StopReplicaRequest: _stop_replica,
    CreateTopicsRequest: _create_topics,
    ProduceResponse: _produce_answer,
    FetchResponse: _fetch_answer,
    OffsetForLeaderEpochResponse: _epoch_ends_answer,
    ListOffsetsResponse: _list_offsets_answer,
}
"""What is said about partitions, one by one; lines about the whole message are appended to the list."""
