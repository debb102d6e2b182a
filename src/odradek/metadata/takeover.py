"""Takes over the log directories of an Apache Kafka broker: one metadata file makes them Odradek's.

    plan_takeover(["/var/lib/kafka"])     reads everything, changes nothing
    take_over(["/var/lib/kafka"])         the same, and writes the metadata file

Odradek uses Kafka's formats of logs, checkpoints and `meta.properties`, so a takeover leaves them unchanged,
and KRaft's metadata log, too: Kafka can be started on them again. The metadata file is written under another
name and renamed when it is complete, so a failed takeover has changed nothing.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID, uuid4, uuid5

from odradek.base.errors import DataDirectoryError, LogError, MalformedRequest, SettingError
from odradek.base.ids import NO_BROKER, BrokerId, LeaderEpoch, ProducerId, TopicPartition
from odradek.base.settings import GROUP_SETTINGS, TOPIC_SETTINGS
from odradek.base.settings.definition import Setting
from odradek.base.settings.protection import unkept_promise
from odradek.base.system_errors import reason_of
from odradek.base.topic_names import KRAFT_METADATA_TOPIC
from odradek.base.uuids import render_uuid
from odradek.metadata import codec, paths
from odradek.metadata.codec import ProducerIdBlockDocument
from odradek.metadata.controller.producer_ids import PRODUCER_ID_BLOCK_SIZE
from odradek.metadata.embedded import METADATA_FILE, EmbeddedEngine
from odradek.metadata.image import NO_CONTROLLER_EPOCH, PartitionImage
from odradek.metadata.kraft.image import (
    BROKER_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
    KraftImage,
    KraftPartition,
    KraftTopic,
    image_of,
)
from odradek.metadata.kraft.records import committed_records
from odradek.metadata.store import Committed, Create, Multi
from odradek.storage import file_names
from odradek.storage.checkpoint import read_epochs
from odradek.storage.files import FileSystem
from odradek.storage.kraft_log import has_metadata_log, metadata_values
from odradek.storage.meta_properties import (
    MetaProperties,
    read_meta_properties,
    write_meta_properties,
)
from odradek.storage.os_files import OsFileSystem
from odradek.storage.partition_metadata import read_topic_id
from odradek.storage.reading import PartitionFiles, topic_partitions

_TEMPORARY_SUFFIX = ".import"
_OPERATIONS_AT_ONCE = 1000
# More ids than a cluster gives out.
PRODUCER_ID_DISTANCE = 1 << 32
_REMOTE_STORAGE = "remote.storage.enable"


@dataclass(frozen=True, slots=True)
class TakenPartition:
    """One partition that is taken over."""

    directory: str
    """Of its log, below a log directory."""
    leader_epoch: LeaderEpoch
    """The highest that the quorum or the log knows."""
    size_bytes: int


@dataclass(slots=True)
class TakenTopic:
    """One topic that is taken over, with its id."""

    name: str
    topic_id: UUID
    partitions: dict[int, TakenPartition]
    settings: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Takeover:
    """The plan of a takeover, and what it cannot take over."""

    directories: list[str]
    cluster_id: str
    node_id: BrokerId
    topics: list[TakenTopic] = field(default_factory=list)
    broker_settings: dict[BrokerId | None, dict[str, str]] = field(default_factory=dict)
    group_settings: dict[str, dict[str, str]] = field(default_factory=dict)
    next_producer_id: ProducerId = 0
    unmarked: list[str] = field(default_factory=list)
    """Directories without `meta.properties`, which get one."""
    notes: list[str] = field(default_factory=list)
    """Sentences about differences from the Kafka broker."""

    @property
    def metadata_file(self) -> Path:
        """The metadata file that is written."""
        return Path(self.directories[0]) / METADATA_FILE

    @property
    def written_files(self) -> list[str]:
        """All files that are written."""
        marks = [f"{path}/{file_names.META_PROPERTIES}" for path in self.unmarked]
        return [str(self.metadata_file), *marks]


# --- planning


def plan_takeover(directories: Sequence[str]) -> Takeover:
    """Read what Kafka left in all log directories of one broker. Changes nothing.

    Raises DataDirectoryError when they cannot be taken over, with the reason.
    """
    listed = _listed(directories)
    with _locked(listed):
        return _plan(OsFileSystem(read_only=True), listed)


def take_over(directories: Sequence[str]) -> Takeover:
    """`plan_takeover`, and write the metadata file. Raises DataDirectoryError, with nothing changed."""
    listed = _listed(directories)
    with _locked(listed):
        plan = _plan(OsFileSystem(read_only=True), listed)
        _carry_out(plan)
    return plan


def _listed(directories: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(path.rstrip("/") or "/" for path in directories))


@contextmanager
def _locked(directories: Sequence[str]) -> Iterator[None]:
    """Hold the locks of the log directories, which a running Kafka or Odradek holds."""
    disk = OsFileSystem()
    with ExitStack() as held:
        for path in directories:
            if not disk.exists(f"{path}/{file_names.LOCK}"):
                continue  # No broker was ever started here; `_marked` says what is wrong.
            try:
                lock = disk.lock(f"{path}/{file_names.LOCK}")
            except OSError as error:
                reason = reason_of(error)
                raise DataDirectoryError(f"cannot lock {path}: {reason}") from error
            if lock is None:
                raise DataDirectoryError(f"{path} is in use by a running broker: stop it first")
            held.callback(lock.release)
        yield


def _plan(disk: FileSystem, listed: list[str]) -> Takeover:
    try:
        marked = _marked(disk, listed)
        image = _kraft_image(disk, listed)
        plan = _plan_for_owner(listed, marked, image)
        logs = _logs_in(disk, listed)
        if image is None:
            plan.notes.append(
                "there is no KRaft metadata log: settings of topics are not known and begin at their defaults"
            )
            image = _image_of_logs(disk, logs, plan.node_id)
        _take_topics(disk, plan, image, logs)
        _take_settings(plan, image)
        plan.next_producer_id = _producer_ids_from(disk, image, logs)
        for path in listed:
            if not disk.exists(f"{path}/{file_names.CLEAN_SHUTDOWN}"):
                plan.notes.append(f"{path} was not stopped cleanly: the first start recovers its logs")
    except OSError as error:
        raise DataDirectoryError(f"cannot read {error.filename}: {(error.strerror or '').lower()}") from error
    except (LogError, MalformedRequest) as error:
        raise DataDirectoryError(f"the KRaft metadata log cannot be read: {error}") from error
    return plan


def _marked(disk: FileSystem, directories: Sequence[str]) -> dict[str, MetaProperties]:
    """What the directories' `meta.properties` hold; one without that file is left out."""
    found: dict[str, MetaProperties] = {}
    for path in directories:
        if not disk.exists(path):
            raise DataDirectoryError(f"there is no directory {path}")
        if disk.exists(f"{path}/{METADATA_FILE}"):
            raise DataDirectoryError(
                f"{path} is Odradek's already: {METADATA_FILE} is there. To take over what Kafka has changed"
                " since, move that file away first"
            )
        properties = read_meta_properties(disk, path)
        if properties is None:
            continue
        if properties.cluster_id is None or properties.node_id is None:
            raise DataDirectoryError(f"{path}/{file_names.META_PROPERTIES} names no cluster or no broker")
        found[path] = properties
    return found


