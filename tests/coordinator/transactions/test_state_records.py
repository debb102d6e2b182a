import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.base.errors import MalformedRequest
from odradek.base.execution import exhaust
from odradek.base.ids import TopicPartition
from odradek.coordinator.transactions.state import TransactionState
from odradek.coordinator.transactions.state_records import (
    build_batch,
    build_batch_in_steps,
    decode_key,
    decode_value,
    encode_value,
)
from odradek.coordinator.transactions.transaction import TransactionRecord, TransactionVersion
from odradek.records.framing import iter_records
from odradek.records.header import read_header

STORED = [state for state in TransactionState if state <= TransactionState.COMPLETE_ABORT]
ids = st.integers(-1, 2**63 - 1)
times = st.integers(-1, 2**62)


@st.composite
def stored_records(draw: st.DrawFn) -> TransactionRecord:
    state = draw(st.sampled_from(STORED))
    partitions = st.builds(
        TopicPartition, st.sampled_from(["a", "b.c", "__consumer_offsets"]), st.integers(0, 99)
    )
    return TransactionRecord(
        producer_id=draw(ids),
        producer_epoch=draw(st.integers(0, 32767)),
        timeout_ms=draw(st.integers(1, 2**31 - 1)),
        state=state,
        updated_ms=draw(times),
        started_ms=draw(times),
        partitions=frozenset() if state is TransactionState.EMPTY else draw(st.frozensets(partitions)),
        previous_producer_id=draw(ids),
        next_producer_id=draw(ids),
        version=draw(st.sampled_from(TransactionVersion)),
    )


@given(stored_records())
def test_a_record_comes_back_as_it_was(record: TransactionRecord) -> None:
    assert decode_value(encode_value(record)) == record
    assert exhaust(build_batch_in_steps("payments", record, 5)) == build_batch("payments", record, 5)


def test_a_record_of_many_topics_is_made_in_steps() -> None:
    partitions = frozenset(TopicPartition(f"t{number % 700}", number) for number in range(2_000))
    record = TransactionRecord(7, 3, 60_000, TransactionState.ONGOING, 10, partitions=partitions)
    assert len(list(build_batch_in_steps("payments", record, 5))) > 2_000 // 200
    assert exhaust(build_batch_in_steps("payments", record, 5)) == build_batch("payments", record, 5)


def test_kafkas_bytes_of_version_0_are_read() -> None:
    stored = bytes.fromhex(
        "0000"  # version 0
        "0000000000000007"  # producer id
        "0003"  # epoch
        "0000ea60"  # timeout
        "01"  # Ongoing
        "00000001" "000174" "00000002" "00000000" "00000001"  # t: 0, 1
        "000000000000000a" "0000000000000009"  # updated, started
    )  # fmt: skip
    record = decode_value(stored)
    assert (record.producer_id, record.producer_epoch, record.timeout_ms) == (7, 3, 60_000)
    assert (record.state, record.updated_ms, record.started_ms) == (TransactionState.ONGOING, 10, 9)
    assert record.partitions == {TopicPartition("t", 0), TopicPartition("t", 1)}
    assert (record.version, record.next_producer_id) == (TransactionVersion.CLASSIC, -1)


def test_an_id_without_transaction_stores_no_list_of_partitions() -> None:
    empty = TransactionRecord(7, 3, 60_000, TransactionState.EMPTY, 10)
    assert encode_value(empty).hex() == (
        "0001" "0000000000000007" "0003" "0000ea60" "00" "00" "000000000000000a" "ffffffffffffffff" "00"
    )  # fmt: skip


def test_a_batch_holds_key_and_value() -> None:
    record = TransactionRecord(7, 3, 60_000, TransactionState.EMPTY, 10)
    for stored in (record, None):
        batch = build_batch("payments", stored, 5)
        (only,) = iter_records(batch, read_header(batch))
        assert only.key is not None
        assert (only.key.hex(), decode_key(only.key)) == ("00000008" + b"payments".hex(), "payments")
        assert (None if only.value is None else decode_value(only.value)) == stored


def test_keys_of_a_later_kind_are_left_alone() -> None:
    assert decode_key(b"\x00\x01whatever") is None


@pytest.mark.parametrize("state", [6, 7, 42])
def test_states_that_are_never_stored_are_refused(state: int) -> None:
    stored = bytearray(encode_value(TransactionRecord(7, 3, 60_000, TransactionState.EMPTY, 10)))
    stored[16] = state
    with pytest.raises(MalformedRequest, match=f"state {state}"):
        decode_value(stored)


@given(st.binary(max_size=60))
def test_whatever_is_stored_is_understood_or_refused(data: bytes) -> None:
    for decode in (decode_key, decode_value):
        try:
            decode(data)
        except MalformedRequest:
            pass
    assert decode_key(b"\x00\x00\x00\x00") == ""
