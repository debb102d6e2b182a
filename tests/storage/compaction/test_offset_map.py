"""L5: the bounded map from keys to offsets."""

from hypothesis import given
from hypothesis import strategies as st

from odradek.storage.compaction.offset_map import LOAD_MAX, SLOT_BYTES, SLOTS_MIN, OffsetMap


def test_the_last_offset_of_a_key_counts() -> None:
    latest = OffsetMap(1 << 16, 100)
    assert latest.get(b"k") == -1
    assert latest.put(b"k", 3)
    assert latest.put(b"", 4)
    assert latest.put(b"k", 9)
    assert (latest.get(b"k"), latest.get(b""), latest.get(b"j"), len(latest)) == (9, 4, -1, 2)


def test_a_full_map_takes_no_new_key_and_goes_on_with_those_it_has() -> None:
    latest = OffsetMap(0, 1_000)
    keys = [b"%d" % number for number in range(SLOTS_MIN)]
    taken = [key for key in keys if latest.put(key, 1)]
    assert len(taken) == len(latest) == int(SLOTS_MIN * LOAD_MAX)
    assert taken == keys[: len(taken)], "it is full from the first refusal on"
    assert latest.put(taken[0], 7)
    assert latest.get(taken[0]) == 7


def test_memory_is_what_the_buffer_allows_and_no_more_than_is_needed() -> None:
    holds = OffsetMap(SLOT_BYTES * 1_000, 1 << 60)
    assert sum(holds.put(b"%d" % number, number) for number in range(1_001)) == 1_000 * LOAD_MAX
    assert OffsetMap(1 << 40, 10).put(b"k", 1), "a terabyte is not taken for ten keys"


@given(st.lists(st.tuples(st.binary(max_size=3), st.integers(0, 2**63 - 1)), max_size=200))
def test_it_agrees_with_a_dictionary(puts: list[tuple[bytes, int]]) -> None:
    latest, model = OffsetMap(1 << 20, len(puts)), dict[bytes, int]()
    for key, offset in puts:
        assert latest.put(key, offset)
        model[key] = offset
    assert {key: latest.get(key) for key in model} == model
    assert len(latest) == len(model)
    assert latest.get(b"not there") == -1
