"""The very bytes that Apache Kafka 4.1 wrote for groups of confluent-kafka; anything else there and back."""

from itertools import cycle
from uuid import UUID

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from odradek.base.errors import MalformedRequest
from odradek.base.execution import exhaust
from odradek.base.ids import TopicId
from odradek.coordinator.assignors import Assignment
from odradek.coordinator.consumer.assignments import assignment_of, in_order
from odradek.coordinator.consumer.changes import (
    EpochChanged,
    ExpressionChanged,
    GroupChange,
    MemberChanged,
    ResolvedExpression,
    ShareChanged,
    TargetChanged,
    TargetEpochChanged,
)
from odradek.coordinator.consumer.member import AWAY_EPOCH, ClassicTerms, MemberMetadata, Share
from odradek.coordinator.consumer.states import MemberState
from odradek.coordinator.groups.consumer_records import (
    CONSUMER_KEY_VERSIONS,
    ConsumerRecord,
    read_record,
    record_of,
    record_of_in_steps,
)
from odradek.wire.versioned import version_of

T1 = UUID("7507df3e-a95b-4f72-aeb4-d80f4e9497e8")
T2 = UUID("e769d6e2-7c8b-4ad6-8824-cd9dad0d34c4")
A = "6qo80PwwTvS1nIL/zFb+yQ"
A_HEX = "0016 36716f3830507777547653316e494c2f7a46622b7951"
T1_HEX = "7507df3ea95b4f72aeb4d80f4e9497e8"
T2_HEX = "e769d6e27c8b4ad68824cd9dad0d34c4"
# One tagged field, tag 0, one byte: no classic member.
NULL_CLASSIC = b"\x01\x00\x01\x00"


def of(first: set[int], second: set[int] | None = None) -> Assignment:
    return {T1: frozenset(first)} | ({T2: frozenset(second)} if second else {})


KAFKAS: list[tuple[str, str | None, GroupChange]] = [
    ("0003 0002 6731", "0000 00000001 01 00 08 2d9da9c38b44adcb", EpochChanged(1, 3286969960370580939)),
    ("0003 0002 6731", "0000 00000001 00", EpochChanged(1)),
    ("0003 0002 6731", None, EpochChanged(None)),
    (
        f"0005 0002 6731 {A_HEX}",
        "0000 00 00 03 6331 0b 2f3132372e302e302e31 02 03 7431 01 000493e0 00 01 00 01 00",
        MemberChanged(
            A,
            MemberMetadata(
                client_id="c1", client_host="/127.0.0.1", topics=("t1",), rebalance_timeout_ms=300000
            ),
        ),
    ),
    (
        f"0005 0002 6731 {A_HEX}",
        "0000 03 6932 00 03 6332 0b 2f3132372e302e302e31 03 03 7431 03 7432 01 000493e0 06 72616e6765 "
        "01 00 01 00",
        MemberChanged(
            A,
            MemberMetadata(
                instance_id="i2",
                client_id="c2",
                client_host="/127.0.0.1",
                topics=("t1", "t2"),
                rebalance_timeout_ms=300000,
                assignor="range",
            ),
        ),
    ),
    (
        f"0005 0002 6731 {A_HEX}",
        "0000 00 00 03 6333 0b 2f3132372e302e302e31 01 07 285e742e2a29 000493e0 00 01 00 01 00",
        MemberChanged(
            A,
            MemberMetadata(
                client_id="c3", client_host="/127.0.0.1", expression="(^t.*)", rebalance_timeout_ms=300000
            ),
        ),
    ),
    (
        f"0005 0002 6731 {A_HEX}",
        "0000 00 00 02 6b 0b 2f3132372e302e302e31 02 03 7431 01 000493e0 00 01 00 34 01 00002710 02 "
        "13 636f6f70657261746976652d737469636b79 19 000300000001000274310000000000000000ffffffff0000 00 00",
        MemberChanged(
            A,
            MemberMetadata(
                client_id="k",
                client_host="/127.0.0.1",
                topics=("t1",),
                rebalance_timeout_ms=300000,
                classic=ClassicTerms(
                    10000,
                    (
                        (
                            "cooperative-sticky",
                            bytes.fromhex("000300000001000274310000000000000000ffffffff0000"),
                        ),
                    ),
                ),
            ),
        ),
    ),
    (f"0005 0002 6731 {A_HEX}", None, MemberChanged(A, None)),
    ("0006 0002 6731", "0000 00000002 00", TargetEpochChanged(2)),
    ("0006 0002 6731", None, TargetEpochChanged(None)),
    (
        f"0007 0002 6731 {A_HEX}",
        f"0000 02 {T1_HEX} 04 000000000000000100000002 00 00",
        TargetChanged(A, of({0, 1, 2})),
    ),
    (f"0007 0002 6731 {A_HEX}", "0000 01 00", TargetChanged(A, {})),
    (f"0007 0002 6731 {A_HEX}", None, TargetChanged(A, None)),
    (
        f"0008 0002 6731 {A_HEX}",
        f"0000 00000001 00000001 01 02 {T1_HEX} 02 00000002 00 02 {T1_HEX} 03 0000000000000001 00 00",
        ShareChanged(A, Share(1, 1, MemberState.UNREVOKED_PARTITIONS, of({2}), of({0, 1}))),
    ),
    (
        f"0008 0002 6731 {A_HEX}",
        f"0000 fffffffe 00000002 02 02 {T2_HEX} 03 0000000000000001 00 01 00",
        ShareChanged(A, Share(AWAY_EPOCH, 2, MemberState.UNRELEASED_PARTITIONS, {T2: frozenset({0, 1})})),
    ),
    (f"0008 0002 6731 {A_HEX}", None, ShareChanged(A, None)),
    (
        "0010 0002 6731 0006 285e742e2a29",
        "0000 03 03 7431 03 7432 0000000000000019 000001a1fe5b3414 00",
        ExpressionChanged("(^t.*)", ResolvedExpression(frozenset({"t1", "t2"}), 25, 1795268752404)),
    ),
    ("0010 0002 6731 0006 285e742e2a29", None, ExpressionChanged("(^t.*)", None)),
]


