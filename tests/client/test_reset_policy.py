"""`auto.offset.reset` as Kafka spells it."""

import pytest

from odradek.base.offset_timestamps import EARLIEST, LATEST
from odradek.client.reset_policy import Ago, ResetPolicy, reset_policy, timestamp_of


@pytest.mark.parametrize(
    ("text", "policy"),
    [
        ("earliest", EARLIEST),
        ("latest", LATEST),
        ("none", None),
        ("by_duration:pt0s", Ago(0)),
        ("by_duration:p2d", Ago(2 * 86_400_000)),
        ("by_duration:p1dt12h30m5.25s", Ago(131_405_250)),
        ("by_duration:pt0.0019s", Ago(1)),
        ("by_duration:pt90m", Ago(5_400_000)),
    ],
)
def test_what_a_value_means(text: str, policy: ResetPolicy) -> None:
    assert reset_policy(text) == policy


@pytest.mark.parametrize(
    "text",
    [
        "",
        "smallest",
        "by_duration:",
        "by_duration:p",
        "by_duration:pt",
        "by_duration:p1dt",
        "by_duration:-pt1h",
        "by_duration:pt-1h",
        "by_duration:p1h",
        "by_duration:p1m",
        "by_duration:1h",
        "by_duration:pt1h ",
        "by_duration:pt\u0661h",
        "by_duration:pt1.5h",
    ],
)
def test_other_values_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=text or None):
        reset_policy(text)


def test_the_time_that_is_looked_up() -> None:
    assert timestamp_of(Ago(1_500), 2_000) == 500
    assert timestamp_of(Ago(5_000), 2_000) == 0, "before the epoch there is no record"
    assert timestamp_of(LATEST, 2_000) == LATEST
    assert timestamp_of(None, 2_000) is None
