"""Expressions match as Kafka's do, and hostile ones cost little."""

import pytest

from odradek.base.execution import exhaust
from odradek.coordinator.consumer.regular_expressions import (
    PATTERNS_KEPT_MAX,
    InvalidRegularExpression,
    compiled,
    matching_in_steps,
)

TOPICS = ["flights", "flights-2024", "old-flights", "planes", "Planes"]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("flights", {"flights"}),
        ("flights.*", {"flights", "flights-2024"}),
        (".*flights", {"flights", "old-flights"}),
        ("^planes$", {"planes"}),
        ("(?i)planes", {"planes", "Planes"}),
        ("planes|flights", {"planes", "flights"}),
        (r"[[:alpha:]]+-\d{4}", {"flights-2024"}),
        (r"\pL+", {"flights", "planes", "Planes"}),
        ("flight", set()),
        ("", set()),
        ("ß", set()),
    ],
)
def test_the_whole_name_matches_or_it_does_not(pattern: str, expected: set[str]) -> None:
    assert exhaust(matching_in_steps(pattern, TOPICS)) == expected


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(", "missing )"),
        ("[a-", "missing ]"),
        ("*", "no argument for repetition operator"),
        ("a(?=b)", "invalid perl operator"),
        (r"(a)\1", "invalid escape sequence"),
        ("a++", "bad repetition operator"),
        ("x{1001}", "invalid repetition size"),
        ("((a{100}){100}){100}", "invalid repetition size"),
        (r"(\pL{50}){20}" * 40, "too large"),
        ("(.{0,30}a.{0,30}){0,30}z", "too large"),
        ("a" * 4097, "4097 characters"),
        ("\ud800", "not Unicode"),
    ],
)
def test_what_is_no_expression_is_refused_with_a_reason_and_without_a_word_to_standard_error(
    pattern: str, reason: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(InvalidRegularExpression, match=reason.replace(")", r"\)").replace("]", r"\]")):
        exhaust(matching_in_steps(pattern, TOPICS))
    assert capfd.readouterr() == ("", "")


def test_an_expression_that_would_never_end_elsewhere_is_quick_and_quiet_here(
    capfd: pytest.CaptureFixture[str],
) -> None:
    names = ["a" * 249, "a" * 248 + "!"]
    assert exhaust(matching_in_steps("(a*)*b|(a|aa)+|(.*a){25}", names)) == {"a" * 249}
    assert capfd.readouterr() == ("", "")


def test_only_the_expressions_used_last_stay_compiled() -> None:
    first = compiled("t0")
    assert compiled("t0") is first
    for number in range(1, PATTERNS_KEPT_MAX + 1):
        compiled(f"t{number}")
    assert compiled.cache_info().currsize == PATTERNS_KEPT_MAX
    assert compiled("t0") is not first