def name_of(value: object) -> str:
    return type(value).__name__ if isinstance(value, tuple) else ""


def unhex(text: str | None) -> bytes | None:
    return None if text is None else bytes.fromhex(text)


@pytest.mark.parametrize(("key", "value", "change"), KAFKAS, ids=name_of)
def test_records_of_apache_kafka_are_read_and_written(
    key: str, value: str | None, change: GroupChange
) -> None:
    assert read_record(bytes.fromhex(key), unhex(value)) == ConsumerRecord("g1", change)
    assert record_of("g1", change) == (bytes.fromhex(key), unhex(value))


def test_topics_are_read_in_any_order_and_written_in_that_of_their_ids() -> None:
    """Kafka writes them as its hash table has them, and means the same."""
    key = bytes.fromhex(f"0007 0002 6731 {A_HEX}")
    listed = [f"{T1_HEX} 02 00000002 00", f"{T2_HEX} 03 0000000100000000 00"]
    change = TargetChanged(A, of({2}, {0, 1}))
    for order in (listed, listed[::-1]):
        assert read_record(key, bytes.fromhex(f"0000 03 {' '.join(order)} 00")).change == change
    rising = f"0000 03 {T1_HEX} 02 00000002 00 {T2_HEX} 03 0000000000000001 00 00"
    assert record_of("g1", change) == (key, bytes.fromhex(rising))


def test_what_kafka_up_to_4_0_kept_of_topics_is_passed_over() -> None:
    """KIP-1101 replaced it by a hash in the group's own record."""
    key = bytes.fromhex("0004 0002 6731")
    value = bytes.fromhex(f"0000 02 {T1_HEX} 03 7431 00000003 02 00000000 02 02 72 00 00 00")
    assert read_record(key, value) == ConsumerRecord("g1", None)
    assert read_record(key, None) == ConsumerRecord("g1", None)


# --- anything there and back

texts = st.text(max_size=5)
int32s = st.integers(-(2**31), 2**31 - 1)
int64s = st.integers(-(2**63), 2**63 - 1)
assignments = st.dictionaries(st.uuids(), st.frozensets(st.integers(0, 2**31 - 1), min_size=1), max_size=3)
metadata = st.builds(
    MemberMetadata,
    instance_id=st.none() | texts,
    rack_id=st.none() | texts,
    client_id=texts,
    client_host=texts,
    topics=st.frozensets(texts, max_size=3).map(lambda names: tuple(sorted(names))),
    expression=texts,
    rebalance_timeout_ms=int32s,
    assignor=st.none() | texts,
    classic=st.none()
    | st.builds(
        ClassicTerms,
        st.integers(0, 2**31 - 1),
        st.lists(st.tuples(texts, st.binary(max_size=5)), min_size=1, max_size=3).map(tuple),
    ),
)


def aged(share: Share, ages: list[int]) -> Share:
    """The share with each of its partitions its own for one of these numbers of epochs."""
    held = [(topic, number) for topic, numbers in in_order(share.assigned) for number in numbers]
    since: dict[int, list[tuple[TopicId, list[int]]]] = {}
    for (topic, number), age in zip(held, cycle(ages), strict=False):
        if age and share.epoch - age >= -(1 << 31):
            since.setdefault(share.epoch - age, []).append((topic, [number]))
    return share._replace(earlier=tuple((epoch, assignment_of(since[epoch])) for epoch in sorted(since)))