def _plan_for_owner(
    directories: list[str], marked: Mapping[str, MetaProperties], image: KraftImage | None
) -> Takeover:
    """A plan without topics, for the cluster and the broker that all the directories belong to."""
    unmarked = [path for path in directories if path not in marked]
    owners = {(one.cluster_id, one.node_id) for one in marked.values()}
    if len(owners) > 1:
        raise DataDirectoryError(f"{', '.join(directories)} belong to different clusters or brokers")
    owner = next(iter(owners), None) or _owner_by_topics(image)
    if owner is None:
        raise DataDirectoryError(
            f"{unmarked[0]} has no {file_names.META_PROPERTIES}, and no KRaft metadata log with topics says"
            " whose it is: if it is a data directory of Kafka, put that file back"
        )
    cluster_id, node_id = owner
    assert cluster_id is not None
    assert node_id is not None
    plan = Takeover(directories, cluster_id, node_id, unmarked=unmarked)
    if unmarked:
        plan.notes.append(
            f"{', '.join(unmarked)} has no {file_names.META_PROPERTIES}: it gets one, of broker {node_id} and"
            f" cluster {cluster_id}; Kafka itself would need its own"
        )
    return plan


def _owner_by_topics(image: KraftImage | None) -> tuple[str, BrokerId] | None:
    """The broker that has a replica of every partition; None unless there is exactly one.

    The cluster's id is in `meta.properties` alone. It is made from a topic's: each look makes the same.
    """
    topics = [] if image is None else list(image.topics.values())
    replicas = [set(one.replicas) for topic in topics for one in topic.partitions.values()]
    if not replicas:
        return None
    brokers = set.intersection(*replicas)
    if len(brokers) != 1:
        return None
    first = min(topic.topic_id for topic in topics)
    return render_uuid(uuid5(first, "the cluster of this topic")), brokers.pop()


