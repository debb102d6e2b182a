"""The controller's orders as requests, and back: whole, in steps, and through the wire's bytes."""

from collections.abc import Generator
from dataclasses import replace
from typing import TypeVar
from uuid import UUID

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import NO_BROKER, NO_EPOCH, TopicPartition
from odradek.metadata.image import BrokerImage, ClusterImage, Endpoint, PartitionImage
from odradek.metadata.orders import (
    LeaderAndIsr,
    LeaderAndIsrPartition,
    LiveLeader,
    LogEnd,
    Order,
    OrderOutcome,
    StopReplica,
    StopReplicaPartition,
    TopicStates,
    UpdateMetadata,
    changes_from,
)
from odradek.metadata.orders_on_wire import (
    PARTITIONS_PER_STEP,
    RESOURCES_PER_PART,
    TOPICS_PER_PART,
    OrderRequest,
    outcome_in,
    parts_of,
    to_request,
    to_response,
)
from odradek.metadata.resources import Resource, ResourceType

T = TypeVar("T")
STATE = PartitionImage((1, 2), (1,), 1, 7, 3, 2, elr=(2,), last_known_leader=2, unclean_epoch=6)
NAMES = [TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)]
IDS = {"a": UUID(int=1), "b": UUID(int=2)}


def finished(steps: Generator[None, None, T]) -> tuple[T, int]:
    """What steps return, and how many pauses they made."""
    pauses = 0
    try:
        while True:
            next(steps)
            pauses += 1
    except StopIteration as stop:
        value: T = stop.value
        return value, pauses


def over_the_wire(order: Order) -> OrderRequest:
    request, _ = finished(to_request(order))
    version = request.VERSIONS.highest
    assert request.VERSIONS.lowest == version
    return type(request).decode(request.encode(version), version)


def roles(*names: TopicPartition, state: PartitionImage = STATE) -> LeaderAndIsr:
    named = tuple(LeaderAndIsrPartition(name, IDS[name.topic], state, is_new=True) for name in names)
    return LeaderAndIsr(1, 3, 7, named, (LiveLeader(1, "one.example", 9092),))


def stops(*names: TopicPartition) -> StopReplica:
    return StopReplica(1, 3, 7, tuple(StopReplicaPartition(name, 5, delete=True) for name in names))


def broker(broker_id: int) -> BrokerImage:
    endpoints = (Endpoint("OUT", "SASL_SSL", "out.example", 9093), Endpoint("IN", "PLAINTEXT", "in", 9092))
    return BrokerImage(broker_id, endpoints, rack="r" if broker_id == 1 else None)


def test_roles_arrive_as_they_were_sent_one_partition_at_a_time() -> None:
    reassigned = replace(STATE, replicas=(1, 2, 3), adding_replicas=(3,), removing_replicas=(2,))
    order = roles(*NAMES, state=reassigned)
    parts = list(parts_of(over_the_wire(order)))
    assert parts == [replace(order, partitions=(role,)) for role in order.partitions]


def test_stops_arrive_as_they_were_sent_one_partition_at_a_time() -> None:
    order = stops(*NAMES)
    parts = list(parts_of(over_the_wire(order)))
    assert parts == [replace(order, partitions=(stop,)) for stop in order.partitions]


def test_facts_arrive_as_they_were_sent() -> None:
    leaderless = replace(STATE, leader=NO_BROKER)
    topics = (TopicStates("a", IDS["a"], {0: STATE, 1: leaderless}), TopicStates("b", IDS["b"], {4: STATE}))
    order = UpdateMetadata(1, 3, 7, (broker(1), broker(2)), topics, ("old", "older"))
    assert list(parts_of(over_the_wire(order))) == [order]


