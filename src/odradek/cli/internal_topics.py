"""The records of `__consumer_offsets` and `__transaction_state`, decoded for people and scripts.

    key version   record                         of
    0, 1          OffsetCommit                   __consumer_offsets
    2             GroupMetadata                  a classic group
    3 to 8, 16    ConsumerGroup...               a group of the consumer protocol (KIP-848)
    0             TransactionLog                 __transaction_state

Names are those of Kafka's message definitions. A key without a value is a tombstone.
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Final, TypeAlias
from uuid import UUID

from odradek.base.errors import MalformedRequest
from odradek.base.ids import NO_TOPIC_ID
from odradek.base.topic_names import OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC
from odradek.base.uuids import render_uuid
from odradek.cli.output import timed
from odradek.wire.message import Message
from odradek.wire.messages import consumer_group_records as consumer_groups
from odradek.wire.messages import consumer_offsets as offsets
from odradek.wire.messages import transaction_state as transactions
from odradek.wire.messages.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from odradek.wire.versioned import decode_foreign, decode_versioned, version_of

Kinds: TypeAlias = Mapping[int, tuple[type[Message], type[Message]]]
KINDS: Final[Mapping[str, Kinds]] = {
    OFFSETS_TOPIC: {
        0: (offsets.OffsetCommitKey, offsets.OffsetCommitValue),
        1: (offsets.OffsetCommitKey, offsets.OffsetCommitValue),
        2: (offsets.GroupMetadataKey, offsets.GroupMetadataValue),
        3: (consumer_groups.ConsumerGroupMetadataKey, consumer_groups.ConsumerGroupMetadataValue),
        4: (
            consumer_groups.ConsumerGroupPartitionMetadataKey,
            consumer_groups.ConsumerGroupPartitionMetadataValue,
        ),
        5: (consumer_groups.ConsumerGroupMemberMetadataKey, consumer_groups.ConsumerGroupMemberMetadataValue),
        6: (
            consumer_groups.ConsumerGroupTargetAssignmentMetadataKey,
            consumer_groups.ConsumerGroupTargetAssignmentMetadataValue,
        ),
        7: (
            consumer_groups.ConsumerGroupTargetAssignmentMemberKey,
            consumer_groups.ConsumerGroupTargetAssignmentMemberValue,
        ),
        8: (
            consumer_groups.ConsumerGroupCurrentMemberAssignmentKey,
            consumer_groups.ConsumerGroupCurrentMemberAssignmentValue,
        ),
        16: (
            consumer_groups.ConsumerGroupRegularExpressionKey,
            consumer_groups.ConsumerGroupRegularExpressionValue,
        ),
    },
    TRANSACTION_STATE_TOPIC: {0: (transactions.TransactionLogKey, transactions.TransactionLogValue)},
}
"""Internal topic and version of the key to the messages of key and value."""

# What members of classic groups write into the group's record, as Kafka's own clients do.
_EMBEDDED: Final[Mapping[str, type[Message]]] = {
    "subscription": ConsumerProtocolSubscription,
    "assignment": ConsumerProtocolAssignment,
}
_STATES: Final[Mapping[tuple[type[Message], str], tuple[str, ...]]] = {
    (transactions.TransactionLogValue, "transaction_status"): (
        *("Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead"),
        "PrepareEpochFence",
    ),
    (consumer_groups.ConsumerGroupCurrentMemberAssignmentValue, "state"): (
        *("Stable", "UnrevokedPartitions", "UnreleasedPartitions"),
    ),
}
_ABSENT: Final[tuple[object, ...]] = (None, "", -1, [])


@dataclass(frozen=True, slots=True)
class Decoded:
    """One record of an internal topic."""

    record: str
    """Its kind: `OffsetCommit`."""
    key_version: int
    key: dict[str, Any]
    value_version: int | None
    """None for a tombstone."""
    value: dict[str, Any] | None


def decode(topic: str, key: bytes | None, value: bytes | None) -> Decoded:
    """Decode a record of one of the topics in KINDS. Raises MalformedRequest for an unknown one."""
    if key is None:
        raise MalformedRequest("a record without a key")
    version = version_of(key)
    if version not in KINDS[topic]:
        raise MalformedRequest(f"a key of version {version}, which is not known here")
    key_kind, value_kind = KINDS[topic][version]
    return Decoded(
        record=key_kind.__name__.removesuffix("Key"),
        key_version=version,
        key=_fields_of(decode_versioned(key_kind, key)),
        value_version=None if value is None else version_of(value),
        value=None if value is None else _fields_of(decode_versioned(value_kind, value)),
    )


def in_words(document: Mapping[str, Any]) -> str:
    """Returns `group tower, topic flights, partition 0`; empty fields are left out."""
    return ", ".join(
        f"{name.removesuffix('_ms').replace('_', ' ')} {_word(name, value)}"
        for name, value in document.items()
        if value not in _ABSENT
    )


def _word(name: str, value: object) -> str:
    if "timestamp" in name:
        return timed(value)
    if isinstance(value, Mapping):
        return f"({in_words(value)})"
    if isinstance(value, list):
        return f"[{'; '.join(in_words(one) if isinstance(one, Mapping) else str(one) for one in value)}]"
    return str(value)


def _fields_of(message: object) -> dict[str, Any]:
    assert is_dataclass(message), "messages are dataclasses"
    return {one.name: _plain(message, one.name, getattr(message, one.name)) for one in fields(message)}


def _plain(message: object, name: str, value: Any) -> Any:  # noqa: ANN401 - any field of a message
    states = _STATES.get((type(message), name))  # type: ignore[arg-type]
    if states is not None:
        return states[value] if 0 <= value < len(states) else value
    if isinstance(value, UUID):
        return None if value == NO_TOPIC_ID else render_uuid(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return _embedded(_EMBEDDED.get(name), bytes(value))
    if isinstance(value, list):
        return [_fields_of(one) if is_dataclass(one) else one for one in value]
    return _fields_of(value) if is_dataclass(value) else value


def _embedded(kind: type[Message] | None, value: bytes) -> object:
    """Bytes that a client wrote into a record: decoded if written as Kafka's clients do, else in base64."""
    if kind is None or not value:
        return base64.b64encode(value).decode()
    try:
        return _fields_of(decode_foreign(kind, value))
    except MalformedRequest:
        return base64.b64encode(value).decode()