def _logs_in(disk: FileSystem, directories: Sequence[str]) -> dict[TopicPartition, str]:
    """The directory of each partition's log; KRaft's own log is none."""
    logs: dict[TopicPartition, str] = {}
    for path in directories:
        for partition in topic_partitions(path, disk):
            if partition.topic == KRAFT_METADATA_TOPIC:
                continue
            if partition in logs:
                raise DataDirectoryError(f"{partition} has a log in {logs[partition]} and one in {path}")
            logs[partition] = f"{path}/{partition}"
    return logs


def _kraft_image(disk: FileSystem, directories: Sequence[str]) -> KraftImage | None:
    for path in directories:
        if has_metadata_log(disk, path):
            return image_of(committed_records(metadata_values(disk, path)))
    return None


def _image_of_logs(disk: FileSystem, logs: Mapping[TopicPartition, str], node_id: BrokerId) -> KraftImage:
    """What the logs say by themselves: topics by the ids in `partition.metadata`."""
    image = KraftImage()
    for partition, path in logs.items():
        topic_id, _ = read_topic_id(disk, f"{path}/{file_names.PARTITION_METADATA}")
        if topic_id is None:
            raise DataDirectoryError(
                f"{path} has no {file_names.PARTITION_METADATA}, and there is no KRaft metadata log"
            )
        topic = image.topics.setdefault(topic_id, KraftTopic(partition.topic, topic_id))
        topic.partitions[partition.partition] = KraftPartition((node_id,), (node_id,), (), 0)
    return image


def _take_topics(
    disk: FileSystem, plan: Takeover, image: KraftImage, logs: Mapping[TopicPartition, str]
) -> None:
    left = dict(logs)
    for topic in sorted(image.topics.values(), key=lambda topic: topic.name):
        settings = image.configs.get((TOPIC_RESOURCE, topic.name), {})
        if settings.get(_REMOTE_STORAGE) == "true":
            raise DataDirectoryError(f"topic {topic.name} has records in remote storage, which is not served")
        taken = TakenTopic(topic.name, topic.topic_id, {})
        for number, partition in sorted(topic.partitions.items()):
            named = TopicPartition(topic.name, number)
            taken.partitions[number] = _take_partition(
                disk, plan, topic, partition, named, left.pop(named, None)
            )
        numbers = list(taken.partitions)
        if numbers != list(range(len(numbers))):
            raise DataDirectoryError(f"topic {topic.name} has the partitions {numbers}: some are missing")
        taken.settings = _known(plan, f"topic {topic.name}", settings, TOPIC_SETTINGS)
        plan.topics.append(taken)
    for named in left:
        plan.notes.append(f"{named} belongs to no topic of the cluster: Odradek sets it aside when it starts")


def _take_partition(
    disk: FileSystem,
    plan: Takeover,
    topic: KraftTopic,
    partition: KraftPartition,
    named: TopicPartition,
    path: str | None,
) -> TakenPartition:
    if plan.node_id not in partition.replicas:
        raise DataDirectoryError(
            f"{named} is not on broker {plan.node_id} but on {', '.join(map(str, partition.replicas))}:"
            " only a broker that has every partition can be taken over"
        )
    if path is None:
        raise DataDirectoryError(
            f"{named} has no log here: name all log directories of broker {plan.node_id}"
        )
    found, _ = read_topic_id(disk, f"{path}/{file_names.PARTITION_METADATA}")
    if found not in (None, topic.topic_id):
        raise DataDirectoryError(
            f"{path} is of another topic of that name, and {named} has no other log here"
        )
    if not partition.is_complete_on(plan.node_id):
        plan.notes.append(
            f"{named} was not in sync on broker {plan.node_id}: its last records may be missing"
        )
    epochs, _ = read_epochs(disk, f"{path}/{file_names.LEADER_EPOCHS}")
    leader_epoch = max([partition.leader_epoch, 0, *(epoch for epoch, _ in epochs[-1:])])
    segments = PartitionFiles(path, disk).segments()
    return TakenPartition(path, leader_epoch, sum(one.size_bytes for one in segments))


def _producer_ids_from(disk: FileSystem, image: KraftImage, logs: Mapping[TopicPartition, str]) -> ProducerId:
    """The first producer id to give out: high enough that Kafka, if started again, gives out no equal ones.

    Kafka would continue from its own last id, and a new producer would be taken for one in the logs. The ids
    given out after an earlier takeover are in the producer snapshots of the logs.
    """
    highest = image.next_producer_id - 1
    for path in logs.values():
        names = [name for name, _ in disk.list_directory(path)]
        offsets = [offset for name in names if (offset := file_names.offset_of_snapshot(name)) is not None]
        if offsets:
            producers = PartitionFiles(path, disk).producers(max(offsets))
            highest = max([highest, *(one.producer_id for one in producers)])
    return (highest + 1) + PRODUCER_ID_DISTANCE


