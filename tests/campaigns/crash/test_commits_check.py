"""The check of `./dev crash --during commits` fails at everything that it is there to find."""

import pytest
from campaigns.crash.campaign import Broken
from campaigns.crash.commits_check import Committed, Promise, Standing

NONE_FOUND: dict[int, Committed | None] = {0: None, 1: None}


def everywhere(offset: int) -> dict[int, Committed | None]:
    """Two partitions with this offset and its metadata."""
    return dict.fromkeys((0, 1), (offset, str(offset)))


@pytest.mark.parametrize("offset", [5, 6, 7], ids=["acknowledged", "unanswered", "last attempted"])
def test_anything_from_the_last_acknowledged_to_the_last_attempted_holds(offset: int) -> None:
    Promise("g", attempted=7, acknowledged=5).check(everywhere(offset), 5)


def test_nothing_holds_before_the_first_acknowledgement() -> None:
    Promise("g", attempted=0).check(NONE_FOUND, -1)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (everywhere(4), "acknowledged commit is lost"),
        (NONE_FOUND, "offsets are lost"),
        (everywhere(8), "nobody committed that"),
        ({0: (5, "5"), 1: (6, "6")}, "there in part"),
        ({0: (5, "5"), 1: None}, "there in part"),
        (dict.fromkeys((0, 1), (6, "5")), "metadata of another"),
    ],
)
def test_whatever_else_is_found_breaks_the_promise(found: dict[int, Committed | None], words: str) -> None:
    with pytest.raises(Broken, match=words):
        Promise("g", attempted=7, acknowledged=5).check(found, 5)


@pytest.mark.parametrize(("expected", "found"), [(5, None), (5, 4), (None, 5)])
def test_a_standing_group_that_changed_breaks_the_promise(expected: int | None, found: int | None) -> None:
    with pytest.raises(Broken, match="group g should have committed"):
        Standing().check("g", expected, found)


def test_a_request_under_way_leaves_the_expectation_open() -> None:
    standing = Standing()
    standing.expect("g", 5)
    standing.leave_open("g")
    assert standing.snapshot() == {}
    standing.expect("g", None)
    assert standing.snapshot() == {"g": None}
