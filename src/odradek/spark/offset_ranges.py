"""Parses the options of a read and plans its offset ranges. This module must not open connections.

Options are those of Spark's Kafka source, by the same names:

    subscribe          "flights,planes"                      or
    subscribePattern   "fl.*"                                or
    assign             {"flights": [0, 1]}
    startingOffsets    "earliest" or {"flights": {"0": 23, "1": -2}}      (-2 earliest)
    endingOffsets      "latest" or {"flights": {"0": 50, "1": -1}}        (-1 latest)
    minPartitions      split ranges until there are at least so many
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from odradek.base.errors import SettingError
from odradek.base.ids import TopicPartition
from odradek.client.cluster import EARLIEST, LATEST, Offsets

# The maximum number of partitions of one read; more is taken for a mistake in a pattern.
PARTITIONS_MAX = 100_000


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """The records of one partition from `start` up to but not including `end`."""

    topic_partition: TopicPartition
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Subscription:
    """Which partitions are read: exactly one of the three options."""

    topics: tuple[str, ...] = ()
    pattern: str | None = None
    assigned: tuple[TopicPartition, ...] = ()

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> "Subscription":
        """Raises SettingError unless exactly one of subscribe, subscribePattern and assign is given."""
        given = [name for name in ("subscribe", "subscribePattern", "assign") if options.get(name.lower())]
        if len(given) != 1:
            raise SettingError("give exactly one of the options subscribe, subscribePattern and assign")
        text = options[given[0].lower()]
        if given == ["subscribe"]:
            return cls(topics=tuple(name.strip() for name in text.split(",") if name.strip()))
        if given == ["subscribePattern"]:
            try:
                re.compile(text)
            except re.error as error:
                raise SettingError(f"subscribePattern is not a regular expression: {error}") from None
            return cls(pattern=text)
        return cls(assigned=tuple(_assignment(text)))

    def partitions(self, counts: Mapping[str, int]) -> list[TopicPartition]:
        """The partitions to read of a cluster whose topics have `counts` partitions.

        Raises SettingError for a topic or partition that does not exist.
        """
        if self.assigned:
            for topic, partition in self.assigned:
                if partition >= counts.get(topic, 0):
                    raise SettingError(f"there is no partition {partition} of topic {topic}")
            return sorted(set(self.assigned))
        if self.pattern is not None:
            names = [name for name in counts if re.fullmatch(self.pattern, name)]
        else:
            names = list(self.topics)
            missing = [name for name in names if name not in counts]
            if missing:
                raise SettingError(f"there is no topic {missing[0]}")
        found = sorted({TopicPartition(name, number) for name in names for number in range(counts[name])})
        if len(found) > PARTITIONS_MAX:
            raise SettingError(f"the subscription covers {len(found)} partitions, more than {PARTITIONS_MAX}")
        return found


def bounds(option: str, text: str, partitions: Sequence[TopicPartition]) -> Offsets:
    """Read `startingOffsets` or `endingOffsets`: an offset, EARLIEST or LATEST for each of `partitions`.

    Raises SettingError when a partition is missing from the JSON or one is named that is not read, and for a
    start at the latest or an end at the earliest offset, as Spark's Kafka source does for batches.
    """
    if text == "latest":
        if option == "startingOffsets":
            raise SettingError("startingOffsets cannot be latest in a batch, which would read nothing")
        return dict.fromkeys(partitions, LATEST)
    if text == "earliest" and option == "startingOffsets":
        return dict.fromkeys(partitions, EARLIEST)
    try:
        parsed: Any = json.loads(text)
        found = {
            TopicPartition(topic, int(number)): int(offset)
            for topic, offsets in parsed.items()
            for number, offset in offsets.items()
        }
    except (ValueError, AttributeError, TypeError):
        raise SettingError(
            f"{option} is neither a known word nor JSON of topic, partition and offset: {text}"
        ) from None
    if set(found) != set(partitions):
        odd = sorted(set(found) ^ set(partitions))[0]
        raise SettingError(f"{option} must name exactly the partitions that are read; {odd} does not match")
    if any(offset < EARLIEST for offset in found.values()):
        raise SettingError(f"{option} has an offset below -2")
    if option == "startingOffsets" and LATEST in found.values():
        raise SettingError("startingOffsets cannot be latest (-1) in a batch, which would read nothing")
    if option == "endingOffsets" and EARLIEST in found.values():
        raise SettingError("endingOffsets cannot be earliest (-2)")
    return found


def plan(starts: Offsets, ends: Offsets, partitions_min: int = 0) -> list[OffsetRange]:
    """The non-empty ranges between resolved bounds, the largest split until there are `partitions_min`."""
    ranges = [
        OffsetRange(part, starts[part], ends[part]) for part in sorted(starts) if starts[part] < ends[part]
    ]
    total = sum(one.end - one.start for one in ranges)
    if not ranges or len(ranges) >= partitions_min:
        return ranges
    split: list[OffsetRange] = []
    for one in ranges:
        size = one.end - one.start
        pieces = min(size, max(1, round(partitions_min * size / total)))
        edges = [one.start + size * index // pieces for index in range(pieces + 1)]
        split += [OffsetRange(one.topic_partition, low, high) for low, high in pairwise(edges)]
    return split


def resolve(wanted: Offsets, lookup: Callable[[int, list[TopicPartition]], Offsets]) -> Offsets:
    """Replace EARLIEST and LATEST by the offsets that `lookup(timestamp, partitions)` returns."""
    resolved = dict(wanted)
    for word in (EARLIEST, LATEST):
        asked = [partition for partition, offset in wanted.items() if offset == word]
        if asked:
            resolved.update(lookup(word, asked))
    return resolved


def _assignment(text: str) -> list[TopicPartition]:
    try:
        parsed: Any = json.loads(text)
        found = [
            TopicPartition(topic, int(number)) for topic, numbers in parsed.items() for number in numbers
        ]
    except (ValueError, AttributeError, TypeError):
        raise SettingError(f'assign is not JSON like {{"topic": [0, 1]}}: {text}') from None
    if not found or any(part.partition < 0 for part in found):
        raise SettingError("assign names no partition, or a negative one")
    return found
