"""L5: the bounded map from keys to offsets."""

import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from odradek.storage.compaction.offset_map import (
    LOAD_MAX,
    NEAR_KEY_BYTES,
    NEAR_SHARE,
    SLOT_BYTES,
    SLOTS_MIN,
    OffsetMap,
)
from odradek.storage.compaction.record_walk import RecordSpan


def test_the_last_offset_of_a_key_counts() -> None:
    latest = OffsetMap(1 << 16, 100)
    assert latest.get(b"k", -1) == -1
    assert latest.put(b"k", 3)
    assert latest.put(b"", 4)
    assert latest.put(b"k", 9)
    assert (latest.get(b"k", -1), latest.get(b"", -1), latest.get(b"j", -1), len(latest)) == (9, 4, -1, 2)


def test_a_full_map_takes_no_new_key_and_goes_on_with_those_it_has() -> None:
    latest = OffsetMap(0, 1_000)
    keys = [b"%d" % number for number in range(SLOTS_MIN)]
    taken = [key for key in keys if latest.put(key, 1)]
    assert len(taken) == len(latest) == int(SLOTS_MIN * LOAD_MAX)
    assert taken == keys[: len(taken)], "it is full from the first refusal on"
    assert latest.put(taken[0], 7)
    assert latest.get(taken[0], -1) == 7


def test_memory_is_what_the_buffer_allows_and_no_more_than_is_needed() -> None:
    holds = OffsetMap(SLOT_BYTES * 1_000, 1 << 60)
    assert sum(holds.put(b"%d" % number, number) for number in range(1_001)) == 1_000 * LOAD_MAX
    assert OffsetMap(1 << 40, 10).put(b"k", 1), "a terabyte is not taken for ten keys"


def test_keys_that_outgrow_their_share_move_to_the_table_and_lose_nothing() -> None:
    near_keys = 50
    latest = OffsetMap(near_keys * (NEAR_KEY_BYTES + 2) * NEAR_SHARE, 1_000)
    for number in range(1_000):
        assert latest.put(b"%02d" % (number % 100), number)
    assert len(latest) == 100
    assert [latest.get(b"%02d" % number, -1) for number in range(100)] == list(range(900, 1_000))
    assert latest.get(b"none", -1) == -1


def test_memory_near_is_within_its_share_whatever_the_keys_are() -> None:
    bytes_max = 1 << 20
    for key_bytes, keys in ((8, 1_700), (16, 1_600), (1_000, 225)):
        tracemalloc.start()
        try:
            latest = OffsetMap(bytes_max, 1 << 40)
            for number in range(keys):
                assert latest.put(number.to_bytes(key_bytes), number + (1 << 40))
            taken_bytes = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert taken_bytes <= bytes_max // NEAR_SHARE * 1.1, f"{keys} keys of {key_bytes} bytes"


def _span(delta: int, key: bytes | None, size_bytes: int) -> RecordSpan:
    return (delta * size_bytes, (delta + 1) * size_bytes, 0, delta, key, True)


@given(
    st.lists(st.lists(st.none() | st.binary(max_size=2), min_size=1, max_size=30), max_size=30),
    st.integers(0, 200),
    st.sampled_from((0, 4_000, 40_000, 1 << 20)),
)
def test_the_records_of_a_batch_are_put_as_one_by_one(
    batches: list[list[bytes | None]], start: int, bytes_max: int
) -> None:
    at_once, one_by_one, base_offset = OffsetMap(bytes_max, 900), OffsetMap(bytes_max, 900), 0
    for keys in batches:
        full_at = None
        for delta, key in enumerate(keys):
            offset = base_offset + delta
            if key is not None and offset >= start and not one_by_one.put(key, offset):
                full_at = offset
                break
        spans = [_span(delta, key, 10) for delta, key in enumerate(keys)]
        assert at_once.put_records(spans, base_offset, start) == full_at
        if full_at is not None:
            break
        base_offset += len(keys)
    known = {key for keys in batches for key in keys if key is not None}
    assert {key: at_once.get(key, -1) for key in known} == {key: one_by_one.get(key, -1) for key in known}
    assert len(at_once) == len(one_by_one)


@given(st.lists(st.tuples(st.binary(max_size=3), st.integers(0, 2**63 - 1)), max_size=200))
def test_it_agrees_with_a_dictionary(puts: list[tuple[bytes, int]]) -> None:
    latest, model = OffsetMap(1 << 20, len(puts)), dict[bytes, int]()
    for key, offset in puts:
        assert latest.put(key, offset)
        model[key] = offset
    assert {key: latest.get(key, -1) for key in model} == model
    assert len(latest) == len(model)
    assert latest.get(b"not there", -1) == -1
