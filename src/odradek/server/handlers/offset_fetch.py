"""OffsetFetch: the committed offsets of groups; one group up to version 7, several from version 8 on."""

from collections.abc import Collection, Sequence
from functools import partial
from itertools import compress
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import COUNTED_PER_STEP, ITEMS_PER_STEP, Pace, Steps, stepwise, stepwise_in
from odradek.base.ids import NO_OFFSET, TopicPartition
from odradek.coordinator.groups import FetchedOffset
from odradek.server.edge.context import RequestContext, Respond, Response
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


def handle(
    core: BrokerCore, context: RequestContext, request: OffsetFetchRequest, respond: Respond
) -> Steps[None]:
    """Answer for each group once, and for each partition, when the offsets read are replicated."""
    response: OffsetFetchResponse
    if context.api_version >= _FIRST_WITH_SEVERAL:
        response = yield from _several_groups(core, context, request)
        names = [group.group_id for group in response.groups]
    else:
        response = yield from _only_group(core, context, request)
        names = [request.group_id]
    partitions = yield from stepwise(names, core.groups.topic.partition_of)
    one_of_each = dict(zip(partitions, names, strict=True)).values()
    is_wide = len(names) > ITEMS_PER_STEP or _is_wide(response) or any(map(_is_wide, response.groups))
    core.groups.coordinator.answer_when_replicated(
        one_of_each,
        respond,
        _encoded_in_steps(response) if is_wide else response,
        lambda error: refuse(request, error),
    )


def _is_wide(answer: OffsetFetchResponse | OffsetFetchResponseGroup) -> bool:
    some = answer.topics[: ITEMS_PER_STEP + 1]
    return len(some) + sum(len(topic.partitions) for topic in some) > ITEMS_PER_STEP


def _encoded_in_steps(response: OffsetFetchResponse) -> Steps[Response]:
    """The answer as it is: one that is given in steps is encoded in steps."""
    yield
    return response


def _several_groups(
    core: BrokerCore, context: RequestContext, request: OffsetFetchRequest
) -> Steps[OffsetFetchResponse]:
    answer = _group_by_ids if context.api_version >= _FIRST_WITH_IDS else _group
    response = OffsetFetchResponse()
    for asked in (yield from _once_each(request.groups)):
        group = yield from answer(core, asked, require_stable=request.require_stable)
        response.groups.append(group)
        yield
    return response


def _once_each(groups: Sequence[OffsetFetchRequestGroup]) -> Steps[Collection[OffsetFetchRequestGroup]]:
    """The groups by id; a repeated group gets the topics of both, with the member of the first."""
    asked: dict[str, OffsetFetchRequestGroup] = {}

    def merge(group: OffsetFetchRequestGroup) -> None:
        first = asked.setdefault(group.group_id, group)
        if first is group or first.topics is None:
            return
        if group.topics is None:
            first.topics = None
        else:
            first.topics += group.topics

    yield from stepwise(groups, merge)
    return asked.values()


def refuse(request: OffsetFetchRequest, code: ErrorCode) -> Steps[Response]:
    """The same error for every group, and for every partition: version 1 has no other field for it."""
    topics = yield from stepwise_in(
        request.topics or (),
        lambda topic: topic.partition_indexes,
        lambda index: OffsetFetchResponsePartition(index, NO_OFFSET, metadata="", error_code=code),
        lambda topic, parts: OffsetFetchResponseTopic(topic.name, parts),
    )
    groups = yield from stepwise(
        request.groups,
        lambda asked: OffsetFetchResponseGroup(asked.group_id, error_code=code),
        COUNTED_PER_STEP,
    )
    return OffsetFetchResponse(error_code=code, topics=topics, groups=groups)


