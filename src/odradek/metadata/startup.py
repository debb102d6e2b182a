"""How a broker joins or creates its cluster: processes that load the store into an image.

Each is a generator of store operations (`store.StoreSteps`), so it never waits and works with any engine. In
order: `found_cluster` creates the nodes that a new store lacks, `register_broker` registers the broker, and
`load_image` reads everything and arms watches for later changes. `read_at_start` runs before the logs are
opened.

If a topic lacks some partition states, its creation was interrupted; it is loaded with the states that exist,
and the controller creates the others.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, Generic, NamedTuple, TypeVar

from odradek.base.chance import Chance
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.execution import ITEMS_PER_STEP, Pace, stepwise
from odradek.base.ids import NO_BROKER, BrokerId, TopicPartition
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
    ATTEMPTS_MAX,
    READS_MAX,
    Children,
    Committed,
    Create,
    Data,
    Existence,
    Exists,
    Failed,
    Fault,
    GetChildren,
    GetData,
    Multi,
    NodeStat,
    ReadResult,
    StoreRefused,
    StoreSteps,
    ensure,
    read_children,
    read_data,
    read_many,
)

T = TypeVar("T")

_DOCUMENTS_PER_STEP: Final = 4
"""How many topics are decoded in one step; one with a hundred partitions takes a twelfth of a millisecond."""
_PARTITIONS_PER_GROUP: Final = 1_000
"""How many partitions are read together; what was gathered for them is freed in one step."""


def found_cluster(chance: Chance) -> StoreSteps[str]:
    """Make the root nodes and the cluster's id unless they are there; returns the id."""
    cluster_id = codec.topic_id_text(chance.uuid())
    naming = Create(paths.CLUSTER_ID, codec.encode_cluster_id(cluster_id))
    roots = (*paths.ROOTS, *paths.LATER_ROOTS, *paths.KAFKA_ROOTS)
    fresh = yield Multi((*(Create(path) for path in roots), naming))
    if isinstance(fresh, Committed):
        return cluster_id
    for path in paths.ROOTS:
        yield from ensure(path)
    yield from ensure(naming.path, naming.data)
    found = yield from read_document(paths.CLUSTER_ID, codec.decode_cluster_id)
    assert found is not None, "the id is there, and never deleted"
    return found.value


class Document(NamedTuple, Generic[T]):
    """What a node holds, decoded, with the node's stat."""

    value: T
    stat: NodeStat


def read_document(
    path: str, decode: Callable[[bytes], T], *, watch: bool = False
) -> StoreSteps[Document[T] | None]:
    """Read and decode a node that may be missing. Raises MalformedNode naming it."""
    return document_in(path, (yield from read_data(path, watch=watch)), decode)


def document_in(path: str, found: ReadResult | None, decode: Callable[[bytes], T]) -> Document[T] | None:
    """Decode what was read at `path`; None for a missing node. Raises MalformedNode naming it."""
    if not isinstance(found, Data):
        return None
    try:
        return Document(decode(found.data), found.stat)
    except codec.MalformedNode as malformed:
        raise codec.MalformedNode(f"{path}: {malformed}") from None


class IdInUse(ApiError):
    """The registration of another session stands: DUPLICATE_BROKER_REGISTRATION."""

    def __init__(self, broker_id: BrokerId, epoch: int) -> None:
        super().__init__(
            ErrorCode.DUPLICATE_BROKER_REGISTRATION, f"a broker with the id {broker_id} is registered"
        )
        self.epoch = epoch
        """The epoch of that registration."""


def register_broker(broker: BrokerImage, session: int, timestamp_ms: int) -> StoreSteps[BrokerImage]:
    """Announce a broker for as long as its session lives; returns it with its epoch.

    A node that this session created already, with its answer lost, counts as registered. Raises IdInUse while
    the node of another session stands: that of the broker's former life, or of another broker with the same
    id. A watch on the node tells when it goes.
    """
    path = paths.broker(broker.broker_id)
    data = codec.encode_broker(broker, timestamp_ms)
    for _ in range(ATTEMPTS_MAX):
        result = yield Create(path, data, ephemeral=True)
        if isinstance(result, Failed) and result.fault not in (Fault.NODE_EXISTS, Fault.CONNECTION_LOSS):
            raise StoreRefused(result)
        existence = yield Exists(path, watch=isinstance(result, Failed))
        if isinstance(existence, Failed):
            raise StoreRefused(existence)
        assert isinstance(existence, Existence), existence
        if existence.stat is None:
            if isinstance(result, Failed) and result.fault is Fault.NODE_EXISTS:
                continue  # the other session ended in between
            raise StoreRefused(Failed(Fault.CONNECTION_LOSS, path))
        if existence.stat.owner != session:
            raise IdInUse(broker.broker_id, existence.stat.created_at)
        return codec.decode_broker(broker.broker_id, data, existence.stat.created_at)
    raise StoreRefused(Failed(Fault.NODE_EXISTS, path))