young = st.builds(
    Share,
    epoch=int32s,
    previous_epoch=int32s,
    state=st.sampled_from(MemberState),
    assigned=assignments,
    revoking=assignments,
    earlier=st.just(()),
)
shares = st.builds(aged, young, st.lists(st.integers(0, 3), min_size=1, max_size=4))
resolved = st.builds(ResolvedExpression, st.frozensets(texts, max_size=3), int64s, int64s)
nothing = st.none()
changes = st.one_of(
    st.builds(EpochChanged, int32s, int64s),
    st.builds(MemberChanged, texts, nothing | metadata),
    st.builds(TargetEpochChanged, nothing | int32s),
    st.builds(TargetChanged, texts, nothing | assignments),
    st.builds(ShareChanged, texts, nothing | shares),
    st.builds(ExpressionChanged, texts, nothing | resolved),
)


@pytest.mark.slow
@given(group_id=texts, change=changes)
def test_every_change_comes_back(group_id: str, change: GroupChange) -> None:
    key, value = record_of(group_id, change)
    assert exhaust(record_of_in_steps(group_id, change)) == (key, value)
    assert version_of(key) in CONSUMER_KEY_VERSIONS
    assert read_record(key, value) == ConsumerRecord(group_id, change)


@pytest.mark.slow
@given(change=changes, tag=st.integers(5, 300), told=st.binary(max_size=4))
def test_fields_that_only_later_versions_know_are_passed_over(
    change: GroupChange, tag: int, told: bytes
) -> None:
    key, value = record_of("g1", change)
    assume(value is not None)
    assert value is not None
    tag_bytes = bytes([tag]) if tag < 128 else bytes([tag & 127 | 128, tag >> 7])
    unknown = tag_bytes + bytes([len(told)]) + told
    if value.endswith(NULL_CLASSIC) and isinstance(change, MemberChanged):
        later = value.removesuffix(NULL_CLASSIC) + b"\x02" + NULL_CLASSIC[1:] + unknown
    elif isinstance(change, EpochChanged) and change.topics_hash:
        later = value[:6] + b"\x02" + value[7:] + unknown
    else:
        assume(not isinstance(change, MemberChanged))
        later = value[:-1] + b"\x01" + unknown
    assert read_record(key, later) == ConsumerRecord("g1", change)


@pytest.mark.slow
@given(change=changes, cut=st.integers(1, 20))
def test_what_is_cut_short_is_refused_and_nothing_else_is_raised(change: GroupChange, cut: int) -> None:
    key, value = record_of("g1", change)
    with pytest.raises(MalformedRequest):
        read_record(key[:-cut], value)
    if value is not None:
        with pytest.raises(MalformedRequest):
            read_record(key, value[:-cut])


# --- what is refused


@pytest.mark.parametrize("version", [0, 1, 2, 9, 15, 17, -1])
def test_keys_of_other_kinds_are_refused_by_name(version: int) -> None:
    key = version.to_bytes(2, "big", signed=True) + bytes.fromhex("0002 6731")
    with pytest.raises(MalformedRequest, match=f"key of version {version} is not of a consumer group"):
        read_record(key, None)


@pytest.mark.parametrize(("key", "value", "change"), KAFKAS, ids=name_of)
def test_values_of_later_versions_are_refused_by_name(
    key: str, value: str | None, change: GroupChange
) -> None:
    if value is not None:
        with pytest.raises(MalformedRequest, match=r"only version.* 0"):
            read_record(bytes.fromhex(key), b"\0\1" + bytes.fromhex(value)[2:])


def test_a_member_in_a_state_that_there_is_not_is_refused() -> None:
    key = bytes.fromhex(f"0008 0002 6731 {A_HEX}")
    with pytest.raises(MalformedRequest, match="in state 127"):
        read_record(key, bytes.fromhex("0000 00000001 00000001 7f 01 01 00"))


@pytest.mark.parametrize("classic", ["07 01 00002710 01 00", "0b 01 ffffffff 02 02 72 01 00 00"])
def test_a_classic_member_without_protocols_or_with_no_timeout_is_refused(classic: str) -> None:
    key = bytes.fromhex(f"0005 0002 6731 {A_HEX}")
    with pytest.raises(MalformedRequest, match="classic member"):
        read_record(key, bytes.fromhex(f"0000 00 00 01 01 01 01 000493e0 00 01 00 {classic}"))


def test_a_record_of_many_topics_is_made_in_steps() -> None:
    wide = {UUID(int=number): frozenset({number, 1}) for number in range(2_000, 0, -1)}
    share = Share(2, 1, MemberState.STABLE, wide, {})
    for change in (
        MemberChanged(A, MemberMetadata(topics=tuple(f"t{number}" for number in range(2_000)))),
        TargetChanged(A, wide),
        ShareChanged(A, share),
    ):
        assert exhaust(record_of_in_steps("g1", change)) == record_of("g1", change)
        if not isinstance(change, MemberChanged):
            assert len(list(record_of_in_steps("g1", change))) >= 10
