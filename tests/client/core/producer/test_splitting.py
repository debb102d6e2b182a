"""Batches that a broker finds too large: sent again in parts, each record once and in order."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.base.error_codes import ErrorCode
from odradek.client.core.producer.batch import SEQUENCE_MASK, Batch, Stamp, record_bytes_max
from odradek.client.core.waiting import Cause
from odradek.records.compression import Codec
from odradek.records.framing import Record, RecordHeaders, iter_records
from odradek.records.header import read_header
from tests.client.core.producer.model_broker import ORDERS
from tests.client.core.producer.test_delivery import Rig, stamps, started

Content = tuple[int, bytes | None, bytes | None, RecordHeaders]
BYTES = st.none() | st.binary(max_size=300)
CONTENTS = st.lists(
    st.tuples(
        st.integers(0, 1 << 45),
        BYTES,
        BYTES,
        st.lists(st.tuples(st.binary(max_size=9), BYTES), max_size=2).map(tuple),
    ),
    min_size=2,
    max_size=12,
)


def numbered(rig: Rig, *sizes: int) -> list[bytes]:
    """Append records of these sizes, which differ; returns their values."""
    values = [b"%d " % (len(rig.places) + number) + b"x" * size for number, size in enumerate(sizes)]
    for value in values:
        assert rig.append(value)
    return values


def limited(batch_bytes_max: int, **given: object) -> Rig:
    """A rig whose producer is known, with batches of up to 1,000 bytes and a broker that takes fewer."""
    rig = Rig(**{"linger_ms": 0, "batch_size": 1_000, **given})  # type: ignore[arg-type]
    numbered(rig, 1)
    rig.settle()
    rig.broker.log.clear()
    rig.broker.batch_bytes_max = batch_bytes_max
    return rig


def test_the_halves_of_a_batch_that_is_too_large_take_its_place() -> None:
    rig = limited(350)
    one = numbered(rig, 100, 100, 100, 100)
    rig.core.flush()
    assert stamps(rig.pump()) == [(1, 0, 1)]
    other = numbered(rig, 100)
    rig.core.flush()
    rig.answer()
    assert rig.core.why(rig.now_ms)[0].cause is Cause.RETRY
    assert stamps(rig.pump()) == [(1, 0, 1)], "at once, without a backoff"
    assert rig.pump() == [], "alone"
    rig.answer()
    assert stamps(rig.pump()) == [(1, 0, 3)]
    rig.answer()
    assert stamps(rig.pump()) == [(1, 0, 5)]
    rig.answer()
    assert rig.broker.log == one + other
    assert [rig.outcome(value).records for value in one] == [2, 2, 2, 2]
    assert [rig.outcome(value).first for value in one] == [0, 0, 2, 2]
    assert rig.core.figures(rig.now_ms)["batch-split-total"] == 1
    assert rig.core.figures(rig.now_ms)["record-retry-total"] == 0
    assert rig.core.is_empty


def test_what_was_in_flight_behind_the_batch_stays_behind_its_parts() -> None:
    rig = limited(350)
    values = numbered(rig, *[200] * 12)
    rig.core.flush()
    rig.pump()
    assert len(rig.flight) == 3, "the broker refuses the first as too large, the others as out of order"
    rig.settle()
    assert rig.broker.log == values
    assert rig.broker.producers[1].epoch == 0, "nothing begins again under another epoch"
    assert all(rig.outcome(value).error is None for value in values)


def test_a_batch_of_one_record_fails_it_and_the_others_are_stored() -> None:
    rig = limited(350)
    values = numbered(rig, 100, 400, 100, 50)
    rig.core.flush()
    rig.settle()
    assert rig.broker.log == [values[0], values[2], values[3]]
    error = rig.outcome(values[1]).error
    assert error is not None
    assert error.code is ErrorCode.MESSAGE_TOO_LARGE
    assert [rig.outcome(values[index]).error for index in (0, 2, 3)] == [None, None, None]


def test_only_message_too_large_splits_as_in_kafka() -> None:
    rig = limited(1_000)
    values = numbered(rig, 10, 10)
    rig.core.flush()
    rig.pump()
    rig.answer(ErrorCode.RECORD_LIST_TOO_LARGE)
    codes = [error.code for value in values if (error := rig.outcome(value).error) is not None]
    assert codes == [ErrorCode.RECORD_LIST_TOO_LARGE] * 2


def test_a_split_uses_up_no_retry() -> None:
    rig = limited(90, enable_idempotence=False, retries=1)
    values = numbered(rig, *[10] * 16)
    rig.core.flush()
    rig.settle()
    assert rig.broker.log == values
    numbered(rig, 10, 10)
    rig.core.flush()
    rig.pump()
    rig.answer(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    rig.pump(ms=1_000)
    rig.answer()
    rig.pump()
    rig.answer(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert rig.core.figures(rig.now_ms)["record-error-total"] == 1, (
        "the retry of the whole was that of its parts"
    )


def test_parts_have_the_deadline_of_their_batch() -> None:
    rig = limited(350, delivery_timeout_ms=1_000, request_timeout_ms=500)
    values = numbered(rig, 200, 200)
    rig.core.flush()
    rig.pump()
    rig.pump(ms=600)
    rig.answer()
    rig.pump(ms=399)
    assert rig.places[values[0]] not in rig.done
    rig.pump(ms=1)
    for value in values:
        assert "not acknowledged within 1 s: orders-0 refuses the records" in str(rig.outcome(value).error)


@pytest.mark.parametrize("stored", [0, 1])
def test_a_part_of_a_batch_that_may_be_stored_is_not_sent_under_another_epoch(stored: int) -> None:
    rig = limited(1_000)
    values = numbered(rig, 200, 200)
    rig.core.flush()
    rig.pump()
    rig.lose_all(stored)
    rig.broker.batch_bytes_max = 350
    rig.settle()
    assert rig.broker.log == values, "once, whether the attempt without an answer was carried out or not"
    codes = [rig.outcome(value).error for value in values]
    assert (codes == [None, None]) is (stored == 0)
    (later,) = numbered(rig, 1)
    rig.settle()
    assert rig.broker.log == [*values, later]


def test_the_memory_of_a_batch_is_divided_among_its_parts_and_comes_back() -> None:
    rig = limited(300, buffer_memory=2_000)
    values = numbered(rig, *[150] * 5)
    rig.core.flush()
    free = [rig.core.figures(rig.now_ms)["buffer-available-bytes"]]
    rig.pump()
    while rig.flight and rig.broker.log != values:
        rig.answer()
        free.append(rig.core.figures(rig.now_ms)["buffer-available-bytes"])
        rig.pump(ms=200)
    assert free == sorted(free)
    assert free[0] == free[1] < free[-1]
    rig.settle()
    assert rig.core.figures(rig.now_ms)["buffer-available-bytes"] == 2_000


@pytest.mark.parametrize("codec", list(Codec))
def test_a_batch_under_any_codec_is_split(codec: Codec) -> None:
    batch = Batch(3, ORDERS, codec=codec, now_ms=5, deadline_ms=9)
    for number in range(20_000):
        batch.append(number, None, b"all the same", (), 48)
    one, other = batch.split()
    records = [
        record for part in (one, other) for record in iter_records(part.data(), read_header(part.data()))
    ]
    assert [record.timestamp_ms for record in records] == list(range(20_000))
    assert {read_header(part.data()).codec for part in (one, other)} == {codec}


@settings(max_examples=100, deadline=None)
@given(CONTENTS, st.sampled_from([0, 7, SEQUENCE_MASK - 1]), st.booleans())
def test_parts_have_each_record_once_with_its_number(
    contents: list[Content], sequence: int, is_transactional: bool
) -> None:
    batch = Batch(3, ORDERS, codec=0, now_ms=5, deadline_ms=9, is_transactional=is_transactional)
    for content in contents:
        batch.append(*content, record_bytes_max(*content[1:]))
    reserved = batch.reserved_bytes
    batch.put_stamp(Stamp(8, 2, sequence))
    parts = [batch]
    while whole := next((part for part in parts if part.record_count > 1), None):
        at = parts.index(whole)
        parts[at : at + 1] = whole.split()
        assert sum(part.reserved_bytes for part in parts) == reserved
        assert min(part.reserved_bytes for part in parts) > 0
    assert [part.order for part in parts] == [(3, index) for index in range(len(contents))]
    found: list[Content] = []
    for index, part in enumerate(parts):
        header = read_header(part.data())
        assert header.base_sequence == (sequence + index) & SEQUENCE_MASK
        assert (header.producer_id, header.producer_epoch) == (8, 2)
        assert header.is_transactional is is_transactional
        record: Record
        (record,) = iter_records(part.data(), header)
        found.append((record.timestamp_ms, record.key, record.value, record.headers))
    assert found == contents


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(0, 400)),
        st.tuples(st.just("tick"), st.integers(0, 400)),
        st.just(("answer", 0)),
        st.just(("answer", 0)),
        st.just(("move", 0)),
        st.tuples(st.just("lose"), st.integers(0, 5)),
    ),
    max_size=60,
)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(STEPS, st.integers(100, 500), st.sampled_from([300, 1_000, 4_000]))
def test_under_any_limit_each_record_that_fits_is_stored_once_and_in_order(
    steps: list[tuple[str, int]], limit: int, batch_size: int
) -> None:
    rig = Rig(linger_ms=0, batch_size=batch_size)
    rig.broker.batch_bytes_max = limit
    values: list[bytes] = []
    for step, number in steps:
        if step == "append":
            values += numbered(rig, number)
        elif step == "tick":
            rig.now_ms += number
        elif step == "lose":
            rig.lose_all(number)
        elif rig.flight:
            rig.answer(ErrorCode.NOT_LEADER_OR_FOLLOWER if step == "move" else ErrorCode.NONE)
        rig.pump()
    rig.settle()
    log = rig.broker.log
    assert len(set(log)) == len(log), "a record was stored twice"
    assert log == sorted(log, key=values.index), "a record overtook an earlier one"
    for value in values:
        done = rig.outcome(value)
        if done.error is None:
            assert value in log
            if done.base_offset >= 0:
                assert log[done.base_offset + rig.places[value][1] - done.first] == value
        else:
            # Out of order: an answer was lost before, and a part behind one that failed cannot be judged.
            assert done.error.code in (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
    is_large = {value for value in values if len(value) + 61 + 12 > limit}
    if not is_large:
        assert log == values
        assert all(rig.outcome(value).error is None for value in values)
    assert (
        rig.core.figures(rig.now_ms)["buffer-available-bytes"]
        == rig.core.figures(rig.now_ms)["buffer-total-bytes"]
    )


def test_a_record_alone_in_its_batch_is_refused_as_before() -> None:
    rig = started()
    rig.broker.batch_bytes_max = 100
    values = numbered(rig, 200, 1, 1)
    rig.settle()
    assert rig.broker.log == [b"first", *values[1:]]