def test_the_names_of_all_topics_come_before_anything_of_them() -> None:
    topics = (TopicStates("a", IDS["a"], {0: STATE}),)
    order = UpdateMetadata(1, 3, 7, (broker(1),), topics, ("old",), ("a", "b", "c"))
    names, rest = parts_of(over_the_wire(order))
    assert isinstance(names, UpdateMetadata)
    assert (names.topics, names.gone_topics, set(names.all_topics or ())) == ((), (), {"a", "b", "c"})
    assert rest == replace(order, all_topics=None)


LONG = {Resource(ResourceType.TOPIC, "a"): {"follower.replication.throttled.replicas": "1:2," * 10_000}}


@pytest.mark.parametrize("topics", [(), (TopicStates("a", IDS["a"], {0: STATE}),)])
def test_settings_arrive_as_they_were_sent_before_the_topics(topics: tuple[TopicStates, ...]) -> None:
    """R18: of each kind of resource, taken back ones, and one that is longer than a string of the wire."""
    settings: dict[Resource, dict[str, str]] = {
        **LONG,
        Resource(ResourceType.BROKER, ""): {"log.retention.ms": "1", "foo.bar": "ü"},
        Resource(ResourceType.BROKER, "2"): {},
        Resource(ResourceType.GROUP, "g"): {"consumer.session.timeout.ms": "50000"},
    }
    order = UpdateMetadata(1, 3, 7, (broker(1),), topics, settings=settings)
    first, *rest = parts_of(over_the_wire(order))
    assert first == replace(order, topics=())
    assert rest == [replace(order, settings={})] * len(topics)


def test_many_settings_come_a_few_at_a_time() -> None:
    many = {Resource(ResourceType.GROUP, f"g{n}"): {"a": "1"} for n in range(3 * RESOURCES_PER_PART)}
    order = UpdateMetadata(1, 3, 7, (), (), settings=many)
    request, pauses = finished(to_request(order))
    assert pauses == 3
    parts = [part for part in parts_of(request) if isinstance(part, UpdateMetadata)]
    assert [len(part.settings) for part in parts] == [RESOURCES_PER_PART] * 3
    assert {key: text for part in parts for key, text in part.settings.items()} == many


def test_the_names_of_all_that_has_overrides_come_first() -> None:
    """R18: also of those whose overrides come in a later order."""
    here, later = Resource(ResourceType.TOPIC, "a"), Resource(ResourceType.GROUP, "g")
    settings = {here: {"retention.ms": "1"}}
    order = UpdateMetadata(1, 3, 7, (), (), all_topics=(), settings=settings, all_configured=(later, here))
    first, *rest = parts_of(over_the_wire(order))
    assert isinstance(first, UpdateMetadata)
    assert (first.settings, set(first.all_configured)) == ({}, {here, later})
    assert rest == [replace(order, all_topics=None, all_configured=())]


def test_a_cluster_without_topics_is_told_as_such() -> None:
    names, _ = parts_of(over_the_wire(UpdateMetadata(1, 3, 7, (broker(1),), (), (), ())))
    assert isinstance(names, UpdateMetadata)
    assert names.all_topics == ()


def test_replicas_of_brokers_that_are_not_live_are_told_as_offline() -> None:
    order = UpdateMetadata(1, 3, 7, (broker(1),), (TopicStates("a", IDS["a"], {0: STATE}),))
    request = over_the_wire(order)
    assert request.topic_states[0].partition_states[0].offline_replicas == [2]  # type: ignore[union-attr]


def test_what_the_wire_does_not_carry_is_not_learned() -> None:
    known = replace(broker(1), epoch=9, boot_id="b", log_dir_ids=(UUID(int=5),), clean_stop=False)
    order = UpdateMetadata(1, 3, 7, (known,), ())
    (part,) = parts_of(over_the_wire(order))
    assert isinstance(part, UpdateMetadata)
    assert part.live_brokers == (replace(broker(1), epoch=9),)


@pytest.mark.parametrize("order", [roles(), stops(), UpdateMetadata(1, 3, 7, (), ())])
def test_an_order_that_names_nothing_has_one_part(order: Order) -> None:
    """Its epoch counts."""
    (part,) = parts_of(over_the_wire(order))
    assert part is not None
    assert (part.controller_id, part.controller_epoch, part.broker_epoch) == (1, 3, 7)


