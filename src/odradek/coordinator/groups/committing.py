"""Committing and deleting offsets: the checks, the records, and memory, which follows the log.

    the group has no members, generation -1    any client may commit: a consumer that assigns for itself
    else                                       a member of this generation may; that renews its session
    a group of the consumer protocol           a member at this epoch may; only heartbeats renew its session

One partition's error never affects another's.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Final, TypeAlias, TypeVar

from odradek.base.buffers import Buffer
from odradek.base.error_codes import ErrorCode
from odradek.base.execution import Steps
from odradek.base.ids import NO_TOPIC_ID, Offset, TopicPartition
from odradek.coordinator.assignors.model import Assignment
from odradek.coordinator.classic import Terms
from odradek.coordinator.classic.classic_membership import CONSUMER_PROTOCOL_TYPE
from odradek.coordinator.classic.states import GroupEvent
from odradek.coordinator.consumer.assignments import assignment_of
from odradek.coordinator.consumer.epochs import refuse_commit
from odradek.coordinator.consumer.topics import Topics
from odradek.coordinator.groups.gathering import GatheredWrite
from odradek.coordinator.groups.group import Group
from odradek.coordinator.groups.log_records import batch_builder, offset_record, offset_tombstone
from odradek.coordinator.groups.offsets import NO_EXPIRY, CommittedOffset, TransactionalProducer
from odradek.coordinator.groups.shard import Shard, stamped
from odradek.coordinator.runtime.answers import HeldAnswer, final
from odradek.coordinator.runtime.log_errors import OFFSET_ERRORS, client_error
from odradek.wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition

T = TypeVar("T")

NO_RETENTION: Final = -1
PREPARED_PER_STEP: Final = 32
"""Of up to ten microseconds each."""
EXPIRY_MS_MAX: Final = (1 << 63) - 1
"""The largest time that a record can hold; a client may ask for a longer retention."""

Codes: TypeAlias = Mapping[TopicPartition, ErrorCode]
"""One for each partition that was asked for."""
RespondWithCodes: TypeAlias = Callable[[Codes], None]
IsKnown: TypeAlias = Callable[[TopicPartition], bool]
"""Whether the cluster has such a partition."""


def check_committer(
    group: Group,
    member_id: str,
    instance_id: str | None,
    generation: int,
    partitions: Iterable[TopicPartition],
    topics: Topics,
    *,
    version: int = 0,
    is_transactional: bool = False,
) -> ErrorCode:
    """Returns the error that refuses a commit of these partitions, or NONE; a classic session is renewed."""
    if group.consumer is not None:
        members_now = group.consumer.membership
        asked = partial(_assignment_of, partitions, topics)
        return refuse_commit(
            members_now, member_id, generation, version, asked, is_transactional=is_transactional
        )
    members = group.membership.members
    if generation < 0 and not members:
        return ErrorCode.NONE
    if generation < 0 and not member_id and instance_id is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    return group.classic.handle_heartbeat(GroupEvent.COMMITS, member_id, instance_id, generation)


def _assignment_of(partitions: Iterable[TopicPartition], topics: Topics) -> Assignment:
    """The partitions by topic id; a topic that is gone has an id that no topic has."""
    numbers: dict[str, list[int]] = {}
    for topic, number in partitions:
        numbers.setdefault(topic, []).append(number)
    known = ((topics.by_name(name), some) for name, some in numbers.items())
    return assignment_of((NO_TOPIC_ID if topic is None else topic.topic_id, some) for topic, some in known)


def offsets_of(request: OffsetCommitRequest, now_ms: int) -> Iterator[tuple[TopicPartition, CommittedOffset]]:
    """The offsets of a request; if a partition is named twice, the last one counts."""
    retention_ms = request.retention_time_ms
    expire_ms = NO_EXPIRY if retention_ms == NO_RETENTION else min(now_ms + retention_ms, EXPIRY_MS_MAX)
    for topic in request.topics:
        for part in topic.partitions:
            yield TopicPartition(topic.name, part.partition_index), _offset_of(part, now_ms, expire_ms)


def _offset_of(part: OffsetCommitRequestPartition, now_ms: int, expire_ms: int) -> CommittedOffset:
    metadata = part.committed_metadata or ""
    return CommittedOffset(part.committed_offset, part.committed_leader_epoch, metadata, now_ms, expire_ms)


def commit(
    shard: Shard,
    group: Group,
    terms: Terms,
    offsets: Mapping[TopicPartition, CommittedOffset],
    is_known: IsKnown,
    respond: RespondWithCodes,
) -> None:
    """Write the accepted offsets, in one batch with other commits; answer when they are replicated."""
    codes = {key: _refusal(key, offset, terms, is_known) for key, offset in offsets.items()}
    accepted = {key: offset for key, offset in offsets.items() if codes[key] is ErrorCode.NONE}

    def refused(error: ErrorCode) -> Codes:
        return {**codes, **dict.fromkeys(accepted, client_error(OFFSET_ERRORS, error))}

    if not accepted:
        shard.forget_if_void(group)
        shard.answer(HeldAnswer(respond, codes, refused))
        return
    records = [offset_record(group.group_id, key, offset) for key, offset in accepted.items()]
    group.offsets.begin_write(accepted)

    def appended(base_offset: Offset) -> None:
        group.offsets.end_write(accepted)
        group.offsets.put_all(accepted, base_offset)
        shard.answer(HeldAnswer(respond, codes, refused))

    def not_appended(error: ErrorCode) -> None:
        group.offsets.end_write(accepted)
        shard.forget_if_void(group)
        shard.answer(final(respond, refused(error)))

    shard.gather(GatheredWrite(records, appended, not_appended))


@dataclass(slots=True)
class Prepared:
    """Many offsets that are to be committed together."""

    codes: dict[TopicPartition, ErrorCode] = field(default_factory=dict)
    """Why a partition's offset is refused, NONE where it is not."""
    accepted: dict[TopicPartition, CommittedOffset] = field(default_factory=dict)
    """Those that are not."""
    batch: Buffer = b""
    """Their records; empty where there are none."""