def _group(
    core: BrokerCore, asked: OffsetFetchRequestGroup, *, require_stable: bool
) -> Steps[OffsetFetchResponseGroup]:
    partitions = yield from _partitions(asked.topics)
    found = _committed(
        core,
        asked.group_id,
        partitions,
        require_stable=require_stable,
        member_id=asked.member_id,
        member_epoch=asked.member_epoch,
    )
    if isinstance(found, ErrorCode):
        return OffsetFetchResponseGroup(asked.group_id, error_code=found)
    topics: dict[str, OffsetFetchResponseTopics] = {}

    def note(row: FetchedOffset) -> None:
        name, index = row.topic_partition
        topic = topics.get(name)
        if topic is None:
            topic = topics[name] = OffsetFetchResponseTopics(name)
        topic.partitions.append(
            OffsetFetchResponsePartitions(index, row.offset, row.leader_epoch, row.metadata, row.error)
        )

    yield from stepwise((yield from found), note)
    return OffsetFetchResponseGroup(asked.group_id, list(topics.values()))


def _group_by_ids(
    core: BrokerCore, asked: OffsetFetchRequestGroup, *, require_stable: bool
) -> Steps[OffsetFetchResponseGroup]:
    """As `_group`, with topics by id. A request for all topics omits deleted ones, as in Kafka."""
    unknown = []
    if asked.topics is not None:
        known = yield from stepwise(asked.topics, lambda topic: with_names(core, [topic]))
        unknown = [topic for topic in asked.topics if not topic.name]
        asked.topics = [topic for topics in known for topic in topics]
    response = yield from _group(core, asked, require_stable=require_stable)

    def has_id(topic: OffsetFetchResponseTopics) -> bool:
        described = core.image.topic(topic.name)
        if described is not None:
            topic.topic_id = described.topic_id
        return described is not None

    have_ids = yield from stepwise(response.topics, has_id)
    response.topics = list(compress(response.topics, have_ids))
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
) -> Steps[OffsetFetchResponse]:
    partitions = yield from _partitions(request.topics)
    found = _committed(core, request.group_id, partitions, require_stable=request.require_stable)
    error = ErrorCode.NONE
    if isinstance(found, ErrorCode):
        error = found
        # Version 1 has no error field for the whole answer.
        refused = (partitions or ()) if context.api_version < _FIRST_WITH_GROUP_ERROR else ()
        found = stepwise(refused, lambda key: FetchedOffset(key, NO_OFFSET, error=error))
    topics: dict[str, OffsetFetchResponseTopic] = {}

    def note(row: FetchedOffset) -> None:
        name, index = row.topic_partition
        topic = topics.get(name)
        if topic is None:
            topic = topics[name] = OffsetFetchResponseTopic(name)
        topic.partitions.append(
            OffsetFetchResponsePartition(index, row.offset, row.leader_epoch, row.metadata, row.error)
        )

    yield from stepwise((yield from found), note)
    return OffsetFetchResponse(error_code=error, topics=list(topics.values()))


def _committed(
    core: BrokerCore,
    group_id: str,
    partitions: Collection[TopicPartition] | None,
    *,
    require_stable: bool,
    member_id: str | None = None,
    member_epoch: int = -1,
) -> Steps[list[FetchedOffset]] | ErrorCode:
    """What the coordinator has; NOT_COORDINATOR where another broker may have become it unnoticed (R19)."""
    topic = core.groups.topic
    if not core.confirmed_roles.is_confirmed(TopicPartition(topic.name, topic.partition_of(group_id))):
        return ErrorCode.NOT_COORDINATOR
    return core.groups.coordinator.fetch_offsets(
        group_id,
        partitions,
        require_stable=require_stable,
        member_id=member_id,
        member_epoch=member_epoch,
    )


def _partitions(
    topics: Sequence[OffsetFetchRequestTopic] | Sequence[OffsetFetchRequestTopics] | None,
) -> Steps[Collection[TopicPartition] | None]:
    """The requested partitions, each once; None: all."""
    if topics is None:
        return None
    named: dict[TopicPartition, None] = {}
    pace = Pace()
    for topic in topics:
        some = yield from stepwise(topic.partition_indexes, partial(TopicPartition, topic.name))
        named.update(dict.fromkeys(some))
        if pace.is_over(1 + len(some)):
            yield
    return named.keys()