def update(image: ClusterImage, order: UpdateMetadata) -> ClusterImage:
    for change in changes_from(order, image):
        image.apply(change)
    return image


def test_facts_in_parts_come_to_the_same_topic_by_topic() -> None:
    states = {0: STATE, 1: STATE}
    topics = [TopicStates(f"t{n}", UUID(int=n), states) for n in range(TOPICS_PER_PART * 3)]
    gone = [f"old{n}" for n in range(TOPICS_PER_PART * 2 + 1)]
    before = [TopicStates(name, UUID(int=1000 + n), {0: STATE}) for n, name in enumerate(gone)]
    order = UpdateMetadata(1, 3, 7, (broker(1),), tuple(topics), tuple(gone))
    earlier = UpdateMetadata(1, 3, 7, (), tuple(before))
    whole, in_parts = (update(ClusterImage(), earlier) for _ in range(2))
    update(whole, order)
    count = 0
    for part in parts_of(over_the_wire(order)):
        if part is None:
            continue
        count += 1
        assert isinstance(part, UpdateMetadata)
        assert len(part.topics) + len(part.gone_topics) <= TOPICS_PER_PART
        update(in_parts, part)
        assert list(in_parts.brokers) == [1]
        assert all(len(topic.partitions) in (1, 2) for topic in in_parts.topics.values())
    assert in_parts == whole
    assert count == 6


def test_a_wide_topic_takes_many_steps_and_comes_whole() -> None:
    width = 10 * PARTITIONS_PER_STEP
    order = UpdateMetadata(1, 3, 7, (), (TopicStates("a", IDS["a"], dict.fromkeys(range(width), STATE)),))
    request, pauses = finished(to_request(order))
    assert pauses == 10
    parts = list(parts_of(request))
    assert parts == [None] * 10 + [order]


@pytest.mark.parametrize("order", [roles(*NAMES), stops(*NAMES)])
def test_the_answer_names_each_partition(order: Order) -> None:
    request = over_the_wire(order)
    outcome = OrderOutcome(
        ErrorCode.NONE,
        {NAMES[0]: ErrorCode.NONE, NAMES[1]: ErrorCode.KAFKA_STORAGE_ERROR, NAMES[2]: ErrorCode.NONE},
    )
    if isinstance(order, LeaderAndIsr):
        outcome = replace(
            outcome, log_ends={NAMES[0]: LogEnd(7, 5, 10**12), NAMES[2]: LogEnd(0, NO_EPOCH, 0)}
        )
    response, _ = finished(to_response(request, outcome))
    version = request.VERSIONS.highest
    assert outcome_in(request, type(response).decode(response.encode(version), version)) == outcome


@pytest.mark.parametrize("order", [roles(*NAMES), stops(*NAMES), UpdateMetadata(1, 3, 7, (), ())])
def test_a_refusal_is_that_of_the_whole_and_of_each_partition(order: Order) -> None:
    """R5a: a broker that reads only one of them knows."""
    request = over_the_wire(order)
    response, _ = finished(to_response(request, OrderOutcome(ErrorCode.STALE_CONTROLLER_EPOCH)))
    read = outcome_in(request, response)
    assert read.error_code is ErrorCode.STALE_CONTROLLER_EPOCH
    assert set(read.partition_errors.values()) <= {ErrorCode.STALE_CONTROLLER_EPOCH}
    assert len(read.partition_errors) == (0 if isinstance(order, UpdateMetadata) else len(NAMES))


def test_an_error_code_from_the_future_is_an_error() -> None:
    request = over_the_wire(UpdateMetadata(1, 3, 7, (), ()))
    response, _ = finished(to_response(request, OrderOutcome()))
    response.error_code = 30_000
    assert outcome_in(request, response).error_code is ErrorCode.UNKNOWN_SERVER_ERROR
