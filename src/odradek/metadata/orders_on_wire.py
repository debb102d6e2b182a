"""The controller's orders as requests of the wire, and requests read back, both in steps.

LeaderAndIsr 7, StopReplica 4, UpdateMetadata 8: what brokers of Kafka 3.9 send each other under ZooKeeper.
These formats lack some facts, so the receiver does not get them: the epochs and log directories of live
brokers, and the reassignments of partitions in an UpdateMetadata. A deleted topic is announced by a partition
whose leader is -2. Facts that Kafka's formats have no field for, such as the ELR (R15e) and settings (R18),
are in tagged fields with tags from 10000, which a broker that does not know them skips.

    request = yield from to_request(order)        a few microseconds per partition, a hundred in each step
    for part in parts_of(request):                  None, or an order for one partition, or for twenty topics
        ...                                         applied in turn, they have the result of the whole
"""

from collections.abc import Generator, Iterator, Mapping
from dataclasses import replace
from itertools import groupby, islice
from typing import Final, TypeAlias

from odradek.base.error_codes import known_code
from odradek.base.ids import NO_EPOCH, BrokerId, TopicPartition
from odradek.metadata import codec
from odradek.metadata.image import BrokerImage, Endpoint, PartitionImage
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
)
from odradek.metadata.resources import Resource, ResourceType
from odradek.wire.message import Message
from odradek.wire.messages.leader_and_isr import (
    LeaderAndIsrLiveLeader,
    LeaderAndIsrPartitionError,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicError,
    LeaderAndIsrTopicState,
)
from odradek.wire.messages.stop_replica import (
    StopReplicaPartitionError,
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaResponse,
    StopReplicaTopicState,
)
from odradek.wire.messages.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
    UpdateMetadataSettings,
    UpdateMetadataTopicState,
)

OrderRequest: TypeAlias = LeaderAndIsrRequest | StopReplicaRequest | UpdateMetadataRequest
"""One of the controller's orders as a request."""
OrderResponse: TypeAlias = LeaderAndIsrResponse | StopReplicaResponse | UpdateMetadataResponse

LEADER_DURING_DELETE: Final[BrokerId] = -2
FULL: Final = 2
"""The type of an UpdateMetadata that names every topic, and every resource with overrides.

A later order has the partitions of some topics, and the overrides of some resources.
"""
TOPICS_PER_PART: Final = 20
RESOURCES_PER_PART: Final = 5
_NO_LOG_END: Final = LogEnd(NO_EPOCH, NO_EPOCH, -1)
PARTITIONS_PER_STEP: Final = 100

_SECURITY_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
"""By their numbers on the wire."""


# --- out


def to_request(order: Order) -> Generator[None, None, OrderRequest]:
    """The request that says the same."""
    match order:
        case LeaderAndIsr():
            return (yield from _leader_and_isr_request(order))
        case StopReplica():
            return (yield from _stop_replica_request(order))
        case UpdateMetadata():
            return (yield from _update_metadata_request(order))


def _leader_and_isr_request(order: LeaderAndIsr) -> Generator[None, None, LeaderAndIsrRequest]:
    topics: list[LeaderAndIsrTopicState] = []
    by_topic = groupby(order.partitions, key=lambda role: (role.topic_partition.topic, role.topic_id))
    count = 0
    for (name, topic_id), roles in by_topic:
        states: list[LeaderAndIsrPartitionState] = []
        topics.append(LeaderAndIsrTopicState(name, topic_id, states))
        for role in roles:
            state = role.state
            states.append(
                LeaderAndIsrPartitionState(
                    role.topic_partition.partition,
                    state.controller_epoch,
                    state.leader,
                    state.leader_epoch,
                    list(state.isr),
                    state.state_version,
                    list(state.replicas),
                    list(state.adding_replicas),
                    list(state.removing_replicas),
                    role.is_new,
                    eligible_leader_replicas=list(state.elr),
                    last_known_leader=state.last_known_leader,
                    unclean_epoch=state.unclean_epoch,
                )
            )
            count += 1
            if count % PARTITIONS_PER_STEP == 0:
                yield
    return LeaderAndIsrRequest(
        order.controller_id,
        controller_epoch=order.controller_epoch,
        broker_epoch=order.broker_epoch,
        topic_states=topics,
        live_leaders=[LeaderAndIsrLiveLeader(*leader) for leader in order.live_leaders],
    )


