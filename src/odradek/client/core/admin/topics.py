"""Topics: describe, create, delete, more partitions."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.ids import NO_BROKER, BrokerId
from odradek.base.uuids import parse_uuid, render_uuid
from odradek.client.core.admin.configs import setting_text
from odradek.client.core.admin.elements import Answered, Results, ask_each, at_once
from odradek.client.core.operation import Operation, Pause, ask, check_all_told
from odradek.client.core.requests import REQUEST_TIMEOUT_MS, Send, ToAny, ToController
from odradek.client.refusal import raise_for
from odradek.wire.message import Message
from odradek.wire.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from odradek.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from odradek.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from odradek.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse

METADATA_VERSION_MAX = 12
KNOWN_LOOKS = 8
"""With the default backoff they take about five seconds."""
_FIRST_METADATA_WITH_IDS = 12
_FIRST_DELETION_WITH_IDS = 6


@dataclass(frozen=True, slots=True)
class PartitionDescription:
    """One partition as the cluster sees it; leader -1 when there is none."""

    partition: int
    leader: int
    leader_epoch: int
    replicas: list[int]
    isr: list[int]


@dataclass(frozen=True, slots=True)
class TopicDescription:
    """One topic and its partitions, in order."""

    name: str
    topic_id: str
    internal: bool
    partitions: list[PartitionDescription]


@dataclass(frozen=True, slots=True)
class NewTopic:
    """A topic to create."""

    name: str
    partitions: int = -1
    """-1: the broker's `num.partitions`."""
    replication_factor: int = -1
    """-1: the broker's `default.replication.factor`."""
    configs: Mapping[str, str] = field(default_factory=dict)
    """Settings of the topic by Kafka's names."""
    assignments: Mapping[int, Sequence[int]] = field(default_factory=dict)
    """The brokers of each partition, instead of numbers; the first one is preferred as the leader."""


def metadata_request(names: Iterable[str] | None) -> MetadataRequest:
    """Asks for these topics, or for all; it makes none of them."""
    wanted = None if names is None else [MetadataRequestTopic(name=name) for name in names]
    return MetadataRequest(topics=wanted, allow_auto_topic_creation=False)


def metadata_request_by_id(ids: Iterable[str]) -> MetadataRequest:
    """Asks for topics by their ids. Raises ValueError for a text that is no id."""
    wanted = [MetadataRequestTopic(topic_id=_topic_id(one), name=None) for one in ids]
    return MetadataRequest(topics=wanted, allow_auto_topic_creation=False)


def described_topics(answer: MetadataResponse) -> list[TopicDescription]:
    """The topics of an answer, by name. Raises ApiError for the first that is unknown."""
    described = []
    for topic in answer.topics:
        if topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {topic.name}")
        if topic.error_code == ErrorCode.UNKNOWN_TOPIC_ID:
            said = f"there is no topic with the id {render_uuid(topic.topic_id)}"
            raise ApiError(ErrorCode.UNKNOWN_TOPIC_ID, said)
        raise_for(topic.error_code, about=f"topic {topic.name}")
        partitions = [
            PartitionDescription(
                one.partition_index, one.leader_id, one.leader_epoch, one.replica_nodes, one.isr_nodes
            )
            for one in sorted(topic.partitions, key=lambda one: one.partition_index)
        ]
        described.append(
            TopicDescription(topic.name or "", render_uuid(topic.topic_id), topic.is_internal, partitions)
        )
    return sorted(described, key=lambda topic: topic.name)


def creation(topic: NewTopic) -> CreatableTopic:
    """The topic in a request; partitions and replicas are not named where brokers are."""
    placed = [CreatableReplicaAssignment(number, list(ids)) for number, ids in topic.assignments.items()]
    return CreatableTopic(
        name=topic.name,
        num_partitions=-1 if placed else topic.partitions,
        replication_factor=-1 if placed else topic.replication_factor,
        assignments=placed,
        configs=[
            CreatableTopicConfig(name=key, value=setting_text(key, value))
            for key, value in topic.configs.items()
        ],
    )


def describe_topics(
    names: Sequence[str] | None = None, *, ids: Sequence[str] | None = None
) -> Operation[list[TopicDescription]]:
    """Describe these topics, by name or by id, or all with the internal ones; in order of name.

    An id is the text of `TopicDescription.topic_id`. Raises ApiError for an unknown topic, ValueError for a
    text that is no id.
    """
    _check_listed(names, ids)
    if ids is None:
        send = Send(ToAny(), metadata_request(names), highest=METADATA_VERSION_MAX)
    elif names is not None:
        raise ValueError("topics are described by name or by id, not by both")
    else:
        request = metadata_request_by_id(ids)
        send = Send(ToAny(), request, highest=METADATA_VERSION_MAX, lowest=_FIRST_METADATA_WITH_IDS)
    described = described_topics((yield from ask(send, MetadataResponse, _metadata_codes)))
    if ids is not None:
        wanted = {render_uuid(_topic_id(one)) for one in ids}
        told = {one.topic_id: one for one in described if one.topic_id in wanted}
    elif names is not None:
        wanted = set(names)
        told = {one.name: one for one in described if one.name in wanted}
    else:
        return described
    check_all_told((f"topic {one}" for one in sorted(wanted)), {f"topic {one}" for one in told})
    return list(told.values())


