"""OffsetFetch: where groups go on; one group up to version 7, several from version 8 on."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import NO_OFFSET, TopicPartition
from odradek.coordinator.groups import FetchedOffset
from odradek.server.edge.context import RequestContext, Respond
from odradek.server.edge.serving import Serves
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

SERVES: Final = Serves(9, 1, 9, kips={5: 320, 6: 482, 7: 447, 8: 709, 9: 848})

_FIRST_WITH_SEVERAL: Final = 8
_FIRST_WITH_GROUP_ERROR: Final = 2


def handle(core: BrokerCore, context: RequestContext, request: OffsetFetchRequest, respond: Respond) -> None:
    """Answer at once."""
    if context.api_version >= _FIRST_WITH_SEVERAL:
        groups = [_group(core, asked, require_stable=request.require_stable) for asked in request.groups]
        respond(OffsetFetchResponse(groups=groups))
    else:
        respond(_only_group(core, context, request))


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
            [
                OffsetFetchResponsePartitions(
                    row.topic_partition.partition, row.offset, row.leader_epoch, row.metadata, row.error
                )
                for row in rows
            ],
        )
        for name, rows in _by_topic(found)
    ]
    return OffsetFetchResponseGroup(asked.group_id, topics)


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