def _stop_replica_request(order: StopReplica) -> Generator[None, None, StopReplicaRequest]:
    topics: list[StopReplicaTopicState] = []
    count = 0
    for name, stops in groupby(order.partitions, key=lambda stop: stop.topic_partition.topic):
        states: list[StopReplicaPartitionState] = []
        topics.append(StopReplicaTopicState(name, states))
        for stop in stops:
            number = stop.topic_partition.partition
            states.append(StopReplicaPartitionState(number, stop.leader_epoch, stop.delete))
            count += 1
            if count % PARTITIONS_PER_STEP == 0:
                yield
    return StopReplicaRequest(
        order.controller_id,
        controller_epoch=order.controller_epoch,
        broker_epoch=order.broker_epoch,
        topic_states=topics,
    )


def _update_metadata_request(order: UpdateMetadata) -> Generator[None, None, UpdateMetadataRequest]:
    gone = UpdateMetadataPartitionState(leader=LEADER_DURING_DELETE)
    topics = [UpdateMetadataTopicState(name, partition_states=[gone]) for name in order.gone_topics]
    live = {broker.broker_id for broker in order.live_brokers}
    count = 0
    for topic in order.topics:
        states: list[UpdateMetadataPartitionState] = []
        topics.append(UpdateMetadataTopicState(topic.name, topic.topic_id, states))
        for number, state in topic.partitions.items():
            states.append(
                UpdateMetadataPartitionState(
                    number,
                    state.controller_epoch,
                    state.leader,
                    state.leader_epoch,
                    list(state.isr),
                    state.state_version,
                    list(state.replicas),
                    [replica for replica in state.replicas if replica not in live],
                    list(state.elr),
                    state.last_known_leader,
                    state.unclean_epoch,
                )
            )
            count += 1
            if count % PARTITIONS_PER_STEP == 0:
                yield
    is_full = order.all_topics is not None
    told = {topic.name for topic in order.topics}
    topics.extend(UpdateMetadataTopicState(name) for name in order.all_topics or () if name not in told)
    settings = yield from _settings_on_wire(order)
    return UpdateMetadataRequest(
        order.controller_id,
        type=FULL if is_full else 0,
        controller_epoch=order.controller_epoch,
        broker_epoch=order.broker_epoch,
        topic_states=topics,
        live_brokers=[_broker_on_wire(broker) for broker in order.live_brokers],
        settings=settings,
    )


def _settings_on_wire(order: UpdateMetadata) -> Generator[None, None, list[UpdateMetadataSettings]]:
    """Overrides as the store keeps them: one text may be longer than a string of the wire."""
    settings: list[UpdateMetadataSettings] = []
    for resource, overrides in order.settings.items():
        settings.append(UpdateMetadataSettings(*resource, codec.encode_config(overrides)))
        if len(settings) % RESOURCES_PER_PART == 0:
            yield
    later = (resource for resource in order.all_configured if resource not in order.settings)
    settings.extend(UpdateMetadataSettings(*resource, overrides=None) for resource in later)
    return settings


def _broker_on_wire(broker: BrokerImage) -> UpdateMetadataBroker:
    endpoints = [
        UpdateMetadataEndpoint(
            endpoint.port,
            endpoint.host,
            endpoint.listener,
            _SECURITY_PROTOCOLS.index(endpoint.security_protocol),
        )
        for endpoint in broker.endpoints
    ]
    return UpdateMetadataBroker(broker.broker_id, endpoints, broker.rack, broker.epoch)


# --- in


