"""The check of `./dev crash --during rebalances` fails at everything that it is there to find."""

import pytest
from campaigns.crash.campaign import Broken
from campaigns.crash.rebalances_check import check_read, misplaced


def test_one_owner_each_is_right() -> None:
    assert misplaced({"a": [0, 2], "b": [1]}, 3) == []


@pytest.mark.parametrize(
    ("owned", "words"),
    [
        ({"a": [0, 2]}, "nobody has [1]"),
        ({"a": [0, 1], "b": [1, 2]}, "several have [1]"),
        ({"a": [0, 1, 2, 3]}, "there is no [3]"),
        ({}, "nobody has [0, 1, 2]"),
        ({"a": [0, 1, 2], "b": []}, "b has none"),
    ],
)
def test_anything_else_is_told_in_words(owned: dict[str, list[int]], words: str) -> None:
    assert misplaced(owned, 3) == [words]


def test_every_record_read_once_is_right_whatever_else_was_read() -> None:
    check_read("g", [3, 4], {"a": [1, 1, 3], "b": [1, 4, 5]})


@pytest.mark.parametrize(
    ("read", "words"),
    [
        ({"a": [3]}, "missing: .4."),
        ({"a": [3], "b": [4, 4]}, "read twice in group g: ..4, ..b., .b."),
        ({"a": [3, 4], "b": [4]}, "read twice in group g: ..4, ..a., .b."),
    ],
)
def test_records_unread_or_read_twice_break_the_promise(read: dict[str, list[int]], words: str) -> None:
    with pytest.raises(Broken, match=words):
        check_read("g", [3, 4], read)
