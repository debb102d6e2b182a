"""What applications name in calls of a consumer: what is accepted, and what errors say of the rest."""

from typing import Any

import pytest

from odradek.base.ids import TopicPartition
from odradek.client.aio.arguments import (
    check_names,
    committable,
    partition_of,
    partitions_of,
    timestamps_of,
)
from odradek.client.core.consumer.commits import OffsetAndMetadata

P0 = TopicPartition("orders", 0)


def test_partitions_are_those_of_other_libraries_too() -> None:
    assert partitions_of([P0, ("orders", 1)]) == [P0, TopicPartition("orders", 1)]
    assert partitions_of({P0}) == [P0]
    assert partitions_of(()) == []


def test_a_single_partition_is_no_list() -> None:
    """kafka-python's and aiokafka's `pause(tp)`."""
    with pytest.raises(TypeError, match=r"are a list, also a single one: \[TopicPartition\(topic='orders'"):
        partitions_of(P0)


@pytest.mark.parametrize("given", ["orders", ("orders",), ("orders", 0, 5), (0, "orders"), None, 3])
def test_what_is_no_partition_is_named(given: object) -> None:
    with pytest.raises(TypeError, match="a partition is a TopicPartition, not"):
        partition_of(given)


@pytest.mark.parametrize("number", ["0", 0.0, None])
def test_the_number_of_a_partition_is_whole(number: object) -> None:
    with pytest.raises(TypeError, match="the number of a partition is a whole number, not"):
        partition_of(("orders", number))


def test_offsets_are_numbers_or_have_a_note() -> None:
    noted = OffsetAndMetadata(6, "a note", 2)
    assert committable({P0: 5}) == {P0: OffsetAndMetadata(5)}
    assert committable({P0: noted}) == {P0: noted}


@pytest.mark.parametrize(
    ("offset", "sentence"),
    [
        (None, "the offset of orders-0 is a whole number, not None"),
        (1.5, "the offset of orders-0 is a whole number, not 1.5"),
        ("5", "the offset of orders-0 is a whole number, not '5'"),
        (OffsetAndMetadata(None), "the offset of orders-0 is a whole number, not None"),  # type: ignore[arg-type]
        (OffsetAndMetadata(5, b"x"), "the metadata of an offset is a text, not bytes"),  # type: ignore[arg-type]
        (OffsetAndMetadata(5, "", None), "the leader epoch of orders-0 is a whole number, not None"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_offset_is_named(offset: object, sentence: str) -> None:
    with pytest.raises(TypeError, match=sentence):
        committable({P0: offset})


@pytest.mark.parametrize("offset", [-1, 1 << 63, OffsetAndMetadata(-5)])
def test_an_offset_that_cannot_be_is_refused(offset: object) -> None:
    with pytest.raises(ValueError, match=r"of orders-0 is not from 0 to 9223372036854775807"):
        committable({P0: offset})


def test_timestamps_are_whole_milliseconds() -> None:
    assert timestamps_of({P0: 1_700_000_000_000}) == {P0: 1_700_000_000_000}
    with pytest.raises(TypeError, match=r"a timestamp in milliseconds is a whole number, not 1700000000\.5"):
        timestamps_of({P0: 1_700_000_000.5})


def test_what_is_no_dict_is_named() -> None:
    partitions: Any = [P0]
    with pytest.raises(TypeError, match="offsets are a dict of them by partition, not list"):
        committable(partitions)
    with pytest.raises(TypeError, match="timestamps are a dict of them by partition, not list"):
        timestamps_of(partitions)


def test_topics_are_texts() -> None:
    check_names(["orders", "returns"])
    with pytest.raises(TypeError, match="settings are given as settings="):
        check_names([{"bootstrap.servers": "127.0.0.1:9092"}])
    with pytest.raises(TypeError, match="a topic is a text, not list; several are given as 'a', 'b'"):
        check_names([["orders", "returns"]])