def load_image() -> StoreSteps[ClusterImage]:
    """Read the whole store, level by level, READS_MAX nodes in one trip; the topics READS_MAX at a time.

    Raises codec.MalformedNode naming the node that cannot be read.
    """
    image = ClusterImage()
    yield from _load_roots(image)
    for broker in (yield from load_brokers()).values():
        image.apply(BrokerRegistered(broker))
    topics, deleting, broker_configs, group_configs = yield from _load_names(
        paths.TOPICS, paths.DELETE_TOPICS, paths.BROKER_CONFIGS, paths.GROUP_CONFIGS
    )
    for begin in range(0, len(topics), READS_MAX):
        yield from _load_topics(image, topics[begin : begin + READS_MAX])
    for name in deleting:
        if name in image.topics:
            image.apply(TopicDeletionBegan(name))
    brokers = [paths.broker_of_config(name) for name in broker_configs]
    overrides = yield from _load_configs([paths.broker_config(broker_id) for broker_id in brokers])
    image.apply_all(BrokerConfigChanged(*each) for each in zip(brokers, overrides, strict=True))
    groups = [paths.group_of_config(name) for name in group_configs]
    overrides = yield from _load_configs([paths.group_config(group_id) for group_id in groups])
    image.apply_all(GroupConfigChanged(*each) for each in zip(groups, overrides, strict=True))
    return image


def load_last_registration(broker_id: BrokerId) -> StoreSteps[codec.LogDirsDocument | None]:
    """The registration of a broker that the controller last processed (R15); None before the first."""
    found = yield from read_document(paths.known_log_dirs(broker_id), codec.decode_log_dirs)
    return None if found is None else found.value


class FoundAtStart(NamedTuple):
    """What a broker reads before it opens its logs."""

    image: ClusterImage
    """The cluster, whole."""
    last_registration: codec.LogDirsDocument | None
    """How the controller saw this broker last (R15); None before the first time."""


def read_at_start(broker_id: BrokerId, chance: Chance) -> StoreSteps[FoundAtStart]:
    """Found the cluster if there is none, and read what a broker has to know at first."""
    yield from found_cluster(chance)
    image = yield from load_image()
    return FoundAtStart(image, (yield from load_last_registration(broker_id)))


def load_brokers() -> StoreSteps[dict[BrokerId, BrokerImage]]:
    """The live brokers; leaves a watch on the list of them."""
    ids = [int(name) for name in (yield from read_children(paths.BROKER_IDS, watch=True))]
    found = yield from read_many([GetData(paths.broker(broker_id)) for broker_id in ids])
    brokers: dict[BrokerId, BrokerImage] = {}
    for broker_id, result in zip(ids, found, strict=True):
        broker = _broker_in(broker_id, result)
        if broker is not None:  # else it went while we were reading
            brokers[broker_id] = broker
    return brokers


def _broker_in(broker_id: BrokerId, result: ReadResult) -> BrokerImage | None:
    document = document_in(
        paths.broker(broker_id), result, lambda data: codec.decode_broker(broker_id, data, epoch=-1)
    )
    return None if document is None else replace(document.value, epoch=document.stat.created_at)


def load_states(
    assigned: Mapping[TopicPartition, PartitionImage], *, watch: bool = False
) -> StoreSteps[dict[TopicPartition, PartitionImage]]:
    """Partitions with the states that the store has now; one without a state there has version -1."""
    found = yield from read_many(GetData(paths.partition_state(*named), watch=watch) for named in assigned)
    states: dict[TopicPartition, PartitionImage] = {}

    def keep(entry: tuple[tuple[TopicPartition, PartitionImage], ReadResult]) -> None:
        (named, partition), result = entry
        states[named] = _with_state(named, partition, result)

    yield from stepwise(zip(assigned.items(), found, strict=True), keep)
    return states


def _with_state(named: TopicPartition, assigned: PartitionImage, result: ReadResult) -> PartitionImage:
    found = document_in(paths.partition_state(*named), result, codec.decode_state)
    if found is None:
        return PartitionImage(
            assigned.replicas,
            isr=(),
            leader=NO_BROKER,
            state_version=-1,
            adding_replicas=assigned.adding_replicas,
            removing_replicas=assigned.removing_replicas,
        )
    return replace(
        assigned,
        isr=found.value.isr,
        leader=found.value.leader,
        leader_epoch=found.value.leader_epoch,
        state_version=found.stat.version,
        controller_epoch=found.value.controller_epoch,
        elr=found.value.elr,
        last_known_leader=found.value.last_known_leader,
        unclean_epoch=found.value.unclean_epoch,
    )