def prepare(
    group_id: str,
    offers: Iterable[tuple[TopicPartition, CommittedOffset]],
    terms: Terms,
    topics: Topics,
    producer: TransactionalProducer | None,
) -> Steps[Prepared]:
    """Check many offsets and build their records, in steps; at the end each accepted topic exists."""
    is_known = topics.has_partition
    offered: dict[TopicPartition, CommittedOffset] = {}
    for some in iter(partial(_some_of, iter(offers)), []):
        offered.update(some)
        yield
    now_ms = terms.clock.wall_ms()
    while True:
        prepared = Prepared()
        builder = batch_builder(producer)
        accepted: dict[str, TopicPartition] = {}
        version = topics.version
        for some in iter(partial(_some_of, iter(offered.items())), []):
            for key, offset in some:
                code = prepared.codes[key] = _refusal(key, offset, terms, is_known)
                if code is ErrorCode.NONE:
                    prepared.accepted[key] = offset
                    accepted[key.topic] = key
                    builder.append(now_ms, *offset_record(group_id, key, offset))
            yield
        if builder.record_count:
            prepared.batch = builder.build()
        if (yield from _are_still_known(accepted.values(), topics, version)):
            return prepared


def _are_still_known(partitions: Iterable[TopicPartition], topics: Topics, version: int) -> Steps[bool]:
    """Whether these partitions, which there were in that version of the topics, are there at the end."""
    while version != topics.version:
        version = topics.version
        for some in iter(partial(_some_of, iter(partitions)), []):
            if not all(map(topics.has_partition, some)):
                return False
            yield
    return True


def _some_of(items: Iterator[T]) -> list[T]:
    return list(islice(items, PREPARED_PER_STEP))


