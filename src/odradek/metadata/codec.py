"""The documents in the metadata store's nodes: Kafka's JSON, converted to and from the image's values.

Field names, versions and the types of numbers (some are strings) are Kafka's; unknown fields are skipped,
as Kafka skips Odradek's. A node's content is not trusted: anything unexpected raises MalformedNode and no
other error.

    {"version":3,"topic_id":"AAAA...","partitions":{"0":[1,2]},"adding_replicas":{},"removing_replicas":{}}
    {"controller_epoch":1,"leader":1,"version":1,"leader_epoch":0,"isr":[1,2]}
    {"controller_epoch":1,"leader":1,"version":1,"leader_epoch":3,"isr":[1],"elr":[2]}
"""

import base64
import binascii
import json
from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import Any, TypeVar
from uuid import UUID

from odradek.base.errors import OdradekError
from odradek.base.ids import NO_BROKER, NO_EPOCH, BrokerId, LeaderEpoch, ProducerId, TopicId, TopicPartition
from odradek.base.values import value
from odradek.metadata.image import BrokerImage, Endpoint, PartitionImage

T = TypeVar("T")

# The one kind of event that Kafka has for log directories.
_LOG_DIR_FAILED = 1


class MalformedNode(OdradekError):
    """A node of the metadata store whose content does not fit its path."""


@value
class TopicDocument:
    """What `/brokers/topics/T` holds."""

    topic_id: TopicId
    # By partition, the assigned brokers, preferred leader first.
    assignment: Mapping[int, tuple[BrokerId, ...]]
    # By partition, during a reassignment only.
    adding: Mapping[int, tuple[BrokerId, ...]]
    removing: Mapping[int, tuple[BrokerId, ...]]


@value
class StateDocument:
    """What `/brokers/topics/T/partitions/P/state` holds."""

    leader: BrokerId
    leader_epoch: LeaderEpoch
    isr: tuple[BrokerId, ...]
    controller_epoch: int
    # R15e: see `PartitionImage`.
    elr: tuple[BrokerId, ...] = ()
    last_known_leader: BrokerId = NO_BROKER
    unclean_epoch: LeaderEpoch = NO_EPOCH


@value
class ProducerIdBlockDocument:
    """What `/latest_producer_id_block` holds: the last block given out, both ends inclusive."""

    broker_id: BrokerId
    first: ProducerId
    last: ProducerId


@value
class LogDirsDocument:
    """What `/odradek/brokers/N` holds: a registration that the controller has dealt with (R15)."""

    broker_epoch: int
    log_dir_ids: tuple[UUID, ...]
    boot_id: str = ""
    missing_dir_ids: tuple[UUID, ...] = ()


# --- ids


def topic_id_text(topic_id: UUID) -> str:
    """An id as Kafka writes it: base64 for URLs, without padding, 22 characters."""
    return base64.urlsafe_b64encode(topic_id.bytes).decode().rstrip("=")


