"""What applications name in calls of clients: what is accepted, and what errors say of the rest."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from odradek.base.ids import TopicPartition
from odradek.client.aio.arguments import (
    check_listener,
    check_names,
    committable,
    count_of,
    group_of,
    names_of,
    partition_of,
    partitions_of,
    pattern_of,
    seconds_of,
    timestamps_of,
    whole_of,
)
from odradek.client.aio.rebalance_listener import RebalanceListener
from odradek.client.core.membership.group_metadata import GroupMetadata
from odradek.client.core.offset_and_metadata import OffsetAndMetadata

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
    with pytest.raises(ValueError, match=r"of orders-0 is from 0 to 9223372036854775807, not "):
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


class Three:
    """A whole number of another library, as numpy's are."""

    def __index__(self) -> int:
        return 3


def test_what_requests_can_carry_is_taken() -> None:
    pattern = re.compile("in.*")
    group = GroupMetadata("billing", 2, "m")
    assert partition_of(("orders", Three())) == TopicPartition("orders", 3)
    assert committable({P0: (1 << 63) - 1, ("b", 0): Three()})[TopicPartition("b", 0)].offset == 3  # type: ignore[dict-item]
    assert names_of(("a", "b")) == ["a", "b"]
    assert [pattern_of(one) for one in ("in.*", pattern)] == [pattern, pattern]
    assert [count_of(one) for one in (1, Three(), (1 << 31) - 1)] == [1, 3, (1 << 31) - 1]
    assert [seconds_of(one) for one in (-1, 0.5, float("inf"))] == [0, 0.5, (1 << 31) - 1]
    assert [group_of(one) for one in ("billing", group)] == [GroupMetadata("billing"), group]
    assert whole_of("a number", Three()) == 3
    check_listener(None)
    check_listener(RebalanceListener())


@pytest.mark.parametrize(
    ("check", "given", "kind", "sentence"),
    [
        (partition_of, ("", 0), ValueError, "the name of a topic is not empty"),
        (partition_of, ("\ud800", 0), ValueError, "a character that UTF-8 does not have"),
        (
            partition_of,
            ("orders", -1),
            ValueError,
            "the number of a partition is from 0 to 2147483647, not -1",
        ),
        (partition_of, ("orders", 1 << 31), ValueError, "from 0 to 2147483647, not 2147483648"),
        (names_of, "orders", TypeError, "topics is a list of names, not one text"),
        (names_of, ["\ud800"], ValueError, "a character that UTF-8 does not have"),
        (names_of, ["t" * 32_768], ValueError, "at most 32767 bytes, not 32768"),
        (pattern_of, b"orders", TypeError, "is a text, or what re.compile makes of one, not bytes"),
        (pattern_of, re.compile(b"orders"), TypeError, "is compiled from a text, not from bytes"),
        (pattern_of, "(", ValueError, r"the pattern '\(' is no regular expression: missing \)"),
        (
            check_listener,
            print,
            TypeError,
            "a listener is a RebalanceListener, not <built-in function print>",
        ),
        (check_listener, RebalanceListener, TypeError, "give an object of your class"),
        (
            committable,
            {P0: OffsetAndMetadata(1, "\ud800")},
            ValueError,
            "the metadata of an offset has a char",
        ),
        (committable, {P0: OffsetAndMetadata(1, "x" * 40_000)}, ValueError, "at most 32767 bytes, not 40000"),
        (
            committable,
            {P0: OffsetAndMetadata(1, "", -2)},
            ValueError,
            "the leader epoch of orders-0 is from -1",
        ),
        (timestamps_of, {P0: -1}, ValueError, "a timestamp in milliseconds is from 0 to"),
        (count_of, 0, ValueError, "max_records is from 1 to 2147483647, not 0"),
        (count_of, 1.5, TypeError, r"max_records is a whole number, not 1\.5"),
        (seconds_of, "1", TypeError, "a timeout is a number of seconds, not '1'"),
        (seconds_of, float("nan"), ValueError, "a timeout is a number of seconds, not nan"),
        (group_of, None, TypeError, r"a group is consumer.group_metadata\(\), or its id as a text, not None"),
        (group_of, "\ud800", ValueError, "the id of a group has a character that UTF-8 does not have"),
    ],
)
def test_what_no_request_can_carry_is_refused(
    check: Callable[[Any], object], given: object, kind: type[Exception], sentence: str
) -> None:
    with pytest.raises(kind, match=sentence):
        check(given)
