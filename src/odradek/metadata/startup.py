"""How a broker finds or founds its cluster: processes that read the store into an image.

Each is a generator of store operations (`store.Process`), so it neither waits nor knows what engine there
is. In order: `found_cluster` makes what a fresh store lacks, `register_broker` announces the broker, and
`load_image` reads everything, leaving watches where later changes will show.

A topic without a whole set of partition states was not finished by its maker; it is loaded with the states
that are there, and the controller makes the others.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Generic, NamedTuple, TypeVar

from odradek.base.chance import Chance
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.ids import NO_BROKER, BrokerId
from odradek.metadata import codec, paths
from odradek.metadata.image import (
    NO_CONTROLLER_EPOCH,
    BrokerConfigChanged,
    BrokerImage,
    BrokerRegistered,
    ClusterImage,
    ClusterNamed,
    ControllerChanged,
    GroupConfigChanged,
    PartitionImage,
    TopicConfigChanged,
    TopicCreated,
    TopicDeletionBegan,
)
from odradek.metadata.store import (
    Committed,
    Create,
    Existence,
    Exists,
    Failed,
    Fault,
    Multi,
    NodeStat,
    Process,
    StoreRefused,
    ensure,
    read_children,
    read_data,
)

T = TypeVar("T")


def found_cluster(chance: Chance) -> Process[str]:
    """Make the root nodes and the cluster's id unless they are there; returns the id."""
    cluster_id = codec.topic_id_text(chance.uuid())
    naming = Create(paths.CLUSTER_ID, codec.encode_cluster_id(cluster_id))
    fresh = yield Multi((*(Create(path) for path in paths.ROOTS), naming))
    if isinstance(fresh, Committed):
        return cluster_id
    for path in paths.ROOTS:
        yield from ensure(path)
    yield from ensure(naming.path, naming.data)
    found = yield from read_document(paths.CLUSTER_ID, codec.decode_cluster_id)
    assert found is not None, "the id is there, and nobody deletes it"
    return found.value


class Document(NamedTuple, Generic[T]):
    """What a node holds, decoded, with the node's stat."""

    value: T
    stat: NodeStat


def read_document(
    path: str, decode: Callable[[bytes], T], *, watch: bool = False
) -> Process[Document[T] | None]:
    """Read and decode a node that may be missing. Raises MalformedNode naming it."""
    found = yield from read_data(path, watch=watch)
    if found is None:
        return None
    try:
        return Document(decode(found.data), found.stat)
    except codec.MalformedNode as malformed:
        raise codec.MalformedNode(f"{path}: {malformed}") from None


def register_broker(broker: BrokerImage, session: int, timestamp_ms: int) -> Process[BrokerImage]:
    """Announce a broker for as long as its session lives; returns it with its epoch.

    A node that this session made already, with its answer lost, is ours. Raises
    ApiError(DUPLICATE_BROKER_REGISTRATION) when a live broker has that id.
    """
    path = paths.broker(broker.broker_id)
    result = yield Create(path, data := codec.encode_broker(broker, timestamp_ms), ephemeral=True)
    if isinstance(result, Failed) and result.fault not in (Fault.NODE_EXISTS, Fault.CONNECTION_LOSS):
        raise StoreRefused(result)
    existence = yield Exists(path)
    if isinstance(existence, Failed):
        raise StoreRefused(existence)
    assert isinstance(existence, Existence), existence
    if existence.stat is None:
        raise StoreRefused(Failed(Fault.CONNECTION_LOSS, path))
    if existence.stat.owner != session:
        raise ApiError(
            ErrorCode.DUPLICATE_BROKER_REGISTRATION,
            f"a broker with the id {broker.broker_id} is running already, or stopped a moment ago",
        )
    return codec.decode_broker(broker.broker_id, data, existence.stat.created_at)


