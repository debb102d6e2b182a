"""Parses what a read covers and plans its offset ranges. This module must not open connections.

Options are those of Spark's Kafka source, by the same names:

    subscribe                    "flights,planes"                      or
    subscribePattern             "fl.*"                                or
    assign                       {"flights": [0, 1]}
    startingOffsets              "earliest" or {"flights": {"0": 23, "1": -2}}      (-2 earliest)
    endingOffsets                "latest" or {"flights": {"0": 50, "1": -1}}        (-1 latest)
    startingTimestamp            "1357016400000"                       (ms since 1970, for all partitions)
    startingOffsetsByTimestamp   {"flights": {"0": 1357016400000, "1": 1357016400000}}
    maxRecordsPerPartition       no range is larger
    minPartitions                split ranges until there are at least so many
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from odradek.base.errors import SettingError
from odradek.base.ids import TopicPartition
from odradek.base.offset_timestamps import EARLIEST, LATEST
from odradek.client.cluster import Offsets

# The maximum number of partitions of one read; more is taken for a mistake in a pattern.
PARTITIONS_MAX = 100_000


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """The records of one partition from `start` up to but not including `end`."""

    topic_partition: TopicPartition
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Edge:
    """Where a read begins or ends: the option that says it, and its text."""

    option: str
    text: str

    @property
    def is_time(self) -> bool:
        """Whether it gives times, not offsets."""
        return "Timestamp" in self.option


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

    @property
    def named_topics(self) -> list[str] | None:
        """The topics to ask the cluster about; None asks about all."""
        if self.pattern is not None:
            return None
        return sorted(set(self.topics) | {part.topic for part in self.assigned})

    def partitions(self, counts: Mapping[str, int], *, may_lack: bool = False) -> list[TopicPartition]:
        """The partitions to read of a cluster whose topics have `counts` partitions.

        Raises SettingError for a topic or partition that does not exist; `may_lack` leaves such topics out.
        """
        if self.assigned:
            for topic, partition in self.assigned:
                if not may_lack and partition >= counts.get(topic, 0):
                    raise SettingError(f"there is no partition {partition} of topic {topic}")
            return sorted(part for part in set(self.assigned) if part.partition < counts.get(part.topic, 0))
        if self.pattern is not None:
            names = [name for name in counts if re.fullmatch(self.pattern, name)]
        else:
            names = list(self.topics)
            missing = [name for name in names if name not in counts]
            if missing and not may_lack:
                raise SettingError(f"there is no topic {missing[0]}")
        found = sorted(
            {TopicPartition(name, number) for name in names for number in range(counts.get(name, 0))}
        )
        if len(found) > PARTITIONS_MAX:
            raise SettingError(f"the subscription covers {len(found)} partitions, more than {PARTITIONS_MAX}")
        return found


def bounds(
    option: str, text: str, partitions: Sequence[TopicPartition], *, is_stream: bool = False
) -> Offsets:
    """Read `startingOffsets` or `endingOffsets`: an offset, EARLIEST or LATEST for each of `partitions`.

    Raises SettingError when a partition is missing from the JSON or one is named that is not read, and for a
    start at the latest or an end at the earliest offset, as Spark's Kafka source does for batches.
    """
    word = text.strip().lower()
    if word == "latest":
        if option == "startingOffsets" and not is_stream:
            raise SettingError("startingOffsets cannot be latest in a batch, which would read nothing")
        return dict.fromkeys(partitions, LATEST)
    if word == "earliest" and option == "startingOffsets":
        return dict.fromkeys(partitions, EARLIEST)
    found = _numbers(option, text, "neither a known word nor JSON of topic, partition and offset")
    _check_partitions(option, found, partitions)
    if any(offset < EARLIEST for offset in found.values()):
        raise SettingError(f"{option} has an offset below -2")
    if option == "startingOffsets" and LATEST in found.values() and not is_stream:
        raise SettingError("startingOffsets cannot be latest (-1) in a batch, which would read nothing")
    if option == "endingOffsets" and EARLIEST in found.values():
        raise SettingError("endingOffsets cannot be earliest (-2)")
    return found


def times(edge: Edge, partitions: Sequence[TopicPartition]) -> Offsets:
    """Read an edge that gives times: milliseconds since 1970 for each of `partitions`.

    Raises SettingError when a partition is missing from the JSON or one is named that is not read.
    """
    if not edge.option.endswith("ByTimestamp"):
        return dict.fromkeys(partitions, _time(edge.option, edge.text))
    found = _numbers(edge.option, edge.text, "not JSON of topic, partition and milliseconds since 1970")
    for milliseconds in found.values():
        _time(edge.option, str(milliseconds))
    _check_partitions(edge.option, found, partitions)
    return found


def check_edge(edge: Edge, *, is_stream: bool = False) -> None:
    """Raises SettingError for what is wrong with an edge whatever the partitions are."""
    if edge.option.endswith("ByTimestamp"):
        times(
            edge,
            list(
                _numbers(edge.option, edge.text, "not JSON of topic, partition and milliseconds since 1970")
            ),
        )
    elif edge.is_time:
        times(edge, [])
    elif edge.text.strip().startswith("{"):
        bounds(
            edge.option, edge.text, list(_numbers(edge.option, edge.text, "not JSON")), is_stream=is_stream
        )
    else:
        bounds(edge.option, edge.text, [], is_stream=is_stream)


def plan(
    starts: Offsets, ends: Offsets, partitions_min: int = 0, records_max: int | None = None
) -> list[OffsetRange]:
    """The non-empty ranges between resolved bounds, as the tasks of a read.

    None covers more than `records_max` offsets; then the largest are split until there are `partitions_min`,
    or as many as there are offsets.
    """
    ranges = [
        OffsetRange(part, starts[part], ends[part]) for part in sorted(starts) if starts[part] < ends[part]
    ]
    if records_max is not None:
        ranges = [piece for one in ranges for piece in _split(one, -(-(one.end - one.start) // records_max))]
    total = sum(one.end - one.start for one in ranges)
    if not ranges or len(ranges) >= partitions_min:
        return ranges
    return [
        piece
        for one in ranges
        for piece in _split(one, round(partitions_min * (one.end - one.start) / total))
    ]


def _split(one: OffsetRange, pieces: int) -> list[OffsetRange]:
    """`one` in `pieces` of about the same size; never an empty one."""
    size = one.end - one.start
    pieces = min(size, max(1, pieces))
    edges = [one.start + size * index // pieces for index in range(pieces + 1)]
    return [OffsetRange(one.topic_partition, low, high) for low, high in pairwise(edges)]


def resolve(wanted: Offsets, lookup: Callable[[int, list[TopicPartition]], Offsets]) -> Offsets:
    """Replace EARLIEST and LATEST by the offsets that `lookup(timestamp, partitions)` returns."""
    resolved = dict(wanted)
    for word in (EARLIEST, LATEST):
        asked = [partition for partition, offset in wanted.items() if offset == word]
        if asked:
            resolved.update(lookup(word, asked))
    return resolved


def _numbers(option: str, text: str, otherwise: str) -> Offsets:
    try:
        parsed: Any = json.loads(text)
        return {
            TopicPartition(topic, int(number)): int(value)
            for topic, values in parsed.items()
            for number, value in values.items()
        }
    except (ValueError, AttributeError, TypeError):
        raise SettingError(f"{option} is {otherwise}: {text}") from None


def _check_partitions(option: str, found: Offsets, partitions: Sequence[TopicPartition]) -> None:
    if set(found) != set(partitions):
        odd = sorted(set(found) ^ set(partitions))[0]
        raise SettingError(f"{option} must name exactly the partitions that are read; {odd} does not match")


def _time(option: str, text: str) -> int:
    text = text.strip()
    if not (text.isascii() and text.isdecimal() and len(text) <= 18):
        raise SettingError(f"{option} must be milliseconds since 1970, not '{text}'")
    return int(text)


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
