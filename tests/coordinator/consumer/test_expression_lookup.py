from collections.abc import Iterable

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.execution import Steps, exhaust
from odradek.coordinator.consumer import regular_expressions
from odradek.coordinator.consumer.expression_lookup import LOOKUPS_KEPT_MAX, ExpressionLookup
from tests.coordinator.group_bench import GroupBench


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every name that any expression looks at, in order of names."""
    names: list[str] = []
    real = regular_expressions.matching_in_steps

    def matching(expression: str, topics: Iterable[str]) -> Steps[frozenset[str]]:
        new = sorted(topics)
        names.extend(new)
        return real(expression, new)

    monkeypatch.setattr(regular_expressions, "matching_in_steps", matching)
    return names


def test_the_worked_example(bench: GroupBench, looked_at: list[str]) -> None:
    bench.known_topics.clear()
    bench.known_topics.update({"t1", "t2", "u"})
    lookup = ExpressionLookup(bench.topics)
    assert lookup.matching("t.*") == {"t1", "t2"}
    assert looked_at == ["t1", "t2", "u"]
    assert lookup.matching("t.*") == {"t1", "t2"}
    bench.known_topics.add("t3")
    bench.touch_topics()
    assert lookup.matching("t.*") == {"t1", "t2", "t3"}
    assert looked_at == ["t1", "t2", "u", "t3"]


def test_topics_that_go_and_come_back_are_looked_at_again(bench: GroupBench) -> None:
    lookup = ExpressionLookup(bench.topics)
    assert lookup.matching("t") == {"t"}
    bench.known_topics.discard("t")
    bench.touch_topics()
    assert lookup.matching("t") == set()
    bench.known_topics.add("t")
    bench.touch_topics()
    assert lookup.matching("t") == {"t"}


@pytest.mark.parametrize("names", [set(), {"t"}])
def test_an_invalid_expression_is_refused_whatever_there_is(bench: GroupBench, names: set[str]) -> None:
    bench.known_topics.intersection_update(names)
    lookup = ExpressionLookup(bench.topics)
    for _ in range(2):
        with pytest.raises(ApiError) as refused:
            lookup.matching("(")
        assert refused.value.code is ErrorCode.INVALID_REGULAR_EXPRESSION


def test_no_more_than_so_many_are_remembered(bench: GroupBench, looked_at: list[str]) -> None:
    lookup = ExpressionLookup(bench.topics)
    for number in range(LOOKUPS_KEPT_MAX + 1):
        lookup.matching(f"t{number}")
    looked_at.clear()
    lookup.matching(f"t{LOOKUPS_KEPT_MAX}")
    assert looked_at == []
    lookup.matching("t0")
    assert looked_at == ["t", "u"]


def test_a_dear_expression_looks_at_few_names_in_each_step(bench: GroupBench) -> None:
    """One heartbeat of 100 bytes held the loop for seconds where there are thousands of topics."""
    bench.known_topics.clear()
    bench.known_topics.update({f"t{number:0200}" for number in range(200)})
    lookup = ExpressionLookup(bench.topics)
    dear, cheap = "(.{0,20}a.{0,20}){0,20}z", "t.*"
    assert lookup.is_due([dear, cheap])
    assert sum(1 for _ in lookup.look_up([dear])) > 190
    assert sum(1 for _ in lookup.look_up([cheap])) < 5
    assert not lookup.is_due([dear, cheap])
    assert len(lookup.matching(cheap)) == 200


def test_all_expressions_of_one_group_are_remembered_until_its_heartbeat(
    bench: GroupBench, looked_at: list[str]
) -> None:
    lookup = ExpressionLookup(bench.topics)
    expressions = [f"t{number}" for number in range(2 * LOOKUPS_KEPT_MAX)]
    exhaust(lookup.look_up(["(", *expressions]))
    looked_at.clear()
    for expression in expressions:
        lookup.matching(expression)
    assert looked_at == []
    exhaust(lookup.look_up(["t"]))
    assert lookup.is_due(expressions[:1]), "the others are forgotten when the next heartbeat comes"
