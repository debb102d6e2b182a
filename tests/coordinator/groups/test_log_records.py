"""The very bytes that Kafka writes, so that its tools read ours and we read its."""

import pytest

from odradek.base.errors import MalformedRequest
from odradek.base.ids import TopicPartition
from odradek.coordinator.classic.classic_membership import GroupSnapshot, MemberSnapshot
from odradek.coordinator.groups.log_records import (
    group_record,
    group_tombstone,
    offset_record,
    offset_tombstone,
    read_group,
    read_group_key,
    read_offset,
    read_offset_key,
)
from odradek.coordinator.groups.offsets import CommittedOffset

T3 = TopicPartition("t", 3)
KEY = bytes.fromhex("0001 0002 6731 0001 74 00000003")


def test_an_offset_is_written_in_version_3() -> None:
    key, value = offset_record("g1", T3, CommittedOffset(7, 2, "m", 1_000))
    assert key == KEY
    assert value == bytes.fromhex("0003 0000000000000007 00000002 0001 6d 00000000000003e8")


def test_an_offset_that_expires_by_itself_is_written_in_version_1() -> None:
    offset = CommittedOffset(7, -1, "", 1_000, 2_000)
    value = offset_record("g1", T3, offset)[1]
    assert value == bytes.fromhex("0001 0000000000000007 0000 00000000000003e8 00000000000007d0")
    assert read_offset(value) == offset


@pytest.mark.parametrize(
    "value",
    [
        "0000 0000000000000007 0001 6d 00000000000003e8",
        "0002 0000000000000007 0001 6d 00000000000003e8",
        "0003 0000000000000007 ffffffff 0001 6d 00000000000003e8",
        "0004 0000000000000007 ffffffff 02 6d 00000000000003e8 00",
    ],
)
def test_offsets_are_read_in_every_version(value: str) -> None:
    assert read_offset(bytes.fromhex(value), 5) == CommittedOffset(7, -1, "m", 1_000, log_offset=5)


def test_keys_are_read_again() -> None:
    assert read_offset_key(KEY) == ("g1", T3)
    assert read_offset_key(b"\0\0" + KEY[2:]) == ("g1", T3)
    assert offset_tombstone("g1", T3) == (KEY, None)
    assert group_tombstone("g1") == (bytes.fromhex("0002 0002 6731"), None)
    assert read_group_key(bytes.fromhex("0002 0002 6731")) == "g1"


def test_a_group_comes_back_as_it_was_written() -> None:
    member = MemberSnapshot("m-1", "i", "c", "/10.0.0.1", 10_000, 30_000, b"topics", b"assigned")
    snapshot = GroupSnapshot("consumer", "range", 4, "m-1", 1_000, (member,))
    key, value = group_record("g1", snapshot)
    assert value is not None
    assert value[:2] == b"\0\3"
    assert read_group_key(key) == "g1"
    assert read_group(value) == snapshot


def test_a_member_of_old_has_one_timeout() -> None:
    """Version 0 of a group's record knows no rebalance timeout."""
    value = bytes.fromhex("0000 0001 63 00000001 0001 72 0001 6d 00000001") + bytes.fromhex(
        "0001 6d 0001 63 0001 68 00002710 00000000 00000000"
    )
    (member,) = read_group(value).members
    assert (member.session_timeout_ms, member.rebalance_timeout_ms) == (10_000, 10_000)


def test_a_member_without_a_sensible_timeout_is_refused() -> None:
    member = MemberSnapshot("m", None, "c", "h", -1, -1, b"", b"")
    value = group_record("g", GroupSnapshot("consumer", "range", 1, "m", 0, (member,)))[1]
    assert value is not None
    with pytest.raises(MalformedRequest, match="timeout"):
        read_group(value)
