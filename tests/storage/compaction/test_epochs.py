"""X4, L4, L5: where the leader epochs of a compacted log begin, before and after a stop of any kind.

The log of most tests, once it is cleaned (`.` is a record that is gone, `|` the end of a segment):

    offset   0 1 | 2 3 | 4 5 | 6 7 | 8
    epoch    0 0 | 2 2 | 2 2 | 5 5 | 5
    record   . j | . . | . k | . m | n
"""

import pytest

from odradek.storage import Log
from odradek.storage.positions import UNKNOWN_EPOCH_END, EpochEnd
from tests.storage.compaction.facts import DIRECTORY, Facts
from tests.storage.log_bench import OpenOptions, make_batch

EPOCHS = f"{DIRECTORY}/leader-epoch-checkpoint"


def cleaned(facts: Facts) -> list[EpochEnd]:
    """The log above; where each epoch ends in it."""
    facts.write(("k", "0"), ("j", "0"), roll=True)
    facts.write(("k", "1"), ("l", "1"), roll=True, leader_epoch=2)
    facts.write(("l", "2"), ("k", "2"), roll=True, leader_epoch=2)
    facts.write(("l", None), ("m", "1"), roll=True, leader_epoch=5)
    facts.write(("n", "1"), leader_epoch=5)
    facts.log.begin_epoch(9)
    facts.settle()
    before = ends(facts.log)
    assert before == [(0, 2), (2, 6), (5, 9), (9, 9)]
    clean_twice(facts)
    assert facts.facts() == {1: ("j", "0"), 5: ("k", "2"), 7: ("m", "1"), 8: ("n", "1")}
    return before


def clean_twice(facts: Facts) -> None:
    """Also what is kept for `delete.retention.ms` is gone then."""
    facts.clean(roll=False)
    facts.clock.advance(facts.log.config.delete_retention_ms + 1)
    facts.log.mark_cleaned(0)
    facts.clean(roll=False)


def ends(log: Log) -> list[EpochEnd]:
    return [log.end_offset_for_epoch(epoch) for epoch in (0, 2, 5, 9)]


def told(facts: Facts) -> list[str]:
    return facts.log.recovery.lines()


@pytest.mark.parametrize(
    "options",
    [{}, {"clean": False}, {"clean": False, "recovery_point": 6}, {"clean": False, "recovery_point": 9}],
)
def test_they_are_after_a_restart_what_they_were(facts: Facts, options: OpenOptions) -> None:
    """X4, L5; of epoch 9, under which nothing was written, the file has not been told."""
    before = cleaned(facts)
    facts.reopen(**options)
    assert ends(facts.log) == [*before[:-1], UNKNOWN_EPOCH_END]
    assert told(facts) == []


@pytest.mark.parametrize("options", [{}, {"clean": False}, {"clean": False, "recovery_point": 6}])
def test_without_the_file_an_epoch_begins_where_the_one_before_is_known_to_end(
    facts: Facts, options: OpenOptions
) -> None:
    """X4: a replica that asks may cut off too much, which its leader has, but never too little."""
    cleaned(facts)
    facts.log.close()
    facts.disk.remove(EPOCHS)
    facts.reopen(**options)
    assert [facts.log.end_offset_for_epoch(epoch) for epoch in (0, 2, 5)] == [(0, 2), (2, 6), (5, 9)]
    assert facts.log.log_start_offset == 0
    facts.reopen()
    assert told(facts) == [], "what was made again is not found wrong by the next start"


def test_a_gap_belongs_to_the_epoch_behind_it(facts: Facts) -> None:
    """X4: of the first batches of epoch 2 nothing is left, and nobody says where they began."""
    facts.write(("j", "0"), roll=True)
    facts.write(("k", "1"), roll=True, leader_epoch=2)
    facts.write(("k", "2"), roll=True, leader_epoch=2)
    facts.write(("n", "1"), leader_epoch=5)
    facts.clean(roll=False)
    facts.log.close()
    facts.disk.remove(EPOCHS)
    facts.reopen()
    assert facts.log.end_offset_for_epoch(0) == (0, 1)
    assert facts.log.end_offset_for_epoch(2) == (2, 3)


def test_what_the_file_says_of_a_gap_stays_where_the_rest_of_it_is_wrong(facts: Facts) -> None:
    """X4: a file from before a power cut lacks the last epochs, and still knows the others."""
    facts.write(("j", "0"), ("i", "0"), roll=True)
    facts.write(("i", "1"), roll=True)
    facts.write(("k", "1"), roll=True, leader_epoch=2)
    facts.write(("k", "2"), roll=True, leader_epoch=2)
    facts.write(("i", "2"), roll=True, leader_epoch=2)
    facts.write(("n", "1"), leader_epoch=5)
    facts.clean(roll=False)
    facts.log.close()
    file = facts.disk.file(EPOCHS)
    file.truncate(0)
    file.write_at(b"0\n2\n0 0\n2 3\n", 0)
    facts.reopen()
    assert [facts.log.end_offset_for_epoch(epoch) for epoch in (0, 2, 5)] == [(0, 3), (2, 6), (5, 7)]


