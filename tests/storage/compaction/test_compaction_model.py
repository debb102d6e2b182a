"""A compacted log beside a dictionary: whatever is written, cleaned, cut short and opened again, whoever
reads the log from its start arrives at the dictionary.

Every record that is still there is the one that was written at its offset; of every key the last one is
there, unless that is a tombstone; nothing that was rolled back is seen by readers of what is committed.
"""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from odradek.records.control import read_marker
from odradek.records.framing import iter_records
from odradek.records.header import iter_headers
from odradek.storage.memory_files import MemoryFileSystem
from tests.storage.compaction.facts import Fact, Facts
from tests.storage.log_bench import ProducerFields

MINUTE_MS = 60_000
KEYS = st.sampled_from("abcdefg")
FACTS = st.lists(st.tuples(KEYS, st.none() | st.text("xyz", max_size=30)), min_size=1, max_size=6)
IDEMPOTENT, TRANSACTIONAL = 5, 7


class CompactionModel(RuleBasedStateMachine):
    """The operations, each done to the log and to the history of all records that count."""

    def __init__(self) -> None:
        super().__init__()
        self.facts = Facts()
        # Small segments, so that there are many, and a delete horizon that passes now and then.
        config = replace(self.facts.config, segment_bytes=700, delete_retention_ms=5 * MINUTE_MS)
        self.facts.log.update_config(replace(config, index_interval_bytes=150))
        self.facts.config = self.facts.log.config
        self.written: dict[int, Fact] = {}  # offset -> record, in order
        self.rolled_back: set[int] = set()
        self.sequences = {IDEMPOTENT: 0, TRANSACTIONAL: 0}

    def note(self, first: int, facts: list[Fact]) -> range:
        offsets = range(first, first + len(facts))
        self.written.update(zip(offsets, facts, strict=True))
        return offsets

    @rule(facts=FACTS, codec=st.sampled_from([0, 0, 0, 4]), roll=st.booleans())
    def write(self, facts: list[Fact], codec: int, roll: bool) -> None:
        self.note(self.facts.write(*facts, codec=codec, roll=roll), facts)

    @rule(facts=FACTS)
    def write_idempotently(self, facts: list[Fact]) -> None:
        producer: ProducerFields = {"producer_id": IDEMPOTENT, "producer_epoch": 0}
        first = self.facts.write(*facts, base_sequence=self.sequences[IDEMPOTENT], **producer)
        self.sequences[IDEMPOTENT] += len(facts)
        self.note(first, facts)

    @rule(batches=st.lists(FACTS, min_size=1, max_size=3), committed=st.booleans(), roll=st.booleans())
    def run_transaction(self, batches: list[list[Fact]], committed: bool, roll: bool) -> None:
        producer: ProducerFields = {
            "producer_id": TRANSACTIONAL,
            "producer_epoch": 0,
            "is_transactional": True,
        }
        for facts in batches:
            sequence = self.sequences[TRANSACTIONAL]
            first = self.facts.write(*facts, base_sequence=sequence, roll=roll, **producer)
            self.sequences[TRANSACTIONAL] += len(facts)
            offsets = self.note(first, facts)
            if not committed:
                self.rolled_back.update(offsets)
        self.facts.end_transaction(TRANSACTIONAL, committed=committed)

    @rule(minutes=st.integers(1, 6))
    def pass_time(self, minutes: int) -> None:
        self.facts.clock.advance(minutes * MINUTE_MS)

    @rule(map_bytes=st.sampled_from([0, 1 << 16]), roll=st.booleans())
    def clean(self, map_bytes: int, roll: bool) -> None:
        """L5"""
        self.facts.map_bytes = map_bytes
        self.facts.clean(roll=roll)

    @rule(after=st.integers(0, 150), seed=st.none() | st.integers(0, 1_000))
    def crash_while_cleaning(self, after: int, seed: int | None) -> None:
        """L5"""
        end_offset = self.facts.log.end_offset
        self.facts.settle()
        self.facts.cut_power(after, self.facts.clean, seed)
        assert self.facts.log.end_offset == end_offset
        assert self.facts.log.recovery.cuts == []
        self.facts.settle()

    @rule()
    def reopen(self) -> None:
        self.facts.settle()
        self.facts.reopen()
        self.facts.settle()

    @rule()
    def reopen_uncleanly(self) -> None:
        """L4: everything is verified and the producers are read from the batches."""
        self.facts.settle()
        disk: MemoryFileSystem = self.facts.disk
        for name in self.facts.names():
            if name.endswith(".snapshot"):
                disk.remove(f"{self.facts.log.path}/{name}")
        self.facts.reopen(clean=False)
        assert self.facts.log.recovery.cuts == []
        self.facts.settle()
        assert self.facts.log.last_stable == self.facts.log.end_position, "no transaction is open"

    @invariant()
    def whoever_reads_arrives_at_the_dictionary(self) -> None:
        self.facts.settle()
        kept = self.facts.facts()
        assert kept.items() <= self.written.items()
        hidden = self.rolled_back & set(kept)
        last = {k: (offset, v) for offset, (k, v) in self.written.items() if offset not in self.rolled_back}
        read = {k: (offset, v) for offset, (k, v) in kept.items() if offset not in hidden}
        for key, (offset, value) in last.items():
            if value is not None:
                assert read.get(key) == (offset, value), f"the last record of {key} is gone"
            else:
                assert read.get(key, (offset, None)) == (offset, None), f"{key} is back from the dead"
        assert read.keys() <= last.keys()

    @invariant()
    def readers_of_what_is_committed_see_nothing_else(self) -> None:
        log, offset, skipped = self.facts.log, 0, set[int]()
        while True:
            read = log.read(offset, 1 << 20, log.last_stable, at_least_one=True, committed_only=True)
            if not read.records:
                break
            aborted = sorted(read.aborted_transactions or [], key=lambda each: each.first_offset)
            for position, header in iter_headers(read.held_records):
                while aborted and aborted[0].first_offset <= header.last_offset:
                    skipped.add(aborted.pop(0).producer_id)
                if header.is_control:
                    marker = read_marker(read.held_records, position)
                    if marker is not None and not marker.committed:
                        skipped.discard(header.producer_id)
                elif not (header.is_transactional and header.producer_id in skipped):
                    seen = {record.offset for record in iter_records(read.held_records, header, position)}
                    assert not seen & self.rolled_back
                offset = header.next_offset
        assert not skipped, "an abort without its marker hides what comes later"

    @invariant()
    def sequence_numbers_go_on(self) -> None:
        for producer_id, sequence in self.sequences.items():
            entry = self.facts.log.producers.get(producer_id)
            assert (0 if entry is None else entry.last_sequence + 1) == sequence


