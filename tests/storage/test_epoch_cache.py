"""Leader epochs and where they end."""

from odradek.storage.epoch_cache import EpochCache
from odradek.storage.positions import UNKNOWN_EPOCH_END

ENTRIES = [(0, 0), (3, 120), (4, 200)]


def test_ends_of_epochs() -> None:
    cache = EpochCache(ENTRIES)
    ends = {epoch: cache.end_offset_for(epoch, 250) for epoch in range(-1, 6)}
    assert ends == {
        -1: UNKNOWN_EPOCH_END,
        0: (0, 120),
        1: (0, 120),
        2: (0, 120),
        3: (3, 200),
        4: (4, 250),
        5: UNKNOWN_EPOCH_END,
    }
    assert EpochCache().end_offset_for(0, 10) == UNKNOWN_EPOCH_END
    assert EpochCache([(5, 30)]).end_offset_for(2, 99) == (2, 30), "older than all that is known"


def test_epochs_only_rise_and_replace_those_without_records() -> None:
    cache = EpochCache(ENTRIES)
    assert not cache.assign(4, 230)
    assert not cache.assign(2, 230)
    assert cache.assign(6, 200)
    assert cache.entries() == [(0, 0), (3, 120), (6, 200)]


def test_epochs_of_offsets() -> None:
    cache = EpochCache(ENTRIES)
    assert [cache.epoch_of(offset) for offset in (0, 119, 120, 500)] == [0, 0, 3, 4]
    assert EpochCache([(5, 30)]).epoch_of(3) == -1


def test_truncates_from_both_ends() -> None:
    cache = EpochCache(ENTRIES)
    assert cache.truncate_from_end(200)
    assert (cache.entries(), cache.latest) == ([(0, 0), (3, 120)], 3)
    assert not cache.truncate_from_end(200)
    assert cache.truncate_from_start(150)
    assert cache.entries() == [(3, 150)]
    assert not cache.truncate_from_start(150)
    assert cache.truncate_from_end(0)
    assert (cache.entries(), cache.latest) == ([], -1)