def _load_roots(image: ClusterImage) -> StoreSteps[None]:
    """The cluster's id, and its controller."""
    roots = (paths.CLUSTER_ID, paths.CONTROLLER_EPOCH, paths.CONTROLLER)
    found = dict(zip(roots, (yield from read_many([GetData(path) for path in roots])), strict=True))
    cluster_id = document_in(paths.CLUSTER_ID, found[paths.CLUSTER_ID], codec.decode_cluster_id)
    if cluster_id is not None:
        image.apply(ClusterNamed(cluster_id.value))
    epoch = document_in(paths.CONTROLLER_EPOCH, found[paths.CONTROLLER_EPOCH], codec.decode_controller_epoch)
    holder = document_in(paths.CONTROLLER, found[paths.CONTROLLER], codec.decode_controller)
    image.apply(
        ControllerChanged(
            NO_BROKER if holder is None else holder.value,
            NO_CONTROLLER_EPOCH if epoch is None else epoch.value,
        )
    )


def _load_names(*folders: str) -> StoreSteps[list[tuple[str, ...]]]:
    """The names of the children of each folder; a missing one has none."""
    found = yield from read_many([GetChildren(path) for path in folders])
    return [result.names if isinstance(result, Children) else () for result in found]


def _load_topics(image: ClusterImage, names: Sequence[str]) -> StoreSteps[None]:
    found = yield from read_many(GetData(paths.topic(name)) for name in names)
    read = yield from stepwise(
        zip(names, found, strict=True),
        lambda each: (each[0], document_in(paths.topic(each[0]), each[1], codec.decode_topic)),
        per_step=_DOCUMENTS_PER_STEP,
    )
    documents = {name: document.value for name, document in read if document is not None}
    for some in _groups(documents):
        yield from _load_partitions(image, some)
    configs = yield from _load_configs([paths.topic_config(name) for name in documents])
    yield from stepwise(
        zip(documents, configs, strict=True), lambda each: image.apply(TopicConfigChanged(*each))
    )


def _groups(documents: Mapping[str, codec.TopicDocument]) -> Iterator[dict[str, codec.TopicDocument]]:
    """The topics in groups of few partitions, or of one topic."""
    group: dict[str, codec.TopicDocument] = {}
    partitions = 0
    for name, document in documents.items():
        if group and partitions + len(document.assignment) > _PARTITIONS_PER_GROUP:
            yield group
            group, partitions = {}, 0
        group[name] = document
        partitions += len(document.assignment)
    if group:
        yield group


def _load_partitions(image: ClusterImage, documents: Mapping[str, codec.TopicDocument]) -> StoreSteps[None]:
    """Read the states of all partitions of these topics, and add the topics to the image."""
    numbered = ((name, number) for name, topic in documents.items() for number in sorted(topic.assignment))
    assigned = yield from stepwise(numbered, lambda each: _assigned(documents[each[0]], *each))
    partitions: dict[str, dict[int, PartitionImage]] = {name: {} for name in documents}

    def keep(entry: tuple[TopicPartition, PartitionImage]) -> None:
        (name, number), state = entry
        partitions[name][number] = state

    yield from stepwise((yield from load_states(dict(assigned))).items(), keep)
    pace = Pace()
    for name, document in documents.items():
        image.apply(TopicCreated(name, document.topic_id, partitions[name]))
        if pace.is_over(1 + len(partitions[name]) // ITEMS_PER_STEP):
            yield None


def _assigned(document: codec.TopicDocument, name: str, number: int) -> tuple[TopicPartition, PartitionImage]:
    """A partition as its topic's node has it, before its state is read."""
    return TopicPartition(name, number), PartitionImage(
        document.assignment[number],
        isr=(),
        leader=NO_BROKER,
        adding_replicas=document.adding.get(number, ()),
        removing_replicas=document.removing.get(number, ()),
    )


def _load_configs(nodes: Sequence[str]) -> StoreSteps[list[Mapping[str, str]]]:
    """The settings in each of the nodes; a missing one has none."""
    found = yield from read_many(GetData(path) for path in nodes)
    documents = yield from stepwise(
        zip(nodes, found, strict=True), lambda each: document_in(*each, codec.decode_config)
    )
    return [{} if document is None else document.value for document in documents]
