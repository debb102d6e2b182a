"""What /describe shows, row by row, and that making it never holds the loop for long."""

import json
from typing import Any, Final

import pytest

from odradek.base.execution import exhaust
from odradek.server.admin.descriptions import ROWS_PER_STEP, describe, rendered
from odradek.testing.sim import SimNode
from odradek.wire.messages.delete_topics import DeleteTopicsRequest
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest
from tests.server.admin.test_metrics import CALLS_PER_STEP_MAX, commit, longest_step, make_topic, view_of

CALLS_PER_ROW_MAX: Final = 4
"""What the longest step may grow by for each row more: the things to describe are listed in one step."""


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