def commit_prepared(
    shard: Shard,
    group: Group,
    prepared: Prepared,
    respond: RespondWithCodes,
    producer: TransactionalProducer | None = None,
) -> None:
    """Write offsets that were prepared, as one batch; in a transaction they are pending until that ends."""
    codes, accepted = prepared.codes, prepared.accepted

    def refused(error: ErrorCode) -> Codes:
        return {**codes, **dict.fromkeys(accepted, client_error(OFFSET_ERRORS, error))}

    if not accepted:
        shard.forget_if_void(group)
        shard.answer(HeldAnswer(respond, codes, refused))
        return
    result = shard.append_batch(prepared.batch)
    if result.error is ErrorCode.NONE:
        _take(shard, group, accepted, result.base_offset, producer)
        shard.answer(HeldAnswer(respond, codes, refused))
    else:
        shard.forget_if_void(group)
        shard.answer(final(respond, refused(result.error)))


def _take(
    shard: Shard,
    group: Group,
    offsets: Mapping[TopicPartition, CommittedOffset],
    log_offset: Offset,
    producer: TransactionalProducer | None,
) -> None:
    """Apply offsets that the log now has."""
    if producer is not None:
        taken = [(key, stamped(offset, log_offset)) for key, offset in offsets.items()]
        shard.stage(producer.producer_id, group, taken)
    else:
        group.offsets.put_all(offsets, log_offset)


def _refusal(key: TopicPartition, offset: CommittedOffset, terms: Terms, is_known: IsKnown) -> ErrorCode:
    if not is_known(key):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if _units(offset.metadata) > terms.settings.offset_metadata_max_bytes:
        return ErrorCode.OFFSET_METADATA_TOO_LARGE
    return ErrorCode.NONE


def _units(text: str) -> int:
    """The length in UTF-16 units, as in Java: Kafka's setting says bytes but counts these."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def delete_offsets(
    shard: Shard, group: Group | None, partitions: Iterable[TopicPartition], is_known: IsKnown
) -> dict[TopicPartition, ErrorCode]:
    """OffsetDelete: delete offsets of topics that no member reads; a group of None has no offsets."""
    shard.flush()
    has_members = group is not None and group.has_members
    subscribed = group.subscribed_topics() if group is not None and has_members else frozenset[str]()
    codes: dict[TopicPartition, ErrorCode] = {}
    for key in partitions:
        if not is_known(key):
            codes[key] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        elif subscribed is None or key.topic in subscribed:
            codes[key] = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
        else:
            codes[key] = ErrorCode.NONE
    if group is None:
        return codes
    doomed = [key for key, code in codes.items() if code is ErrorCode.NONE and group.offsets.knows(key)]
    if doomed:
        result = shard.append([offset_tombstone(group.group_id, key) for key in doomed])
        if result.error is ErrorCode.NONE:
            _forget(shard, group, doomed, result.base_offset)
        codes.update(dict.fromkeys(doomed, client_error(OFFSET_ERRORS, result.error)))
    return codes


def may_delete_offsets(group: Group | None) -> ErrorCode:
    """Whether offsets of the group may be deleted at all: a group in use must say what it reads."""
    if group is None:
        return ErrorCode.GROUP_ID_NOT_FOUND
    if group.is_empty or group.protocol_type == CONSUMER_PROTOCOL_TYPE:
        return ErrorCode.NONE
    return ErrorCode.NON_EMPTY_GROUP


def forget_offsets(shard: Shard, group: Group, doomed: list[TopicPartition]) -> None:
    """Delete offsets from the log and from memory, in one batch with other writes of this turn of the loop.

    Offsets whose tombstones cannot be written now stay until expiry runs again.
    """
    if doomed:
        shard.gather(
            GatheredWrite(
                [offset_tombstone(group.group_id, key) for key in doomed],
                lambda base_offset: _forget(shard, group, doomed, base_offset),
                lambda error: None,
            )
        )


def _forget(shard: Shard, group: Group, doomed: list[TopicPartition], log_offset: Offset) -> None:
    """Called when the tombstones of these offsets are in the log; drops a group without any other state."""
    for key in doomed:
        group.offsets.forget(key, log_offset)
    shard.forget_if_void(group)
