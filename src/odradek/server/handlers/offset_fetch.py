"""OffsetFetch: the committed offsets of groups; one group up to version 7, several from version 8 on."""

from collections.abc import Generator, Iterable, Sequence
from itertools import groupby
from typing import Final, TypeAlias, TypeVar

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import Steps, stepwise
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

T = TypeVar("T")

Reading: TypeAlias = Generator[None, None, T]
"""A generator that reads its result in steps."""

_FIRST_WITH_SEVERAL: Final = 8
_FIRST_WITH_GROUP_ERROR: Final = 2


def handle(
    core: BrokerCore, context: RequestContext, request: OffsetFetchRequest, respond: Respond
) -> Steps[None]:
    """Answer for each group once, and for each partition, when the offsets read are replicated."""
    response: OffsetFetchResponse
    if context.api_version >= _FIRST_WITH_SEVERAL:
        names = [asked.group_id for asked in request.groups]
        response = yield from _several_groups(core, context, request)
    else:
        names = [request.group_id]
        response = yield from _only_group(core, context, request)
    core.groups.coordinator.answer_when_replicated(
        names, respond, response, lambda error: refuse(request, error)
    )


def _several_groups(
    core: BrokerCore, context: RequestContext, request: OffsetFetchRequest
) -> Reading[OffsetFetchResponse]:
    answer = _group_by_ids if context.api_version >= _FIRST_WITH_IDS else _group
    response = OffsetFetchResponse()
    for asked in _once_each(request.groups):
        group = yield from answer(core, asked, require_stable=request.require_stable)
        response.groups.append(group)
        yield
    return response


def _once_each(groups: Sequence[OffsetFetchRequestGroup]) -> Iterable[OffsetFetchRequestGroup]:
    """The groups by id; a repeated group gets the topics of both, with the member of the first."""
    asked: dict[str, OffsetFetchRequestGroup] = {}
    for group in groups:
        first = asked.setdefault(group.group_id, group)
        if first is not group and first.topics is not None:
            first.topics = None if group.topics is None else [*first.topics, *group.topics]
    return asked.values()


def refuse(request: OffsetFetchRequest, code: ErrorCode) -> OffsetFetchResponse:
    """The same error for every group, and for every partition: version 1 has no other field for it."""
    return OffsetFetchResponse(
        error_code=code,
        topics=[
            OffsetFetchResponseTopic(
                topic.name,
                [
                    OffsetFetchResponsePartition(index, NO_OFFSET, metadata="", error_code=code)
                    for index in topic.partition_indexes
                ],
            )
            for topic in request.topics or ()
        ],
        groups=[OffsetFetchResponseGroup(asked.group_id, error_code=code) for asked in request.groups],
    )


def _group(
    core: BrokerCore, asked: OffsetFetchRequestGroup, *, require_stable: bool
) -> Reading[OffsetFetchResponseGroup]:
    found = core.groups.coordinator.fetch_offsets(
        asked.group_id,
        _partitions(asked.topics),
        require_stable=require_stable,
        member_id=asked.member_id,
        member_epoch=asked.member_epoch,
    )
    if isinstance(found, ErrorCode):
        return OffsetFetchResponseGroup(asked.group_id, error_code=found)
    topics = []
    for name, rows in _by_topic(found):
        topics.append(OffsetFetchResponseTopics(name, partitions=(yield from stepwise(rows, _row))))
    return OffsetFetchResponseGroup(asked.group_id, topics)


def _row(row: FetchedOffset) -> OffsetFetchResponsePartitions:
    return OffsetFetchResponsePartitions(
        row.topic_partition.partition, row.offset, row.leader_epoch, row.metadata, row.error
    )


def _group_by_ids(
    core: BrokerCore, asked: OffsetFetchRequestGroup, *, require_stable: bool
) -> Reading[OffsetFetchResponseGroup]:
    """As `_group`, with topics by id. A request for all topics omits deleted ones, as in Kafka."""
    unknown = []
    if asked.topics is not None:
        known = with_names(core, asked.topics)
        unknown = [topic for topic in asked.topics if not topic.name]
        asked.topics = known
    response = yield from _group(core, asked, require_stable=require_stable)
    found = []
    for topic in response.topics:
        described = core.image.topic(topic.name)
        if described is not None:
            topic.topic_id = described.topic_id
            found.append(topic)
    response.topics = found
    if response.error_code == ErrorCode.NONE:
        response.topics += yield from stepwise(unknown, _unknown_topic, per_step=1)
    return response


def _unknown_topic(topic: OffsetFetchRequestTopics) -> OffsetFetchResponseTopics:
    rows = [
        OffsetFetchResponsePartitions(index, NO_OFFSET, error_code=ErrorCode.UNKNOWN_TOPIC_ID)
        for index in dict.fromkeys(topic.partition_indexes)
    ]
    return OffsetFetchResponseTopics(topic_id=topic.topic_id, partitions=rows)


def _only_group(
    core: BrokerCore, context: RequestContext, request: OffsetFetchRequest
) -> Reading[OffsetFetchResponse]:
    partitions = _partitions(request.topics)
    found = core.groups.coordinator.fetch_offsets(
        request.group_id, partitions, require_stable=request.require_stable
    )
    error = ErrorCode.NONE
    if isinstance(found, ErrorCode):
        error = found
        # Version 1 has no error field for the whole answer.
        in_rows = context.api_version < _FIRST_WITH_GROUP_ERROR
        found = [FetchedOffset(key, NO_OFFSET, error=error) for key in partitions or ()] if in_rows else []
    response = OffsetFetchResponse(error_code=error)
    for name, rows in _by_topic(found):
        response.topics.append(OffsetFetchResponseTopic(name, (yield from stepwise(rows, _only_row))))
    return response


def _only_row(row: FetchedOffset) -> OffsetFetchResponsePartition:
    return OffsetFetchResponsePartition(
        row.topic_partition.partition, row.offset, row.leader_epoch, row.metadata, row.error
    )


def _partitions(
    topics: Sequence[OffsetFetchRequestTopic] | Sequence[OffsetFetchRequestTopics] | None,
) -> list[TopicPartition] | None:
    """The requested partitions, each once; None: all."""
    if topics is None:
        return None
    named = (TopicPartition(topic.name, index) for topic in topics for index in topic.partition_indexes)
    return list(dict.fromkeys(named))


def _by_topic(rows: list[FetchedOffset]) -> Iterable[tuple[str, Iterable[FetchedOffset]]]:
    """The rows of each topic together, topics in the order of their first row."""
    first: dict[str, int] = {}
    for row in rows:
        first.setdefault(row.topic_partition.topic, len(first))
    in_order = sorted(rows, key=lambda row: first[row.topic_partition.topic])
    return groupby(in_order, key=lambda row: row.topic_partition.topic)