def _take_settings(plan: Takeover, image: KraftImage) -> None:
    for (kind, name), settings in sorted(image.configs.items()):
        if kind == GROUP_RESOURCE:
            plan.group_settings[name] = _known(plan, f"group {name}", settings, GROUP_SETTINGS)
        elif kind == BROKER_RESOURCE and name in ("", str(plan.node_id)):
            about = f"broker {name}" if name else "all brokers"
            kept = {}
            for setting, value in settings.items():
                refused = unkept_promise(setting, value)
                if refused is None:
                    kept[setting] = value
                else:
                    plan.notes.append(f"{setting} of {about} is left out: {refused}")
            plan.broker_settings[int(name) if name else None] = kept
    if image.others.get(_ACCESS_CONTROL_RECORD):
        plan.notes.append(
            "the cluster has access control lists, which are not served: everybody may do everything"
        )


_ACCESS_CONTROL_RECORD = 18


def _known(
    plan: Takeover, about: str, settings: Mapping[str, str], known: Mapping[str, Setting]
) -> dict[str, str]:
    """The settings that exist here and have values that they can take; the others are noted."""
    kept = {}
    for name, value in settings.items():
        if name not in known:
            plan.notes.append(f"{name}={value} of {about} is left out: the setting does not exist here")
            continue
        try:
            known[name].parse(value)
        except SettingError as error:
            plan.notes.append(f"{name} of {about} is left out: {error}")
            continue
        kept[name] = value
    return kept


# --- carrying out


def _carry_out(plan: Takeover) -> None:
    """Write the metadata file, under another name until it is whole."""
    temporary = Path(f"{plan.metadata_file}{_TEMPORARY_SUFFIX}")
    try:
        _remove(temporary)
        engine = EmbeddedEngine(temporary)
        try:
            _write(engine, plan)
        finally:
            engine.close()
        for path in plan.unmarked:
            write_meta_properties(
                OsFileSystem(), path, cluster_id=plan.cluster_id, node_id=plan.node_id, directory_id=uuid4()
            )
        os.replace(temporary, plan.metadata_file)
        OsFileSystem().sync_directory(plan.directories[0])
    except OSError as error:
        raise DataDirectoryError(f"cannot write {plan.metadata_file}: {reason_of(error)}") from error
    finally:
        _remove(temporary)


def _remove(temporary: Path) -> None:
    for suffix in ("", "-wal", "-shm", "-journal", ".lock"):
        Path(f"{temporary}{suffix}").unlink(missing_ok=True)


def _write(engine: EmbeddedEngine, plan: Takeover) -> None:
    session = engine.open_session()
    pending: list[Create] = []

    def flush() -> None:
        result = engine.apply(session, Multi(tuple(pending))).result
        if not isinstance(result, Committed):
            raise DataDirectoryError(f"the metadata of the takeover was not stored: {result}")
        pending.clear()

    for operation in _operations(plan):
        pending.append(operation)
        if len(pending) == _OPERATIONS_AT_ONCE:
            flush()
    flush()
    engine.close_session(session)


def _operations(plan: Takeover) -> Iterator[Create]:
    """The nodes of the whole store, parents first."""
    for root in (*paths.ROOTS, *paths.LATER_ROOTS):
        yield Create(root)
    yield Create(paths.CLUSTER_ID, codec.encode_cluster_id(plan.cluster_id))
    last = plan.next_producer_id - 1
    block = ProducerIdBlockDocument(plan.node_id, last - PRODUCER_ID_BLOCK_SIZE + 1, last)
    yield Create(paths.PRODUCER_ID_BLOCK, codec.encode_producer_id_block(block))
    for broker, settings in plan.broker_settings.items():
        yield Create(paths.broker_config(broker), codec.encode_config(settings))
    for group, settings in plan.group_settings.items():
        yield Create(paths.group_config(group), codec.encode_config(settings))
    for topic in plan.topics:
        yield from _topic_operations(plan, topic)


def _topic_operations(plan: Takeover, topic: TakenTopic) -> Iterator[Create]:
    states = {
        # Without a leader, as after a stop: the first election raises the epoch above all that the logs hold.
        number: PartitionImage((plan.node_id,), (plan.node_id,), NO_BROKER, one.leader_epoch)
        for number, one in topic.partitions.items()
    }
    yield Create(paths.topic_config(topic.name), codec.encode_config(topic.settings))
    yield Create(paths.topic(topic.name), codec.encode_topic(topic.topic_id, states))
    yield Create(paths.partitions(topic.name))
    for number, state in states.items():
        yield Create(paths.partition(topic.name, number))
        yield Create(
            paths.partition_state(topic.name, number), codec.encode_state(state, NO_CONTROLLER_EPOCH)
        )