def parts_of(request: OrderRequest) -> Iterator[Order | None]:
    """Read a request as smaller orders, at least one, in steps; None ends a step that brings no order.

    LeaderAndIsr and StopReplica become one order per partition. UpdateMetadata is split between topics, so
    that a topic is known whole or not at all.
    """
    match request:
        case LeaderAndIsrRequest():
            return _roles_in(request)
        case StopReplicaRequest():
            return _stops_in(request)
        case UpdateMetadataRequest():
            return _facts_in(request)


def _roles_in(request: LeaderAndIsrRequest) -> Iterator[LeaderAndIsr]:
    leaders = tuple(LiveLeader(one.broker_id, one.host_name, one.port) for one in request.live_leaders)

    def order(roles: tuple[LeaderAndIsrPartition, ...]) -> LeaderAndIsr:
        return LeaderAndIsr(
            request.controller_id, request.controller_epoch, request.broker_epoch, roles, leaders
        )

    if not any(topic.partition_states for topic in request.topic_states):
        yield order(())
    for topic in request.topic_states:
        for state in topic.partition_states:
            named = TopicPartition(topic.topic_name, state.partition_index)
            image = PartitionImage(
                tuple(state.replicas),
                tuple(state.isr),
                state.leader,
                state.leader_epoch,
                state.partition_epoch,
                state.controller_epoch,
                tuple(state.adding_replicas),
                tuple(state.removing_replicas),
                tuple(state.eligible_leader_replicas),
                state.last_known_leader,
                state.unclean_epoch,
            )
            yield order((LeaderAndIsrPartition(named, topic.topic_id, image, state.is_new),))


def _stops_in(request: StopReplicaRequest) -> Iterator[StopReplica]:
    def order(stops: tuple[StopReplicaPartition, ...]) -> StopReplica:
        return StopReplica(request.controller_id, request.controller_epoch, request.broker_epoch, stops)

    if not any(topic.partition_states for topic in request.topic_states):
        yield order(())
    for topic in request.topic_states:
        for state in topic.partition_states:
            named = TopicPartition(topic.topic_name, state.partition_index)
            yield order((StopReplicaPartition(named, state.leader_epoch, state.delete_partition),))


def _facts_in(request: UpdateMetadataRequest) -> Iterator[UpdateMetadata | None]:
    part = UpdateMetadata(
        request.controller_id,
        request.controller_epoch,
        request.broker_epoch,
        tuple(_broker_from_wire(broker) for broker in request.live_brokers),
        topics=(),
    )
    topics: list[TopicStates] = []
    gone: list[str] = []
    count = 0
    if request.type == FULL:
        names = tuple(topic.topic_name for topic in request.topic_states if not _is_gone(topic))
        configured = tuple(_resource_in(one) for one in request.settings)
        yield replace(part, all_topics=names, all_configured=configured)
    for settings in _settings_in(request):
        yield replace(part, settings=settings)
    for topic in request.topic_states:
        if _is_gone(topic):
            gone.append(topic.topic_name)
        elif topic.partition_states:
            partitions: dict[int, PartitionImage] = {}
            topics.append(TopicStates(topic.topic_name, topic.topic_id, partitions))
            for state in topic.partition_states:
                partitions[state.partition_index] = PartitionImage(
                    tuple(state.replicas),
                    tuple(state.isr),
                    state.leader,
                    state.leader_epoch,
                    state.zk_version,
                    state.controller_epoch,
                    elr=tuple(state.eligible_leader_replicas),
                    last_known_leader=state.last_known_leader,
                    unclean_epoch=state.unclean_epoch,
                )
                count += 1
                if count % PARTITIONS_PER_STEP == 0:
                    yield None
        if len(topics) + len(gone) == TOPICS_PER_PART:
            yield replace(part, topics=tuple(topics), gone_topics=tuple(gone))
            topics, gone = [], []
    if topics or gone or not (request.topic_states or request.settings):
        yield replace(part, topics=tuple(topics), gone_topics=tuple(gone))


