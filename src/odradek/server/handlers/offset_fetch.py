"""OffsetFetch: where groups go on; one group up to version 7, several from version 8 on."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import NO_OFFSET, TopicPartition
from odradek.coordinator.groups import FetchedOffset
from odradek.server.edge.context import RequestContext, Respond
from odradek.server.edge.serving import Serves
from odradek.server.handlers.topic_ids import with_names
from odradek.server.node.core import BrokerCore
from odradek.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)

SERVES: Final = Serves(9, 1, 10, kips={5: 320, 6: 482, 7: 447, 8: 709, 9: 848, 10: 848})

_FIRST_WITH_IDS: Final = 10

_FIRST_WITH_SEVERAL: Final = 8
_FIRST_WITH_GROUP_ERROR: Final = 2


def handle(core: BrokerCore, context: RequestContext, request: OffsetFetchRequest, respond: Respond) -> None:
    """Answer when what was read is replicated, mostly at once."""
    if context.api_version >= _FIRST_WITH_SEVERAL:
        answer = _group_by_ids if context.api_version >= _FIRST_WITH_IDS else _group
        groups = [answer(core, asked, require_stable=request.require_stable) for asked in request.groups]
        response, names = OffsetFetchResponse(groups=groups), [asked.group_id for asked in request.groups]
    else:
        response, names = _only_group(core, context, request), [request.group_id]
    core.groups.coordinator.answer_when_replicated(
        names, respond, response, lambda error: refuse(request, error)
    )


def refuse(request: OffsetFetchRequest, code: ErrorCode) -> OffsetFetchResponse:
    """The same error for every group."""
    return OffsetFetchResponse(
        error_code=code,
        groups=[OffsetFetchResponseGroup(asked.group_id, error_code=code) for asked in request.groups],
    )


def _group(
    core: BrokerCore, asked: OffsetFetchRequestGroup, *, require_stable: bool
) -> OffsetFetchResponseGroup:
    found = core.groups.coordinator.fetch_offsets(
        asked.group_id,
        _partitions(asked.topics),
        require_stable=require_stable,
        member_id=asked.member_id,
        member_epoch=asked.member_epoch,
    )
    if isinstance(found, ErrorCode):
        return OffsetFetchResponseGroup(asked.group_id, error_code=found)
    topics = [
        OffsetFetchResponseTopics(
            name,
            partitions=[
                OffsetFetchResponsePartitions(
                    row.topic_partition.partition, row.offset, row.leader_epoch, row.metadata, row.error
                )
                for row in rows
            ],
        )
        for name, rows in _by_topic(found)
    ]
    return OffsetFetchResponseGroup(asked.group_id, topics)


def _group_by_ids(
    core: BrokerCore, asked: OffsetFetchRequestGroup, *, require_stable: bool
) -> OffsetFetchResponseGroup:
    """As `_group`, with topics by id. Offsets of all topics leave those out that are gone, as in Kafka."""
    unknown = []
    if asked.topics is not None:
        known = with_names(core, asked.topics)
        unknown = [topic for topic in asked.topics if not topic.name]
        asked.topics = known
    response = _group(core, asked, require_stable=require_stable)
    found = []
    for topic in response.topics:
        described = core.image.topic(topic.name)
        if described is not None:
            topic.topic_id = described.topic_id
            found.append(topic)
    response.topics = found
    if response.error_code == ErrorCode.NONE:
        response.topics += [_unknown_topic(topic) for topic in unknown]
    return response


def _unknown_topic(topic: OffsetFetchRequestTopics) -> OffsetFetchResponseTopics:
    rows = [
        OffsetFetchResponsePartitions(index, NO_OFFSET, error_code=ErrorCode.UNKNOWN_TOPIC_ID)
        for index in topic.partition_indexes
    ]
    return OffsetFetchResponseTopics(topic_id=topic.topic_id, partitions=rows)


def _only_group(
    core: BrokerCore, context: RequestContext, request: OffsetFetchRequest
) -> OffsetFetchResponse:
    partitions = _partitions(request.topics)
    found = core.groups.coordinator.fetch_offsets(
        request.group_id, partitions, require_stable=request.require_stable
    )
    error = ErrorCode.NONE
    if isinstance(found, ErrorCode):
        error = found
        # Version 1 has no error for the whole.
        in_rows = context.api_version < _FIRST_WITH_GROUP_ERROR
        found = [FetchedOffset(key, NO_OFFSET, error=error) for key in partitions or ()] if in_rows else []
    return OffsetFetchResponse(
        error_code=error,
        topics=[
            OffsetFetchResponseTopic(
                name,
                [
                    OffsetFetchResponsePartition(
                        row.topic_partition.partition, row.offset, row.leader_epoch, row.metadata, row.error
                    )
                    for row in rows
                ],
            )
            for name, rows in _by_topic(found)
        ],
    )


def _partitions(
    topics: Sequence[OffsetFetchRequestTopic] | Sequence[OffsetFetchRequestTopics] | None,
) -> list[TopicPartition] | None:
    """What is asked for; None: everything."""
    if topics is None:
        return None
    return [TopicPartition(topic.name, index) for topic in topics for index in topic.partition_indexes]


def _by_topic(rows: list[FetchedOffset]) -> Iterable[tuple[str, Iterable[FetchedOffset]]]:
    """The rows of each topic together, topics in the order of their first row."""
    first: dict[str, int] = {}
    for row in rows:
        first.setdefault(row.topic_partition.topic, len(first))
    in_order = sorted(rows, key=lambda row: first[row.topic_partition.topic])
    return groupby(in_order, key=lambda row: row.topic_partition.topic)
