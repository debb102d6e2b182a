import random
from typing import Any

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import TopicPartition
from odradek.coordinator.classic import GroupState
from odradek.coordinator.groups import CommittedOffset, TransactionalProducer
from odradek.coordinator.groups.log_records import build_batch, group_tombstone, offset_record
from odradek.records.builder import BatchBuilder
from odradek.records.compression import Codec
from odradek.records.control import EndTxnMarker, build_marker

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
PRODUCER = TransactionalProducer(9, 0)


def append(world: Any, batch: Any, group_id: str = "g") -> None:
    partition = world.coordinator._partition_of(group_id)
    topic_partition = TopicPartition("__consumer_offsets", partition)
    appended = world.log.append(topic_partition, batch, timeout_ms=1, settled=lambda code: None)
    assert (appended.error, appended.outcome) == (ErrorCode.NONE, ErrorCode.NONE)


def test_a_group_is_what_it_was(world: Any) -> None:
    first, second = world.member("i-1"), world.member()
    world.stable(first, second)
    second.commit({T0: 4}, "half way")
    before = world.group()
    world.start()
    after = world.group()
    assert after is not before
    assert after.state is GroupState.STABLE
    assert after.snapshot() == before.snapshot()
    assert world.committed() == {T0: 4}
    (row,) = world.coordinator.fetch_offsets("g", [T0], require_stable=True)
    assert (row.leader_epoch, row.metadata) == (5, "half way")


def test_members_go_on_as_if_nothing_had_been(world: Any) -> None:
    first, second = world.member("i-1"), world.member()
    world.stable(first, second)
    world.start()
    assert first.heartbeat() is ErrorCode.NONE
    assert second.commit({T0: 1}).answer == {T0: ErrorCode.NONE}
    assert second.sync().answer.assignment == second.member_id.encode()
    back = world.member("i-1")
    assert back.take(back.join()).generation_id == world.group().generation


def test_sessions_begin_when_a_group_is_loaded(world: Any) -> None:
    member = world.member()
    world.stable(member)
    world.advance(9_000)
    world.coordinator.resign_all()
    world.start()
    world.advance(9_999)
    assert world.state() is GroupState.STABLE
    world.advance(1)
    assert world.state() is GroupState.EMPTY


def test_a_generation_is_never_given_twice(world: Any) -> None:
    member = world.member()
    world.stable(member)
    member.leave()
    generation = world.group().generation
    world.start()
    assert world.state() is GroupState.EMPTY
    member = world.member()
    assert member.take(member.join()).generation_id == generation + 1


def test_open_transactions_are_open_again(world: Any) -> None:
    offset = CommittedOffset(5, 0, "", 1)
    append(world, build_batch([offset_record("g", T0, offset)], 1, PRODUCER))
    world.start()
    (row,) = world.coordinator.fetch_offsets("g", [T0], require_stable=True)
    assert row.error is ErrorCode.UNSTABLE_OFFSET_COMMIT
    partition = world.coordinator._partition_of("g")
    world.coordinator.complete_transaction(partition, 9, committed=True)
    assert world.committed() == {T0: 5}


@pytest.mark.parametrize(("committed", "offset"), [(True, {T0: 5}), (False, {T0: 1})])
def test_ended_transactions_count_or_not(world: Any, committed: bool, offset: Any) -> None:
    world.commit("g", {T0: 1})
    append(world, build_batch([offset_record("g", T0, CommittedOffset(5))], 1, PRODUCER))
    append(world, build_marker(EndTxnMarker(committed, 0), producer_id=9, producer_epoch=0, timestamp_ms=1))
    world.start()
    assert world.committed() == offset


def test_a_commit_between_a_transactions_and_its_end_counts(world: Any) -> None:
    append(world, build_batch([offset_record("g", T0, CommittedOffset(5))], 1, PRODUCER))
    world.commit("g", {T0: 3})
    append(world, build_marker(EndTxnMarker(True, 0), producer_id=9, producer_epoch=0, timestamp_ms=1))
    world.start()
    assert world.committed() == {T0: 3}


def test_tombstones_take_groups_back(world: Any) -> None:
    member = world.member()
    world.stable(member)
    append(world, build_batch([group_tombstone("g")], 1))
    world.start()
    assert world.state() is None


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.ZSTD, Codec.LZ4, Codec.SNAPPY])
def test_batches_of_any_codec_are_read(world: Any, codec: Codec) -> None:
    builder = BatchBuilder(codec=codec)
    for number in range(10):
        builder.append(1, *offset_record("g", T0, CommittedOffset(number)))
    append(world, builder.build())
    world.start()
    assert world.committed() == {T0: 9}


def test_records_that_cannot_be_read_are_left_out(world: Any, caplog: Any) -> None:
    world.commit("g", {T0: 1})
    builder = BatchBuilder()
    builder.append(1, b"", b"x")
    builder.append(1, b"\0\1\0\1", b"x")
    builder.append(1, b"\0\1\xff\xff\xff", b"x")
    builder.append(1, b"\0\2\0\1g", b"\0\3")
    builder.append(1, offset_record("g", T1, CommittedOffset(1))[0], b"\0\3\0")
    builder.append(1, b"\0\x09what is this", b"x")
    builder.append(1, *offset_record("g", T1, CommittedOffset(2)))
    append(world, builder.build())
    with caplog.at_level("ERROR"):
        world.start()
    assert world.committed() == {T0: 1, T1: 2}
    assert len(caplog.records) == 5


def test_hostile_batches_harm_nobody(world: Any) -> None:
    """Whatever lies in the log, the partition loads."""
    chance = random.Random(5)
    world.commit("g", {T0: 1})
    for _ in range(300):
        batch = bytearray(build_batch([offset_record("g", T1, CommittedOffset(1))], 1))
        for _ in range(3):
            batch[chance.randrange(61, len(batch))] = chance.randrange(256)
        append(world, batch)
    world.start()
    found = world.committed()
    assert isinstance(found, dict)
    assert found[T0] == 1


def test_a_batch_that_is_too_large_uncompressed_is_left_out(world: Any, caplog: Any) -> None:
    """It is decompressed in one piece: a few KB may be made to take long."""
    bomb = BatchBuilder(codec=Codec.ZSTD)
    for _ in range(9):
        bomb.append(1, None, bytes(1 << 20))
    append(world, bytes(bomb.build()))
    append(world, build_batch([offset_record("g", T0, CommittedOffset(7, -1, "", 0))], 0))
    world.start()
    assert world.committed() == {T0: 7}
    assert "is left out: the records take more than 8388608 bytes" in caplog.text