@pytest.mark.slow
def test_the_log_agrees_with_a_dictionary() -> None:
    """L5"""
    run_state_machine_as_test(
        CompactionModel,
        settings=settings(
            max_examples=60,
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
        ),
    )


def history(facts: Facts) -> None:
    """Three cleanable groups with all kinds of records, of which the first has been cleaned once."""
    facts.log.update_config(replace(facts.log.config, segment_bytes=500))
    transactional: ProducerFields = {
        "producer_id": TRANSACTIONAL,
        "producer_epoch": 0,
        "is_transactional": True,
    }
    for number in range(4):
        facts.write(("a", "x" * 60), (f"k{number}", str(number)), roll=True)
    facts.write(("b", "never"), base_sequence=0, **transactional)
    facts.end_transaction(TRANSACTIONAL, committed=False)
    facts.clean()
    for number in range(6):
        facts.write(("a", "y" * 60), (f"k{number % 3}", None), ("b", str(number)), roll=True)
    facts.write(("b", "never"), base_sequence=1, **transactional, roll=True)
    facts.end_transaction(TRANSACTIONAL, committed=False)
    facts.log.roll()
    facts.settle()


@pytest.mark.slow
@pytest.mark.parametrize("seed", [None, 0, 1], ids=lambda seed: f"power{seed}")
def test_a_crash_at_any_file_operation_loses_nothing(seed: int | None) -> None:
    """L5: and the next cleaning comes to the same end."""
    undisturbed = Facts()
    history(undisturbed)
    before = undisturbed.facts()
    undisturbed.clean()
    expected, end_offset = undisturbed.facts(), undisturbed.log.end_offset
    after = 0
    while True:
        facts = Facts()
        history(facts)
        if not facts.cut_power(after, facts.clean, seed):
            break
        assert (facts.log.end_offset, facts.log.recovery.cuts) == (end_offset, []), (
            f"after {after} operations"
        )
        assert expected.items() <= facts.facts().items() <= before.items(), f"after {after} operations"
        leftovers = [name for name in facts.names() if name.endswith((".cleaned", ".swap", ".deleted"))]
        assert leftovers == [], f"after {after} operations"
        facts.clean()
        assert facts.facts() == expected, f"after {after} operations"
        after += 1
    assert after > 100, "the cleaning did something"
