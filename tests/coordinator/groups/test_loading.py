import random

import pytest

from odradek.base.buffers import Buffer
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import CorruptRecord
from odradek.base.ids import TopicPartition
from odradek.coordinator.classic import GroupState
from odradek.coordinator.groups import CommittedOffset, TransactionalProducer
from odradek.coordinator.groups.log_records import build_batch, group_tombstone, offset_record
from odradek.records.builder import BatchBuilder
from odradek.records.compression import Codec
from odradek.records.control import EndTxnMarker, build_marker
from tests.coordinator.group_bench import GroupBench

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
PRODUCER = TransactionalProducer(9, 0)


def append(bench: GroupBench, batch: Buffer, group_id: str = "g") -> None:
    partition = bench.coordinator._partition_of(group_id)
    topic_partition = TopicPartition("__consumer_offsets", partition)
    appended = bench.log.append(topic_partition, batch, timeout_ms=1, settled=lambda code: None)
    assert (appended.error, appended.outcome) == (ErrorCode.NONE, ErrorCode.NONE)


def test_a_group_is_what_it_was(bench: GroupBench) -> None:
    first, second = bench.member("i-1"), bench.member()
    bench.stable(first, second)
    second.commit({T0: 4}, "half way")
    before = bench.group()
    bench.start()
    after = bench.group()
    assert after is not before
    assert after.state is GroupState.STABLE
    assert after.snapshot() == before.snapshot()
    assert bench.committed() == {T0: 4}
    row = bench.fetched("g", T0)
    assert (row.leader_epoch, row.metadata) == (5, "half way")


def test_members_go_on_as_if_nothing_had_been(bench: GroupBench) -> None:
    first, second = bench.member("i-1"), bench.member()
    bench.stable(first, second)
    bench.start()
    assert first.heartbeat() is ErrorCode.NONE
    assert second.commit({T0: 1}).answer == {T0: ErrorCode.NONE}
    assert second.sync().answer.assignment == second.member_id.encode()
    back = bench.member("i-1")
    assert back.take(back.join()).generation_id == bench.group().generation


def test_sessions_begin_when_a_group_is_loaded(bench: GroupBench) -> None:
    member = bench.member()
    bench.stable(member)
    bench.advance(9_000)
    bench.coordinator.resign_all()
    bench.start()
    bench.advance(9_999)
    assert bench.state() is GroupState.STABLE
    bench.advance(1)
    assert bench.state() is GroupState.EMPTY


def test_a_generation_is_never_given_twice(bench: GroupBench) -> None:
    member = bench.member()
    bench.stable(member)
    member.leave()
    generation = bench.group().generation
    bench.start()
    assert bench.state() is GroupState.EMPTY
    member = bench.member()
    assert member.take(member.join()).generation_id == generation + 1


def test_open_transactions_are_open_again(bench: GroupBench) -> None:
    offset = CommittedOffset(5, 0, "", 1)
    append(bench, build_batch([offset_record("g", T0, offset)], 1, PRODUCER))
    bench.start()
    row = bench.fetched("g", T0)
    assert row.error is ErrorCode.UNSTABLE_OFFSET_COMMIT
    partition = bench.coordinator._partition_of("g")
    bench.coordinator.complete_transaction(partition, 9, committed=True)
    assert bench.committed() == {T0: 5}


@pytest.mark.parametrize(("committed", "offset"), [(True, {T0: 5}), (False, {T0: 1})])
def test_ended_transactions_count_or_not(
    bench: GroupBench, committed: bool, offset: dict[TopicPartition, int]
) -> None:
    bench.commit("g", {T0: 1})
    append(bench, build_batch([offset_record("g", T0, CommittedOffset(5))], 1, PRODUCER))
    append(bench, build_marker(EndTxnMarker(committed, 0), producer_id=9, producer_epoch=0, timestamp_ms=1))
    bench.start()
    assert bench.committed() == offset


def test_a_commit_between_a_transactions_and_its_end_counts(bench: GroupBench) -> None:
    append(bench, build_batch([offset_record("g", T0, CommittedOffset(5))], 1, PRODUCER))
    bench.commit("g", {T0: 3})
    append(bench, build_marker(EndTxnMarker(True, 0), producer_id=9, producer_epoch=0, timestamp_ms=1))
    bench.start()
    assert bench.committed() == {T0: 3}