def load_image() -> Process[ClusterImage]:
    """Read the whole store. Raises codec.MalformedNode naming the node that cannot be read."""
    image = ClusterImage()
    cluster_id = yield from read_document(paths.CLUSTER_ID, codec.decode_cluster_id)
    if cluster_id is not None:
        image.apply(ClusterNamed(cluster_id.value))
    yield from _load_controller(image)
    for broker in (yield from load_brokers()).values():
        image.apply(BrokerRegistered(broker))
    for name in (yield from read_children(paths.TOPICS)):
        yield from _load_topic(image, name)
    for name in (yield from read_children(paths.DELETE_TOPICS)):
        if name in image.topics:
            image.apply(TopicDeletionBegan(name))
    yield from _load_broker_configs(image)
    yield from _load_group_configs(image)
    return image


def load_brokers() -> Process[dict[BrokerId, BrokerImage]]:
    """The live brokers; leaves a watch on their comings and goings."""
    brokers: dict[BrokerId, BrokerImage] = {}
    for name in (yield from read_children(paths.BROKER_IDS, watch=True)):
        broker = yield from load_broker(int(name))
        if broker is not None:  # else it went while we were reading
            brokers[int(name)] = broker
    return brokers


def load_broker(broker_id: BrokerId) -> Process[BrokerImage | None]:
    """One live broker with its epoch, or None when it is not there."""
    found = yield from read_document(
        paths.broker(broker_id), lambda data: codec.decode_broker(broker_id, data, epoch=-1)
    )
    return None if found is None else replace(found.value, epoch=found.stat.created_at)


def load_state(name: str, number: int, assigned: PartitionImage) -> Process[PartitionImage]:
    """A partition with the state that the store has now; one without a state there has version -1."""
    found = yield from read_document(paths.partition_state(name, number), codec.decode_state)
    if found is None:
        return replace(assigned, isr=(), leader=NO_BROKER, state_version=-1)
    return replace(
        assigned,
        isr=found.value.isr,
        leader=found.value.leader,
        leader_epoch=found.value.leader_epoch,
        state_version=found.stat.version,
        controller_epoch=found.value.controller_epoch,
    )


def _load_controller(image: ClusterImage) -> Process[None]:
    epoch = yield from read_document(paths.CONTROLLER_EPOCH, codec.decode_controller_epoch)
    holder = yield from read_document(paths.CONTROLLER, codec.decode_controller)
    image.apply(
        ControllerChanged(
            NO_BROKER if holder is None else holder.value,
            NO_CONTROLLER_EPOCH if epoch is None else epoch.value,
        )
    )


def _load_topic(image: ClusterImage, name: str) -> Process[None]:
    found = yield from read_document(paths.topic(name), codec.decode_topic)
    if found is None:
        return
    document = found.value
    partitions: dict[int, PartitionImage] = {}
    for number in sorted(document.assignment):
        assigned = PartitionImage(
            document.assignment[number],
            isr=(),
            leader=NO_BROKER,
            adding_replicas=document.adding.get(number, ()),
            removing_replicas=document.removing.get(number, ()),
        )
        partitions[number] = yield from load_state(name, number, assigned)
    image.apply(TopicCreated(name, document.topic_id, partitions))
    overrides = yield from _load_config(paths.topic_config(name))
    image.apply(TopicConfigChanged(name, overrides))


def _load_broker_configs(image: ClusterImage) -> Process[None]:
    for name in (yield from read_children(paths.BROKER_CONFIGS)):
        broker_id = paths.broker_of_config(name)
        overrides = yield from _load_config(paths.broker_config(broker_id))
        image.apply(BrokerConfigChanged(broker_id, overrides))


def _load_group_configs(image: ClusterImage) -> Process[None]:
    for name in (yield from read_children(paths.GROUP_CONFIGS)):
        group_id = paths.group_of_config(name)
        overrides = yield from _load_config(paths.group_config(group_id))
        image.apply(GroupConfigChanged(group_id, overrides))


def _load_config(path: str) -> Process[Mapping[str, str]]:
    found = yield from read_document(path, codec.decode_config)
    return {} if found is None else found.value
