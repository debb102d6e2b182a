"""The check of `./dev crash --during transactions` fails at everything that it is there to find."""

from dataclasses import replace

import pytest
from campaigns.crash.campaign import Broken
from campaigns.crash.transactions_check import COPIES, Outcome, Written, check_output


def transaction(name: str, *offsets: int) -> list[Written]:
    """Everything that a transaction writes that reads these offsets of partition 0."""
    size = len(offsets) * COPIES
    return [Written(name, size, 0, offset, copy) for offset in offsets for copy in range(COPIES)]


FIRST, SECOND = transaction("a", 0, 1), transaction("b", 2)
BOTH = {"a": Outcome.COMMITTED, "b": Outcome.COMMITTED}
COMMITTED = {0: 3}


def test_a_record_of_the_output_tells_where_it_comes_from() -> None:
    (one, *_) = FIRST
    assert Written.decode(one.encode().encode()) == one


def test_whole_transactions_hold() -> None:
    check_output(BOTH, FIRST + SECOND, COMMITTED)


@pytest.mark.parametrize("outcome", [Outcome.OPEN, Outcome.ENDING, Outcome.ABORTED])
def test_a_transaction_that_was_not_acknowledged_may_be_missing(outcome: Outcome) -> None:
    check_output({**BOTH, "b": outcome}, FIRST, {0: 2})


def test_a_transaction_whose_commit_was_not_answered_may_be_there() -> None:
    check_output({**BOTH, "b": Outcome.ENDING}, FIRST + SECOND, COMMITTED)


@pytest.mark.parametrize(
    ("outcomes", "seen", "committed", "words"),
    [
        (BOTH, FIRST[1:] + SECOND, COMMITTED, "half visible"),
        (BOTH, FIRST, COMMITTED, "not visible"),
        (BOTH, FIRST + SECOND + SECOND[:1], COMMITTED, "twice"),
        ({**BOTH, "b": Outcome.ABORTED}, FIRST + SECOND, COMMITTED, "nobody committed"),
        ({**BOTH, "b": Outcome.OPEN}, FIRST + SECOND, COMMITTED, "nobody committed"),
        ({"a": Outcome.COMMITTED}, FIRST + SECOND, COMMITTED, "nobody committed"),
        (BOTH, FIRST + [replace(one, offset=1) for one in SECOND], COMMITTED, "by two transactions"),
        (BOTH, FIRST + SECOND, {0: 4}, "missing below"),
        (BOTH, FIRST + SECOND, {0: 2}, "above the committed"),
    ],
)
def test_whatever_else_is_seen_breaks_the_promise(
    outcomes: dict[str, Outcome], seen: list[Written], committed: dict[int, int], words: str
) -> None:
    with pytest.raises(Broken, match=words):
        check_output(outcomes, seen, committed)
