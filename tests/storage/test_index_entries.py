"""Index files: the search over file and window, and Kafka's bytes."""

from bisect import bisect_right
from struct import Struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.storage.index_entries import WINDOW_ENTRIES_MAX, IndexEntries
from odradek.storage.memory_files import MemoryFileSystem
from odradek.storage.offset_index import OffsetEntry, OffsetIndex
from odradek.storage.time_index import TimeEntry, TimeIndex

ENTRY = Struct(">ii")


def opened(disk: MemoryFileSystem, *, is_new: bool) -> IndexEntries:
    return IndexEntries(disk, "/index", ENTRY, is_new=is_new)


@pytest.mark.parametrize("count", [0, 1, WINDOW_ENTRIES_MAX, 2 * WINDOW_ENTRIES_MAX + 1, 5000])
@pytest.mark.parametrize("reopened", [False, True])
def test_finds_every_entry_in_file_and_window(count: int, reopened: bool) -> None:
    disk = MemoryFileSystem()
    index = opened(disk, is_new=True)
    for number in range(count):
        index.append(10 * number + 5, 100 * number + 50)
    if reopened:
        index.write_out()
        index = opened(disk, is_new=False)
    assert len(index) == count
    assert index.last() == ((10 * count - 5, 100 * count - 50) if count else None)
    for number in range(0, count, max(1, count // 97)):
        assert index.entry(number) == (10 * number + 5, 100 * number + 50)
        for value, column in ((10 * number + 5, 0), (10 * number + 14, 0), (100 * number + 149, 1)):
            assert index.count_up_to(value, column) == number + 1
    assert index.count_up_to(4, 0) == 0
    assert index.count_up_to(1 << 30, 0) == count


def test_memory_is_bounded_however_many_entries() -> None:
    index = opened(MemoryFileSystem(), is_new=True)
    for number in range(1, 50_000):
        index.append(number, number)
    assert len(index._firsts) <= 2 * WINDOW_ENTRIES_MAX


@given(
    steps=st.lists(
        st.one_of(
            st.tuples(st.just("append"), st.integers(1, 900)),
            st.tuples(st.just("truncate"), st.integers(0, 3000)),
            st.tuples(st.just("reopen"), st.just(0)),
        ),
        max_size=12,
    )
)
@settings(max_examples=40, deadline=None)
def test_is_a_sorted_list_on_disk(steps: list[tuple[str, int]]) -> None:
    disk = MemoryFileSystem()
    index = opened(disk, is_new=True)
    model: list[int] = []
    for step, argument in steps:
        if step == "append":
            for _ in range(argument):
                model.append((model[-1] if model else 0) + 3)
                index.append(model[-1], model[-1])
        elif step == "truncate":
            index.truncate(argument)
            del model[argument:]
        else:
            index.write_out()
            index = opened(disk, is_new=False)
        assert len(index) == len(model)
        for value in (0, 3, 1000, 4000, model[-1] if model else 9):
            assert index.count_up_to(value, 0) == bisect_right(model, value)


def test_the_offset_index_is_kafkas_bytes() -> None:
    """L1"""
    disk = MemoryFileSystem()
    index = OffsetIndex(disk, "/i", 1000, is_new=True)
    index.append(1004, 4100)
    index.append(1009, 8300)
    index.seal()
    assert disk.read("/i") == bytes.fromhex("00000004 00001004 00000009 0000206c")
    assert index.floor(1003) == OffsetEntry(1000, 0)
    assert index.floor(1008) == OffsetEntry(1004, 4100)
    assert index.first_at_or_after(4101) == OffsetEntry(1009, 8300)
    assert index.first_at_or_after(8301) is None


def test_the_time_index_is_kafkas_bytes() -> None:
    """L1"""
    disk = MemoryFileSystem()
    index = TimeIndex(disk, "/t", 1000, is_new=True)
    index.append_if_later(500, 1004)
    index.append_if_later(500, 1006)
    index.append_if_later(800, 1009)
    index.seal()
    assert disk.read("/t") == bytes.fromhex("00000000000001f4 00000004 0000000000000320 00000009")
    assert index.floor(799) == TimeEntry(500, 1004)
    assert index.last() == TimeEntry(800, 1009)
