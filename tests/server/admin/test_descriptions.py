"""What /describe shows, row by row, and that making it never holds the loop for long."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

import pytest

from odradek.base.execution import Steps, exhaust
from odradek.server.admin.descriptions import PIECE_CHARS, ROWS_PER_STEP, RenderedRows, describe
from odradek.testing.sim import SimNode
from odradek.wire.messages.delete_topics import DeleteTopicsRequest
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest
from tests.server.admin.test_metrics import CALLS_PER_STEP_MAX, commit, longest_step, make_topic, view_of

CALLS_PER_ROW_MAX: Final = 4
"""What the longest step may grow by for each row more: the things to describe are listed in one step."""


def rendered(rows: Iterator[Mapping[str, Any]]) -> Steps[str]:
    """The whole text, for tests."""
    made, text = RenderedRows(rows), ""
    while not made.is_done:
        text += yield from made.next_piece()
    return text


def rows_of(node: SimNode, subject: str) -> list[dict[str, Any]]:
    rows = describe(view_of(node), subject)
    assert rows is not None
    found: list[dict[str, Any]] = json.loads(exhaust(rendered(rows)))
    return found


def make_groups(node: SimNode, first: int, count: int) -> None:
    for number in range(first, first + count):
        commit(node, f"g{number}", 1)


@pytest.fixture
def wide(node: SimNode) -> SimNode:
    make_topic(node, 20)
    node.ask(FindCoordinatorRequest(coordinator_keys=["g"]))
    return node


def test_rows_are_sorted_and_stand_in_one_array(wide: SimNode) -> None:
    make_groups(wide, 0, 2 * ROWS_PER_STEP)
    assert [row["group"] for row in rows_of(wide, "groups")] == sorted(
        f"g{number}" for number in range(2 * ROWS_PER_STEP)
    )
    partitions = [row["partition"] for row in rows_of(wide, "partitions") if row["topic"] == "wide"]
    assert partitions == [*range(20)]
    assert rows_of(wide, "transactions") == []
    assert describe(view_of(wide), "nothing") is None


@pytest.mark.parametrize("count", [0, 1, ROWS_PER_STEP, 5 * ROWS_PER_STEP, 100])
def test_a_long_text_comes_in_pieces(count: int) -> None:
    """The text of 15,000 groups with long names was put together and encoded in one step of 117 ms."""
    rows = [{"group": f"{number}" * 8_000} for number in range(10, 10 + count)]
    made, pieces = RenderedRows(iter(rows)), list[str]()
    while not made.is_done:
        pieces.append(exhaust(made.next_piece()))
    assert json.loads("".join(pieces)) == rows
    few_chars = ROWS_PER_STEP * 25_000
    assert all(len(piece) <= PIECE_CHARS + few_chars for piece in pieces)
    assert all(len(piece) >= PIECE_CHARS for piece in pieces[:-1])


def test_what_is_deleted_between_two_steps_is_no_harm(wide: SimNode) -> None:
    rows = describe(view_of(wide), "partitions")
    assert rows is not None
    steps = rendered(rows)
    next(steps)
    wide.ask(DeleteTopicsRequest(topic_names=["wide"], timeout_ms=1000), 5)
    wide.settle()
    assert len(json.loads(exhaust(steps))) >= 20


@pytest.mark.slow
@pytest.mark.parametrize("subject", ["partitions", "groups", "compaction"])
def test_the_longest_step_hardly_grows_with_the_rows(wide: SimNode, subject: str) -> None:
    longest, made = [], 0
    for count in (100, 100, 600):  # at first it is loaded
        make_groups(wide, made, count)
        if count > made:
            make_topic(wide, count - made, f"t{count}")
        made = count
        rows = describe(view_of(wide), subject)
        assert rows is not None
        longest.append(longest_step(rendered(rows)))
    _, few, many = longest
    assert many <= CALLS_PER_STEP_MAX
    assert (many - few) / 500 <= CALLS_PER_ROW_MAX, f"{few}, then {many} calls"
