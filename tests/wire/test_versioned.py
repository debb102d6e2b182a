import importlib
import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.serial import entity_writer

from odradek.base.errors import MalformedRequest
from odradek.wire.message import Message
from odradek.wire.messages.consumer_offsets import (
    GroupMetadataKey,
    GroupMetadataValue,
    MemberMetadata,
    OffsetCommitKey,
    OffsetCommitValue,
)
from odradek.wire.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    TopicPartition,
)
from odradek.wire.messages.control_records import ControlRecordKey, EndTxnMarker
from odradek.wire.messages.transaction_state import PartitionsSchema, TransactionLogKey, TransactionLogValue
from odradek.wire.versioned import decode_foreign, decode_versioned, encode_versioned, version_of

# Written down by hand from the layouts of Kafka's record formats.
KNOWN_BYTES = [
    pytest.param(OffsetCommitKey("g1", "t", 3), 1, "0001 0002 6731 0001 74 00000003", id="OffsetCommitKey"),
    pytest.param(
        OffsetCommitValue(offset=5, leader_epoch=2, metadata="m", commit_timestamp=9),
        3,
        "0003 0000000000000005 00000002 0001 6d 0000000000000009",
        id="OffsetCommitValue",
    ),
    pytest.param(
        OffsetCommitValue(offset=5, metadata="", commit_timestamp=9, expire_timestamp=10),
        1,
        "0001 0000000000000005 0000 0000000000000009 000000000000000a",
        id="OffsetCommitValue v1",
    ),
    pytest.param(GroupMetadataKey("g"), 2, "0002 0001 67", id="GroupMetadataKey"),
    pytest.param(
        GroupMetadataValue(
            protocol_type="consumer",
            generation=1,
            protocol="range",
            leader=None,
            current_state_timestamp=7,
            members=[MemberMetadata("m", None, "c", "/h", 60_000, 10_000, b"\1", b"")],
        ),
        3,
        "0003 0008 636f6e73756d6572 00000001 0005 72616e6765 ffff 0000000000000007 00000001"
        "0001 6d ffff 0001 63 0002 2f68 0000ea60 00002710 00000001 01 00000000",
        id="GroupMetadataValue",
    ),
    pytest.param(TransactionLogKey("x"), 0, "0000 0001 78", id="TransactionLogKey"),
    pytest.param(
        TransactionLogValue(
            producer_id=4,
            producer_epoch=1,
            transaction_timeout_ms=60_000,
            transaction_status=1,
            transaction_partitions=[PartitionsSchema("t", [0])],
            transaction_last_update_timestamp_ms=8,
            transaction_start_timestamp_ms=7,
        ),
        0,
        "0000 0000000000000004 0001 0000ea60 01 00000001 0001 74 00000001 00000000"
        "0000000000000008 0000000000000007",
        id="TransactionLogValue",
    ),
    pytest.param(ControlRecordKey(type=1), 0, "0000 0001", id="ControlRecordKey"),
    pytest.param(EndTxnMarker(coordinator_epoch=3), 0, "0000 00000003", id="EndTxnMarker"),
]


@pytest.mark.parametrize(("message", "version", "expected"), KNOWN_BYTES)
def test_stored_messages_have_the_bytes_of_kafkas_formats(
    message: Message, version: int, expected: str
) -> None:
    data = bytes.fromhex(expected.replace(" ", ""))
    assert encode_versioned(message, version) == data
    assert version_of(data) == version
    assert decode_versioned(type(message), data) == message


@given(
    st.integers(0, 3), st.lists(st.text(max_size=3), max_size=2), st.one_of(st.none(), st.binary(max_size=3))
)
def test_what_members_tell_each_other_is_that_of_kio(
    version: int, topics: list[str], user_data: bytes | None
) -> None:
    owned = [TopicPartition(topic, [0, 1]) for topic in topics]
    ours = (
        ConsumerProtocolSubscription(topics, user_data, owned, 5, "r"),
        ConsumerProtocolAssignment(owned, user_data),
    )
    for message in ours:
        folder = "consumer_protocol_" + type(message).__name__.removeprefix("ConsumerProtocol").lower()
        module = importlib.import_module(f"kio.schema.{folder}.v{version}.data")
        pair: Any = getattr(module, "TopicPartition", None)
        pairs = tuple(pair(topic=topic, partitions=(0, 1)) for topic in topics) if pair is not None else ()
        theirs: Any
        if isinstance(message, ConsumerProtocolAssignment):
            theirs = module.ConsumerProtocolAssignment(assigned_partitions=pairs, user_data=user_data)
        else:
            later = {"owned_partitions": pairs, "generation_id": 5, "rack_id": "r"}
            fields = dict(list(later.items())[:version])
            theirs = module.ConsumerProtocolSubscription(topics=tuple(topics), user_data=user_data, **fields)
        with io.BytesIO() as stream:
            entity_writer(type(theirs))(stream, theirs)
            assert message.encode(version) == stream.getvalue()


@pytest.mark.parametrize("data", [b"", b"\0", b"\0\7", b"\xff\xff", b"\0\2\0"])
def test_a_version_that_is_missing_or_unknown_is_malformed(data: bytes) -> None:
    with pytest.raises(MalformedRequest):
        decode_versioned(GroupMetadataKey, data)


def test_a_later_version_of_a_client_is_read_as_the_latest_known() -> None:
    subscription = ConsumerProtocolSubscription(topics=["t"])
    highest = ConsumerProtocolSubscription.VERSIONS.highest
    known = encode_versioned(subscription, highest)
    later = (highest + 1).to_bytes(2, "big") + known[2:] + b"what we know nothing of"
    assert decode_foreign(ConsumerProtocolSubscription, known) == subscription
    assert decode_foreign(ConsumerProtocolSubscription, later) == subscription


@pytest.mark.parametrize("data", [b"", b"\0", b"\xff\xff\0\0\0\0", b"\0\1\0\0"])
def test_what_is_no_message_of_a_client_is_malformed(data: bytes) -> None:
    with pytest.raises(MalformedRequest):
        decode_foreign(ConsumerProtocolSubscription, data)