def topic_id_of(text: str) -> UUID:
    """The inverse of `topic_id_text`. Raises MalformedNode."""
    try:
        return UUID(bytes=base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (ValueError, binascii.Error):
        raise MalformedNode(f"{text!r} is not an id") from None


# --- brokers


def encode_broker(broker: BrokerImage, timestamp_ms: int) -> bytes:
    """`/brokers/ids/N`, version 5. The epoch is not in it: it is the node's making transaction."""
    ends = broker.endpoints
    return _encode(
        {
            "version": 5,
            "host": ends[0].host,
            "port": ends[0].port,
            "jmx_port": -1,
            "timestamp": str(timestamp_ms),
            "endpoints": [f"{end.listener}://{_bracketed(end.host)}:{end.port}" for end in ends],
            "listener_security_protocol_map": {end.listener: end.security_protocol for end in ends},
            **({} if broker.rack is None else {"rack": broker.rack}),
            "features": {},
            "odradek": {
                "log_dir_ids": _id_texts(broker.log_dir_ids),
                "clean_stop": broker.clean_stop,
                "boot_id": broker.boot_id,
                "missing_dir_ids": _id_texts(broker.missing_dir_ids),
            },
        }
    )


def decode_broker(broker_id: BrokerId, data: bytes, epoch: int) -> BrokerImage:
    """The inverse of `encode_broker`. Raises MalformedNode."""

    def read(document: dict[str, Any]) -> BrokerImage:
        protocols = document.get("listener_security_protocol_map", {})
        ours = document.get("odradek", {})
        return BrokerImage(
            broker_id,
            tuple(_endpoint(text, protocols) for text in document["endpoints"]),
            document.get("rack"),
            epoch,
            _ids(ours.get("log_dir_ids", ())),
            bool(ours.get("clean_stop", True)),
            str(ours.get("boot_id", "")),
            _ids(ours.get("missing_dir_ids", ())),
        )

    return _decode(data, read)


def encode_log_dirs(document: LogDirsDocument) -> bytes:
    """`/odradek/brokers/N`."""
    return _encode(
        {
            "version": 1,
            "broker_epoch": document.broker_epoch,
            "log_dir_ids": _id_texts(document.log_dir_ids),
            "boot_id": document.boot_id,
            "missing_dir_ids": _id_texts(document.missing_dir_ids),
        }
    )


def decode_log_dirs(data: bytes) -> LogDirsDocument:
    """The inverse of `encode_log_dirs`. Raises MalformedNode."""
    return _decode(
        data,
        lambda document: LogDirsDocument(
            int(document["broker_epoch"]),
            _ids(document["log_dir_ids"]),
            str(document.get("boot_id", "")),
            _ids(document.get("missing_dir_ids", ())),
        ),
    )


# --- topics and partitions


def encode_topic(topic_id: TopicId, partitions: Mapping[int, PartitionImage]) -> bytes:
    """`/brokers/topics/T`, version 3."""
    return _encode(
        {
            "version": 3,
            "topic_id": topic_id_text(topic_id),
            "partitions": {str(number): state.replicas for number, state in partitions.items()},
            "adding_replicas": _by_partition(partitions, attrgetter("adding_replicas")),
            "removing_replicas": _by_partition(partitions, attrgetter("removing_replicas")),
        }
    )


def decode_topic(data: bytes) -> TopicDocument:
    """The inverse of `encode_topic`. Raises MalformedNode."""
    return _decode(
        data,
        lambda document: TopicDocument(
            topic_id_of(document["topic_id"]),
            _replicas(document["partitions"]),
            _replicas(document.get("adding_replicas", {})),
            _replicas(document.get("removing_replicas", {})),
        ),
    )


def encode_state(state: PartitionImage, controller_epoch: int) -> bytes:
    """`/brokers/topics/T/partitions/P/state`, as written by the controller of that epoch."""
    return encode_state_document(
        StateDocument(
            state.leader,
            state.leader_epoch,
            state.isr,
            controller_epoch,
            state.elr,
            state.last_known_leader,
            state.unclean_epoch,
        )
    )


def encode_state_document(state: StateDocument) -> bytes:
    """`/brokers/topics/T/partitions/P/state`.

    What only Odradek has (R15e) is left out while there is nothing to say.
    """
    document: dict[str, Any] = {
        "controller_epoch": state.controller_epoch,
        "leader": state.leader,
        "version": 1,
        "leader_epoch": state.leader_epoch,
        "isr": state.isr,
    }
    if state.elr:
        document["elr"] = state.elr
    if state.last_known_leader != NO_BROKER:
        document["last_known_leader"] = state.last_known_leader
    if state.unclean_epoch != NO_EPOCH:
        document["unclean_epoch"] = state.unclean_epoch
    return _encode(document)


def decode_state(data: bytes) -> StateDocument:
    """The inverse of `encode_state_document`. Raises MalformedNode."""
    return _decode(
        data,
        lambda document: StateDocument(
            int(document["leader"]),
            int(document["leader_epoch"]),
            tuple(int(broker) for broker in document["isr"]),
            int(document["controller_epoch"]),
            tuple(int(broker) for broker in document.get("elr", ())),
            int(document.get("last_known_leader", NO_BROKER)),
            int(document.get("unclean_epoch", NO_EPOCH)),
        ),
    )


def encode_isr_change(partitions: Iterable[TopicPartition]) -> bytes:
    """`/isr_change_notification/isr_change_N` (R4)."""
    listed = [{"topic": named.topic, "partition": named.partition} for named in partitions]
    return _encode({"version": 1, "partitions": listed})


def decode_isr_change(data: bytes) -> list[TopicPartition]:
    """The inverse of `encode_isr_change`. Raises MalformedNode."""
    return _decode(
        data,
        lambda document: [
            TopicPartition(str(named["topic"]), int(named["partition"])) for named in document["partitions"]
        ],
    )


def encode_log_dir_event(broker_id: BrokerId) -> bytes:
    """`/log_dir_event_notification/log_dir_event_N`: a log directory of that broker has failed (R6)."""
    return _encode({"version": 1, "broker": broker_id, "event": _LOG_DIR_FAILED})


def decode_log_dir_event(data: bytes) -> BrokerId:
    """The inverse of `encode_log_dir_event`. Raises MalformedNode."""
    return _decode(data, lambda document: int(document["broker"]))


# --- settings


def encode_config(overrides: Mapping[str, str]) -> bytes:
    """`/config/topics/T` and `/config/brokers/N`."""
    return _encode({"version": 1, "config": dict(overrides)})


def decode_config(data: bytes) -> dict[str, str]:
    """The inverse of `encode_config`. Raises MalformedNode."""
    return _decode(data, lambda document: {str(k): str(v) for k, v in document["config"].items()})


# --- the cluster


def encode_cluster_id(cluster_id: str) -> bytes:
    """`/cluster/id`."""
    return _encode({"version": "1", "id": cluster_id})


def decode_cluster_id(data: bytes) -> str:
    """The inverse of `encode_cluster_id`. Raises MalformedNode."""
    return _decode(data, _identifier)


def encode_controller(broker_id: BrokerId, timestamp_ms: int) -> bytes:
    """`/controller`, version 2: the controller is not one of a KRaft quorum."""
    document = {"version": 2, "brokerid": broker_id, "timestamp": str(timestamp_ms)}
    return _encode({**document, "kraftControllerEpoch": -1})


def decode_controller(data: bytes) -> BrokerId:
    """The inverse of `encode_controller`. Raises MalformedNode."""
    return _decode(data, lambda document: int(document["brokerid"]))


def encode_controller_epoch(epoch: int) -> bytes:
    """`/controller_epoch`: the plain number."""
    return str(epoch).encode()


def decode_controller_epoch(data: bytes) -> int:
    """The inverse of `encode_controller_epoch`. Raises MalformedNode."""
    try:
        return int(data)
    except ValueError:
        raise MalformedNode(f"{data[:40]!r} is not an epoch") from None


def encode_producer_id_block(block: ProducerIdBlockDocument) -> bytes:
    """`/latest_producer_id_block`; the ids are strings, since JSON's numbers end before them."""
    return _encode(
        {
            "version": 1,
            "broker": block.broker_id,
            "block_start": str(block.first),
            "block_end": str(block.last),
        }
    )


def decode_producer_id_block(data: bytes) -> ProducerIdBlockDocument:
    """The inverse of `encode_producer_id_block`. Raises MalformedNode."""
    return _decode(
        data,
        lambda document: ProducerIdBlockDocument(
            int(document["broker"]), int(document["block_start"]), int(document["block_end"])
        ),
    )


# --- the parts


def _encode(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()


def _decode(data: bytes, read: Callable[[dict[str, Any]], T]) -> T:
    try:
        return read(json.loads(data))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise MalformedNode(f"cannot read {data[:80]!r}: {type(error).__name__} {error}") from None


def _identifier(document: Mapping[str, Any]) -> str:
    identifier = document["id"]
    if not isinstance(identifier, str) or not identifier:
        raise ValueError("a cluster has an id")
    return identifier


def _endpoint(text: str, protocols: Mapping[str, str]) -> Endpoint:
    listener, _, address = text.partition("://")
    host, _, port = address.rpartition(":")
    return Endpoint(listener, protocols.get(listener, listener), host.strip("[]"), int(port))


def _id_texts(ids: Iterable[UUID]) -> list[str]:
    return [topic_id_text(one) for one in ids]


def _ids(texts: Iterable[str]) -> tuple[UUID, ...]:
    return tuple(topic_id_of(text) for text in texts)


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _by_partition(
    partitions: Mapping[int, PartitionImage], pick: Callable[[PartitionImage], tuple[BrokerId, ...]]
) -> dict[str, tuple[BrokerId, ...]]:
    return {str(number): replicas for number, state in partitions.items() if (replicas := pick(state))}


def _replicas(table: Mapping[str, Iterable[int]]) -> dict[int, tuple[BrokerId, ...]]:
    return {int(number): tuple(int(broker) for broker in brokers) for number, brokers in table.items()}