def test_without_the_file_they_are_known_though_the_last_records_are_gone(facts: Facts) -> None:
    """X4: the log ends in a gap."""
    facts.write(("j", "0"), roll=True)
    facts.write(("k", "1"), roll=True, leader_epoch=2)
    facts.write(("k", None), roll=True, leader_epoch=2)
    clean_twice(facts)
    assert facts.facts() == {0: ("j", "0")}
    facts.log.close()
    facts.disk.remove(EPOCHS)
    facts.reopen()
    assert facts.log.end_offset == 3
    assert facts.log.latest_epoch == 0


@pytest.mark.parametrize("recovery_point", [0, 3, 5, 6])
def test_without_the_file_the_epochs_of_batches_that_are_not_verified_are_known(
    facts: Facts, recovery_point: int
) -> None:
    """X4: the log begins with a gap, and only its end is verified."""
    facts.write(("k", "0"), roll=True)
    facts.write(("k", "1"), ("j", "0"), roll=True, leader_epoch=2)
    facts.write(("k", "2"), roll=True, leader_epoch=3)
    facts.write(("n", "1"), roll=True, leader_epoch=5)
    facts.clean(roll=False)
    facts.write(("n", "2"), leader_epoch=7)
    facts.settle()
    assert facts.facts() == {2: ("j", "0"), 3: ("k", "2"), 4: ("n", "1"), 5: ("n", "2")}
    facts.disk.remove(EPOCHS)
    facts.reopen(clean=False, recovery_point=recovery_point)
    assert [facts.log.epoch_of(offset) for offset in (2, 3, 4, 5)] == [2, 3, 5, 7]


@pytest.mark.parametrize("options", [{}, {"clean": False}, {"log_start_offset": None}])
def test_a_replica_of_a_compacted_log_restarts_without_a_word(facts: Facts, options: OpenOptions) -> None:
    """L4: its first batch and its first epoch lie behind its log start, and no file is damaged."""
    copy = followed(facts)
    assert (copy.log.log_start_offset, copy.log.end_offset) == (0, 4)
    latest_epoch = copy.log.latest_epoch
    copy.log.begin_epoch(9)  # nothing is written under it
    copy.settle()
    copy.reopen(**options)
    assert told(copy) == []
    assert copy.log.log_start_offset == 0
    assert copy.log.latest_epoch == latest_epoch


def test_a_log_start_below_the_first_batch_of_a_replica_stays(facts: Facts) -> None:
    """L4: DeleteRecords moved it there, into a gap."""
    copy = followed(facts)
    copy.log.close()
    copy.reopen(log_start_offset=2)
    assert told(copy) == []
    assert copy.log.log_start_offset == 2


def followed(facts: Facts) -> Facts:
    """A replica that has got from its leader what was left of its log."""
    facts.write(("k", "0"), roll=True, leader_epoch=2)
    facts.write(("k", "1"), roll=True, leader_epoch=2)
    facts.write(("k", "2"), roll=True, leader_epoch=2)
    facts.write(("n", "1"), leader_epoch=2)
    facts.clean(roll=False)
    copy = Facts()
    for offset in (0, 3):
        read = facts.log.read(offset, 1 << 20, facts.log.end_position, at_least_one=True).held_records
        copy.log.append_as_follower(read)
    assert copy.facts() == {2: ("k", "2"), 3: ("n", "1")}
    copy.settle()
    return copy


def test_an_epoch_that_falls_behind_a_gap_ends_the_log(facts: Facts) -> None:
    """X6: the batch before the one that is verified lies in another segment, before a gap."""
    facts.write(("j", "0"), roll=True, leader_epoch=4)
    facts.write(("k", None), roll=True, leader_epoch=4)
    clean_twice(facts)
    facts.write(("n", "0"), leader_epoch=4)
    assert facts.facts() == {0: ("j", "0"), 2: ("n", "0")}
    active = facts.disk.file(f"{DIRECTORY}/{2:020d}.log")
    active.truncate(0)
    active.write_at(make_batch(1, leader_epoch=3, base_offset=2), 0)
    facts.reopen(clean=False, recovery_point=3)
    assert facts.log.end_offset == 2
    assert [cut.reason for cut in facts.log.recovery.cuts] == ["leader epoch 3 follows epoch 4"]
