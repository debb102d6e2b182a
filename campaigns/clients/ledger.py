"""What the applications of one run have seen of their clients, and what is wrong with it.

    acknowledged(partition, offset, value)     a producer's delivery
    handed_out(reader, record)                 a consumer has returned a record
    committed(reader, offsets)                 a consumer says that its group has committed this
    check(topic, records)                      in the end: compares all that with what the brokers hold

Some faults are known at once. Others are known when the topics are final: whether the offsets between two
records held a record, or only what no consumer gets (the markers and records of transactions).
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from odradek.base.ids import Offset, TopicPartition
from odradek.client.core.consumer.completed_fetch import ConsumerRecord
from odradek.client.core.offset_and_metadata import OffsetAndMetadata
from odradek.testing.topic_records import TestRecord

SHOWN_MAX: Final = 5
"""How many cases of one kind are named."""


@dataclass(slots=True)
class Reader:
    """One life of a consumer of a group."""

    group: str
    name: str
    next: dict[TopicPartition, Offset | None] = field(default_factory=dict)
    """Of each partition that it was told to have: the offset after its last record; None before the first."""
    floor: dict[TopicPartition, Offset] = field(default_factory=dict)
    """What its group had committed for sure when it was given a partition."""


@dataclass(frozen=True, slots=True)
class _Skipped:
    """Offsets that nobody of a group was given before someone was given, or committed, what follows."""

    who: str
    what: str
    partition: TopicPartition
    begin: Offset
    end: Offset


class Ledger:
    """See the module."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        """What the applications did, by kind."""
        self.violations: list[str] = []
        """Broken promises, in the order in which they were found."""
        self.readers: dict[str, Reader] = {}
        """By name; also those that have ended."""
        self._acknowledged: list[tuple[TopicPartition, Offset | None, bytes]] = []
        self._handed_out: dict[TopicPartition, dict[Offset, tuple[str, bytes | None]]] = defaultdict(dict)
        # By group: behind the last record that any of its readers got, and the highest offset committed.
        self._frontier: dict[str, dict[TopicPartition, Offset]] = defaultdict(dict)
        self._committed: dict[str, dict[TopicPartition, Offset]] = defaultdict(dict)
        # By group: the lowest offset of a commit that got no answer (`late_commits`).
        self._unanswered: dict[str, dict[TopicPartition, Offset]] = defaultdict(dict)
        self._skipped: list[_Skipped] = []

    def broken(self, said: str) -> None:
        """A promise is broken."""
        self.violations.append(said)

    # --- producers

    def acknowledged(self, partition: TopicPartition, offset: Offset | None, value: bytes) -> None:
        """A record is stored; at `offset`, unless the broker did not say where."""
        self.counts["acknowledged"] += 1
        self._acknowledged.append((partition, offset, value))

    # --- consumers

    def reader(self, group: str, name: str) -> Reader:
        """A new life of a consumer."""
        made = self.readers[name] = Reader(group, name)
        return made

    def assigned(self, reader: Reader, partitions: Iterable[TopicPartition]) -> None:
        """A reader is told that it has these from now on."""
        for one in partitions:
            if one in reader.next:
                self.broken(f"{reader.name} is assigned {one}, which it has already")
            reader.next[one] = None
            reader.floor[one] = self._committed[reader.group].get(one, 0)

    def taken_away(self, reader: Reader, partitions: Iterable[TopicPartition]) -> None:
        """A reader is told that these are gone."""
        for one in partitions:
            if one not in reader.next:
                self.broken(f"{reader.name} loses {one}, which it does not have")
            reader.next.pop(one, None)
            reader.floor.pop(one, None)

    def sought(self, reader: Reader, partition: TopicPartition) -> None:
        """A reader goes back to what its group has committed."""
        if partition in reader.next:
            reader.next[partition] = None
            reader.floor[partition] = 0

    def handed_out(self, reader: Reader, record: ConsumerRecord) -> None:
        """A reader has a record."""
        self.counts["handed out"] += 1
        one, offset = TopicPartition(record.topic, record.partition), record.offset
        if one not in reader.next:
            self.broken(f"{reader.name} gets {one} at {offset}, which it does not have")
            return
        before, frontier = reader.next[one], self._frontier[reader.group]
        if before is None:
            floor = reader.floor[one]
            if offset < min(floor, self._unanswered[reader.group].get(one, floor)):
                self.broken(f"{reader.name} begins {one} at {offset}, below {floor}, which was committed")
            self._skip(reader.name, "begins behind", one, frontier.get(one, 0), offset)
        elif offset < before:
            self.broken(f"{reader.name} gets {one} at {offset} after {before - 1}")
        else:
            self._skip(reader.name, "leaves out", one, before, offset)
        reader.next[one] = offset + 1
        frontier[one] = max(frontier.get(one, 0), offset + 1)
        value = bytes(record.value) if isinstance(record.value, bytes | memoryview) else None
        known = self._handed_out[one].setdefault(offset, (reader.name, value))
        if known[1] != value:
            self.broken(f"{one} has two records at {offset}: {known[1]!r}, and {value!r} for {reader.name}")

    def committed(self, reader: Reader, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """A commit of a reader was acknowledged."""
        self.counts["commits"] += 1
        highest = self._committed[reader.group]
        for one, at in offsets.items():
            self._skip(
                reader.name, "commits behind", one, self._frontier[reader.group].get(one, 0), at.offset
            )
            highest[one] = max(highest.get(one, 0), at.offset)

    def unanswered(self, group: str, offsets: Mapping[TopicPartition, Offset]) -> None:
        """A commit of a member got no answer: it may be carried out later, after newer ones."""
        lowest = self._unanswered[group]
        for one, offset in offsets.items():
            lowest[one] = min(lowest.get(one, offset), offset)

    def _skip(self, who: str, what: str, partition: TopicPartition, begin: Offset, end: Offset) -> None:
        if begin < end:
            self._skipped.append(_Skipped(who, what, partition, begin, end))

    def is_read(self, group: str, records: Iterable[TestRecord]) -> bool:
        """Whether a group was given all these."""
        frontier = self._frontier[group]
        return all(one.offset < frontier.get(TopicPartition(one.topic, one.partition), 0) for one in records)

    # --- the end

    def check(self, topic: str, records: Iterable[TestRecord]) -> None:
        """Compare with all committed records of a topic, which is final."""
        held: dict[TopicPartition, dict[Offset, bytes | None]] = defaultdict(dict)
        for record in records:
            held[TopicPartition(record.topic, record.partition)][record.offset] = record.value
        self._check_acknowledged(topic, held)
        self._check_handed_out(topic, held)
        self._several(
            f"{one.who} {one.what} records of {one.partition}: {missed[0]} to {missed[-1]}"
            for one in self._skipped
            if one.partition.topic == topic
            and (missed := [at for at in range(one.begin, one.end) if at in held[one.partition]])
        )

    def _check_acknowledged(
        self, topic: str, held: Mapping[TopicPartition, Mapping[Offset, bytes | None]]
    ) -> None:
        values = {one: set(some.values()) for one, some in held.items()}
        self._several(
            f"{value!r} was acknowledged in {one} at {offset}, which holds {held[one].get(offset or 0)!r}"
            for one, offset, value in self._acknowledged
            if one.topic == topic
            and (value not in values.get(one, ()) if offset is None else held[one].get(offset) != value)
        )

    def _check_handed_out(
        self, topic: str, held: Mapping[TopicPartition, Mapping[Offset, bytes | None]]
    ) -> None:
        self._several(
            f"{name} got {value!r} in {one} at {offset}, which holds {held[one].get(offset)!r}"
            for one, some in self._handed_out.items()
            if one.topic == topic
            for offset, (name, value) in some.items()
            if offset not in held[one] or held[one][offset] != value
        )

    def _several(self, cases: Iterable[str]) -> None:
        found = list(cases)
        self.violations += found[:SHOWN_MAX]
        if len(found) > SHOWN_MAX:
            self.broken(f"... and {len(found) - SHOWN_MAX} more of the kind of the last one")

    def check_series(self, records: Iterable[TestRecord]) -> None:
        """Each writer's numbers rise in each partition: nothing is there twice, nothing out of order."""
        last: dict[tuple[TopicPartition, str], int] = {}
        wrong = []
        for record in records:
            series, number = series_of(record.value)
            place = TopicPartition(record.topic, record.partition), series
            before = last.get(place, -1)
            if number <= before:
                wrong.append(f"{place[0]} has {series} {number} at {record.offset}, after {series} {before}")
            last[place] = max(before, number)
        self._several(wrong)


def series_of(value: bytes | None) -> tuple[str, int]:
    """Who wrote a record, and which of his it is."""
    assert value is not None, "every record has a value"
    series, _, number = value.decode().strip().rpartition(" ")
    return series, int(number)
