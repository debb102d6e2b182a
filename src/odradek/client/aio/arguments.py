"""What applications name in calls of clients: topics, partitions, offsets, times; checked before use.

What is wrong raises TypeError or ValueError, with a sentence that says what belongs there. Else it would fail
much later, as a request that cannot be encoded. Whether a topic may have its name is for the broker to say.
"""

import re
from collections.abc import Iterable, Mapping
from math import isnan
from operator import index
from typing import Final

from odradek.base.ids import NO_EPOCH, TopicPartition
from odradek.client.aio.rebalance_listener import RebalanceListener
from odradek.client.core.membership.group_metadata import GroupMetadata
from odradek.client.core.offset_and_metadata import OffsetAndMetadata

_INT_MAX: Final = (1 << 31) - 1
_LONG_MAX: Final = (1 << 63) - 1
_STRING_BYTES_MAX: Final = (1 << 15) - 1


def check_topic(name: str) -> None:
    """Check that a request can carry the name of a topic. Raises ValueError."""
    if not name:
        raise ValueError("the name of a topic is not empty")
    _check_text("the name of a topic", name)


def check_names(topics: Iterable[object]) -> None:
    """Check that topics are named by texts, each an argument of its own. Raises TypeError, ValueError."""
    for topic in topics:
        if isinstance(topic, Mapping):
            raise TypeError("a topic is a text, not a dict; settings are given as settings={...}")
        if not isinstance(topic, str):
            raise TypeError(f"a topic is a text, not {_kind(topic)}; several are given as 'a', 'b'")
        check_topic(topic)


def names_of(topics: Iterable[object]) -> list[str]:
    """Topics to subscribe to. Raises as `check_names`."""
    if isinstance(topics, str):
        raise TypeError("topics is a list of names, not one text")
    names = list(topics)
    check_names(names)
    return [str(name) for name in names]


def pattern_of(pattern: object) -> re.Pattern[str]:
    """A pattern of topics' names, also one that is compiled already. Raises TypeError, ValueError."""
    match pattern:
        case str():
            try:
                return re.compile(pattern)
            except re.error as fault:
                raise ValueError(f"the pattern {pattern!r} is no regular expression: {fault}") from None
        case re.Pattern(pattern=str()):
            return pattern
        case re.Pattern():
            raise TypeError("a pattern of topics is compiled from a text, not from bytes")
    raise TypeError(f"a pattern of topics is a text, or what re.compile makes of one, not {_kind(pattern)}")


def check_listener(listener: object) -> None:
    """Check that a listener is one, unless there is none. Raises TypeError."""
    if not isinstance(listener, RebalanceListener | None):
        said = f"{listener!r}: derive from RebalanceListener, and give an object of your class"
        raise TypeError(f"a listener is a RebalanceListener, not {said}")


def partition_of(given: object) -> TopicPartition:
    """One partition, also one of two elements without a name. Raises TypeError, ValueError."""
    match given:
        case (str() as topic, partition):
            check_topic(topic)
            return TopicPartition(topic, _within("the number of a partition", partition, 0, _INT_MAX))
    raise TypeError(f"a partition is a TopicPartition, not {given!r}")


def partitions_of(given: Iterable[object]) -> list[TopicPartition]:
    """Several partitions. Raises TypeError, ValueError."""
    if isinstance(given, TopicPartition):
        raise TypeError(f"partitions are a list, also a single one: [{given!r}]")
    return [partition_of(one) for one in given]


def committable(offsets: Mapping[TopicPartition, object]) -> dict[TopicPartition, OffsetAndMetadata]:
    """What is to be committed. Raises TypeError, and ValueError for offsets that cannot be."""
    if not isinstance(offsets, Mapping):
        raise TypeError(f"offsets are a dict of them by partition, not {_kind(offsets)}")
    found = ((partition_of(one), at) for one, at in offsets.items())
    return {one: position_of(one, at) for one, at in found}


def group_of(given: object) -> GroupMetadata:
    """The group whose offsets a transaction commits, also by its id. Raises TypeError, ValueError."""
    if isinstance(given, str):
        given = GroupMetadata(given)
    if not isinstance(given, GroupMetadata):
        raise TypeError(f"a group is consumer.group_metadata(), or its id as a text, not {given!r}")
    _check_text("the id of a group", given.group_id)
    return given


def position_of(partition: TopicPartition, at: object) -> OffsetAndMetadata:
    """Where to read on, an offset or one with more. Raises TypeError, ValueError."""
    if not isinstance(at, OffsetAndMetadata):
        return OffsetAndMetadata(_within(f"the offset of {partition}", at, 0, _LONG_MAX))
    if not isinstance(at.metadata, str):
        raise TypeError(f"the metadata of an offset is a text, not {_kind(at.metadata)}")
    _check_text("the metadata of an offset", at.metadata)
    return OffsetAndMetadata(
        _within(f"the offset of {partition}", at.offset, 0, _LONG_MAX),
        at.metadata,
        _within(f"the leader epoch of {partition}", at.leader_epoch, NO_EPOCH, _INT_MAX),
    )


def timestamps_of(given: Mapping[TopicPartition, object]) -> dict[TopicPartition, int]:
    """The times to look up, in milliseconds since 1970. Raises TypeError, ValueError."""
    if not isinstance(given, Mapping):
        raise TypeError(f"timestamps are a dict of them by partition, not {_kind(given)}")
    what = "a timestamp in milliseconds"
    return {partition_of(one): _within(what, at, 0, _LONG_MAX) for one, at in given.items()}


def count_of(given: object) -> int:
    """How many records a call may return. Raises TypeError, ValueError."""
    return _within("max_records", given, 1, _INT_MAX)


def seconds_of(given: object) -> float:
    """A time to wait; below 0 it is none, and infinity the longest there is. Raises TypeError, ValueError."""
    if not isinstance(given, int | float):
        raise TypeError(f"a timeout is a number of seconds, not {given!r}")
    if isnan(given):
        raise ValueError("a timeout is a number of seconds, not nan")
    return max(0.0, min(given, float(_INT_MAX)))


def whole_of(what: str, given: object) -> int:
    """A whole number, also one of numpy's. Raises TypeError."""
    try:
        return index(given)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{what} is a whole number, not {given!r}") from None


def _within(what: str, given: object, least: int, most: int) -> int:
    found = whole_of(what, given)
    if not least <= found <= most:
        raise ValueError(f"{what} is from {least} to {most}, not {found}")
    return found


def _check_text(what: str, text: str) -> None:
    try:
        size_bytes = len(text.encode())
    except UnicodeEncodeError:  # as half of a pair of UTF-16
        raise ValueError(f"{what} has a character that UTF-8 does not have: {text!r}") from None
    if size_bytes > _STRING_BYTES_MAX:
        raise ValueError(f"{what} has at most {_STRING_BYTES_MAX} bytes, not {size_bytes}")


def _kind(given: object) -> str:
    return type(given).__name__