def _settings_in(request: UpdateMetadataRequest) -> Iterator[Mapping[Resource, Mapping[str, str]]]:
    """The overrides that a request brings, a few resources at a time."""
    told = ((_resource_in(one), one.overrides) for one in request.settings if one.overrides is not None)
    while some := list(islice(told, RESOURCES_PER_PART)):
        yield {resource: codec.decode_config(overrides) for resource, overrides in some}


def _resource_in(settings: UpdateMetadataSettings) -> Resource:
    return Resource(ResourceType(settings.resource_type), settings.resource_name)


def _is_gone(topic: UpdateMetadataTopicState) -> bool:
    return any(state.leader == LEADER_DURING_DELETE for state in topic.partition_states)


def _broker_from_wire(broker: UpdateMetadataBroker) -> BrokerImage:
    endpoints = tuple(
        Endpoint(one.listener, _protocol_name(one.security_protocol), one.host, one.port)
        for one in broker.endpoints
    )
    return BrokerImage(broker.id, endpoints, broker.rack, epoch=broker.epoch)


def _protocol_name(number: int) -> str:
    return _SECURITY_PROTOCOLS[number] if 0 <= number < len(_SECURITY_PROTOCOLS) else str(number)


# --- answers


def to_response(request: OrderRequest, outcome: OrderOutcome) -> Generator[None, None, OrderResponse]:
    """The response to a request; where it is refused whole, that is the error of each partition, too."""
    code, count = int(outcome.error_code), 0
    match request:
        case UpdateMetadataRequest():
            return UpdateMetadataResponse(code)
        case LeaderAndIsrRequest():
            topics: list[LeaderAndIsrTopicError] = []
            for topic in request.topic_states:
                errors: list[LeaderAndIsrPartitionError] = []
                topics.append(LeaderAndIsrTopicError(topic.topic_id, errors))
                for state in topic.partition_states:
                    named = TopicPartition(topic.topic_name, state.partition_index)
                    end = outcome.log_ends.get(named, _NO_LOG_END)
                    errors.append(LeaderAndIsrPartitionError(named.partition, outcome.error_of(named), *end))
                    count += 1
                    if count % PARTITIONS_PER_STEP == 0:
                        yield
            return LeaderAndIsrResponse(code, topics)
        case StopReplicaRequest():
            stops: list[StopReplicaPartitionError] = []
            for stopped in request.topic_states:
                for stop in stopped.partition_states:
                    named = TopicPartition(stopped.topic_name, stop.partition_index)
                    stops.append(StopReplicaPartitionError(*named, outcome.error_of(named)))
                    count += 1
                    if count % PARTITIONS_PER_STEP == 0:
                        yield
            return StopReplicaResponse(code, stops)


def outcome_in(request: OrderRequest, response: Message) -> OrderOutcome:
    """What a response says of the request that it answers."""
    match response:
        case LeaderAndIsrResponse():
            assert isinstance(request, LeaderAndIsrRequest), request
            names = {topic.topic_id: topic.topic_name for topic in request.topic_states}
            answers = {
                TopicPartition(names[topic.topic_id], partition.partition_index): partition
                for topic in response.topics
                if topic.topic_id in names
                for partition in topic.partition_errors
            }
            return OrderOutcome(
                known_code(response.error_code),
                {named: known_code(answer.error_code) for named, answer in answers.items()},
                {
                    named: LogEnd(answer.leader_epoch, answer.last_epoch, answer.log_end_offset)
                    for named, answer in answers.items()
                    if answer.leader_epoch != NO_EPOCH
                },
            )
        case StopReplicaResponse():
            errors = {
                TopicPartition(one.topic_name, one.partition_index): known_code(one.error_code)
                for one in response.partition_errors
            }
            return OrderOutcome(known_code(response.error_code), errors)
        case UpdateMetadataResponse():
            return OrderOutcome(known_code(response.error_code))
        case _:
            raise AssertionError(f"no answer to an order: {response!r}")