def await_leaders(name: str, partitions: int, *, looks: int = KNOWN_LOOKS) -> Operation[bool]:
    """Whether the brokers know so many partitions of a topic (-1: any), each with a leader; looks repeatedly.

    A broker of Apache Kafka learns of the controller's decision a moment after the answer to the request.
    Raises ApiError for a refusal that does not pass.
    """
    for number in range(looks):
        try:
            (found,) = yield from describe_topics([name])
        except ApiError as unknown:
            if not unknown.code.is_retriable:
                raise
            error = unknown
        else:
            led = [one for one in found.partitions if one.leader != NO_BROKER]
            if len(led) >= max(1, partitions):
                return True
            error = ApiError(ErrorCode.LEADER_NOT_AVAILABLE, f"topic {name} has no leaders yet")
        if number + 1 < looks:
            yield Pause(number, error)
    return False


def list_topics(*, internal: bool = False) -> Operation[list[str]]:
    """The names of all topics, in order, without or with the internal ones."""
    send = Send(ToAny(), metadata_request(None), highest=METADATA_VERSION_MAX)
    answer = yield from ask(send, MetadataResponse, lambda _: [])
    return sorted(one.name or "" for one in answer.topics if internal or not one.is_internal)


def create_topics(topics: Sequence[NewTopic], *, validate_only: bool = False) -> Operation[None]:
    """Create topics, or only find out whether they could be created.

    Raises ElementsRefused if one is refused; the message says which others were created. Raises ValueError
    for a topic that is named twice.
    """
    if not isinstance(topics, Iterable) or not all(isinstance(one, NewTopic) for one in topics):
        raise TypeError("topics to create are a list of NewTopic, also a single one")
    by_name = {one.name: one for one in topics}
    if len(by_name) < len(topics):
        raise ValueError("a topic is named more than once")

    def request(names: Sequence[str]) -> Message:
        wanted = [creation(by_name[one]) for one in names]
        return CreateTopicsRequest(wanted, REQUEST_TIMEOUT_MS, validate_only)

    def answered(answer: CreateTopicsResponse, _: Sequence[str]) -> Answered[str, None]:
        for one in answer.topics:
            yield one.name, one.error_code, one.error_message, None

    requests = at_once(ToController(), request)
    results: Results[str, None] = yield from ask_each(by_name, requests, CreateTopicsResponse, answered)
    results.all_or_raise("validated" if validate_only else "created")


def create_topic(
    name: str,
    *,
    partitions: int = -1,
    replication_factor: int = -1,
    configs: Mapping[str, str] | None = None,
) -> Operation[None]:
    """Create a topic; -1 leaves partitions or replicas to the broker's defaults."""
    yield from create_topics([NewTopic(name, partitions, replication_factor, configs or {})])


def delete_topics(names: Sequence[str] = (), *, ids: Sequence[str] = ()) -> Operation[None]:
    """Delete topics with everything in them, by name and by id.

    A topic that was deleted and created again has another id, and is not deleted by the old one. Raises
    ElementsRefused if one is refused; the message says which others were deleted. Raises ValueError for a
    text that is no id.
    """
    _check_listed(names, ids)
    by_id = {one: _topic_id(one) for one in ids}

    def request(some: Sequence[str]) -> Message:
        states = [
            DeleteTopicState(None, by_id[one]) if one in by_id else DeleteTopicState(one) for one in some
        ]
        return DeleteTopicsRequest(list(some), states, REQUEST_TIMEOUT_MS)

    def answered(answer: DeleteTopicsResponse, _: Sequence[str]) -> Answered[str, None]:
        for one in answer.responses:
            told_id = render_uuid(one.topic_id)
            yield (
                told_id if told_id in by_id else one.name or "",
                one.error_code,
                one.error_message,
                None,
            )

    requests = at_once(ToController(), request, lowest=_FIRST_DELETION_WITH_IDS if ids else 0)
    results: Results[str, None] = yield from ask_each(
        [*names, *ids], requests, DeleteTopicsResponse, answered
    )
    results.all_or_raise("deleted")


def create_partitions(
    totals: Mapping[str, int],
    *,
    assignments: Mapping[str, Sequence[Sequence[BrokerId]]] | None = None,
    validate_only: bool = False,
) -> Operation[None]:
    """Raise the number of partitions of topics to these totals.

    `assignments` names the brokers of each partition that a topic gets, in order; the first one is preferred
    as the leader. Raises ElementsRefused if one is refused; the message says which others were changed.
    """
    placed = assignments or {}
    if not placed.keys() <= totals.keys():
        raise ValueError(f"assignments of topics without a total: {sorted(placed.keys() - totals.keys())}")

    def request(names: Sequence[str]) -> Message:
        wanted = [
            CreatePartitionsTopic(
                name,
                totals[name],
                [CreatePartitionsAssignment(list(brokers)) for brokers in placed[name]]
                if name in placed
                else None,
            )
            for name in names
        ]
        return CreatePartitionsRequest(wanted, REQUEST_TIMEOUT_MS, validate_only)

    def answered(answer: CreatePartitionsResponse, _: Sequence[str]) -> Answered[str, None]:
        for one in answer.results:
            yield one.name, one.error_code, one.error_message, None

    requests = at_once(ToController(), request)
    results: Results[str, None] = yield from ask_each(totals, requests, CreatePartitionsResponse, answered)
    results.all_or_raise("validated" if validate_only else "changed")


def _check_listed(*several: Sequence[str] | None) -> None:
    """Check that a text is not taken for the names of its letters. Raises TypeError."""
    for given in several:
        if isinstance(given, str):
            raise TypeError(f"topics are named in a list, also a single one: [{given!r}]")


def _topic_id(text: str) -> UUID:
    found = parse_uuid(text)
    if found is None:
        raise ValueError(f"{text!r} is no id of a topic")
    return found


def _metadata_codes(answer: MetadataResponse) -> list[int]:
    return [one.error_code for one in answer.topics]
