"""What applications name in calls of a consumer: topics, partitions, offsets, times; checked before use.

What is wrong raises TypeError or ValueError, with a sentence that says what belongs there.
"""

from collections.abc import Iterable, Mapping
from operator import index
from typing import Final

from odradek.base.ids import TopicPartition
from odradek.client.core.consumer.commits import OffsetAndMetadata

_LONG_MAX: Final = (1 << 63) - 1


def check_names(topics: Iterable[object]) -> None:
    """Check that topics are named by texts, each an argument of its own. Raises TypeError."""
    for topic in topics:
        if isinstance(topic, Mapping):
            raise TypeError("a topic is a text, not a dict; settings are given as settings={...}")
        if not isinstance(topic, str):
            raise TypeError(f"a topic is a text, not {_kind(topic)}; several are given as 'a', 'b'")


def partition_of(given: object) -> TopicPartition:
    """One partition, also one of two elements without a name. Raises TypeError."""
    match given:
        case (str() as topic, partition):
            return TopicPartition(topic, _whole("the number of a partition", partition))
    raise TypeError(f"a partition is a TopicPartition, not {given!r}")


def partitions_of(given: Iterable[object]) -> list[TopicPartition]:
    """Several partitions. Raises TypeError."""
    if isinstance(given, TopicPartition):
        raise TypeError(f"partitions are a list, also a single one: [{given!r}]")
    return [partition_of(one) for one in given]


def committable(offsets: Mapping[TopicPartition, object]) -> dict[TopicPartition, OffsetAndMetadata]:
    """What is to be committed. Raises TypeError, and ValueError for offsets that cannot be."""
    if not isinstance(offsets, Mapping):
        raise TypeError(f"offsets are a dict of them by partition, not {_kind(offsets)}")
    return {partition_of(one): _committed(partition_of(one), at) for one, at in offsets.items()}


def timestamps_of(given: Mapping[TopicPartition, object]) -> dict[TopicPartition, int]:
    """The times to look up, in milliseconds. Raises TypeError."""
    if not isinstance(given, Mapping):
        raise TypeError(f"timestamps are a dict of them by partition, not {_kind(given)}")
    return {partition_of(one): _whole("a timestamp in milliseconds", at) for one, at in given.items()}


def _committed(partition: TopicPartition, at: object) -> OffsetAndMetadata:
    if isinstance(at, OffsetAndMetadata):
        full = at
        if not isinstance(at.metadata, str):
            raise TypeError(f"the metadata of an offset is a text, not {_kind(at.metadata)}")
        _whole(f"the leader epoch of {partition}", at.leader_epoch)
    else:
        full = OffsetAndMetadata(_whole(f"the offset of {partition}", at))
    if not 0 <= _whole(f"the offset of {partition}", full.offset) <= _LONG_MAX:
        raise ValueError(f"the offset {full.offset} of {partition} is not from 0 to {_LONG_MAX}")
    return full


def _whole(what: str, given: object) -> int:
    try:
        return index(given)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{what} is a whole number, not {given!r}") from None


def _kind(given: object) -> str:
    return type(given).__name__