def test_tombstones_take_groups_back(bench: GroupBench) -> None:
    member = bench.member()
    bench.stable(member)
    append(bench, build_batch([group_tombstone("g")], 1))
    bench.start()
    assert bench.state() is None


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.ZSTD, Codec.LZ4, Codec.SNAPPY])
def test_batches_of_any_codec_are_read(bench: GroupBench, codec: Codec) -> None:
    builder = BatchBuilder(codec=codec)
    for number in range(10):
        builder.append(1, *offset_record("g", T0, CommittedOffset(number)))
    append(bench, builder.build())
    bench.start()
    assert bench.committed() == {T0: 9}


def test_records_that_cannot_be_read_are_left_out(
    bench: GroupBench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.commit("g", {T0: 1})
    builder = BatchBuilder()
    builder.append(1, b"", b"x")
    builder.append(1, b"\0\1\0\1", b"x")
    builder.append(1, b"\0\1\xff\xff\xff", b"x")
    builder.append(1, b"\0\2\0\1g", b"\0\3")
    builder.append(1, offset_record("g", T1, CommittedOffset(1))[0], b"\0\3\0")
    builder.append(1, b"\0\x09what is this", b"x")
    builder.append(1, *offset_record("g", T1, CommittedOffset(2)))
    append(bench, builder.build())
    with caplog.at_level("ERROR"):
        bench.start()
    assert bench.committed() == {T0: 1, T1: 2}
    assert len(caplog.records) == 5


def test_hostile_batches_harm_nobody(bench: GroupBench) -> None:
    """Whatever lies in the log, the partition loads."""
    chance = random.Random(5)
    bench.commit("g", {T0: 1})
    for _ in range(300):
        batch = bytearray(build_batch([offset_record("g", T1, CommittedOffset(1))], 1))
        for _ in range(3):
            batch[chance.randrange(61, len(batch))] = chance.randrange(256)
        append(bench, batch)
    bench.start()
    found = bench.committed()
    assert isinstance(found, dict)
    assert found[T0] == 1


def damage_length(batches: list[bytes]) -> None:
    """The last batch says that it is longer than the log."""
    batches[-1] = batches[-1][:8] + b"\0\1\0\0" + batches[-1][12:]


def refuse_to_read(bench: GroupBench, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(topic_partition: TopicPartition, start: int, max_bytes: int) -> Buffer:
        raise CorruptRecord("the sector cannot be read")

    monkeypatch.setattr(bench.log, "read", read)


@pytest.mark.parametrize("cause", ["no batch", "cannot be read"])
def test_a_partition_that_cannot_be_read_is_not_served(
    bench: GroupBench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, cause: str
) -> None:
    """R19: with a part of its offsets a group would read its topics again; as in Kafka nobody is answered."""
    bench.commit("g", {T0: 1})
    bench.commit("g", {T1: 2})
    (topic_partition,) = bench.log.batches
    whole = bench.log.batches[topic_partition][-1]
    with monkeypatch.context() as patch:
        if cause == "no batch":
            damage_length(bench.log.batches[topic_partition])
        else:
            refuse_to_read(bench, patch)
        bench.start()
    assert bench.committed() is ErrorCode.NOT_COORDINATOR
    assert bench.member().join().answer.error_code == ErrorCode.NOT_COORDINATOR
    assert f"{topic_partition} is not served: its groups cannot be loaded: " in caplog.text
    assert cause in caplog.text
    bench.log.batches[topic_partition][-1] = whole
    bench.coordinator.lead(topic_partition.partition, 2)
    bench.run()
    assert bench.committed() == {T0: 1, T1: 2}


def test_a_batch_that_is_too_large_uncompressed_is_left_out(
    bench: GroupBench, caplog: pytest.LogCaptureFixture
) -> None:
    """It is decompressed in one piece: a few KB may be made to take long."""
    bomb = BatchBuilder(codec=Codec.ZSTD)
    for _ in range(9):
        bomb.append(1, None, bytes(1 << 20))
    append(bench, bytes(bomb.build()))
    append(bench, build_batch([offset_record("g", T0, CommittedOffset(7, -1, "", 0))], 0))
    bench.start()
    assert bench.committed() == {T0: 7}
    assert "is left out: the records take more than 8388608 bytes" in caplog.text
