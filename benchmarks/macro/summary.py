"""From measurements to medians, ratios and their spread. Pure; a failed measurement is counted, never hidden.

The ratio is taken pair by pair, Odradek's figure over Apache Kafka's of the same pair, and its median is
reported: a minute in which the machine is slow slows both halves of a pair.

    pair        1     2     3          median   spread
    kafka     200   100   210  MB/s      200    100–210
    odradek   220   115   200  MB/s      200    115–220
    ratio    1.10  1.15  0.95           1.10   0.95–1.15
"""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmarks.macro.results import Measurement
from benchmarks.macro.scenario import Figure, Scenario


@dataclass(frozen=True, slots=True)
class Spread:
    """The median of some values, with the least and the greatest."""

    median: float
    least: float
    greatest: float


@dataclass(frozen=True, slots=True)
class FigureSummary:
    """One figure over all pairs; None if no pair has it."""

    figure: Figure
    kafka: Spread | None
    odradek: Spread | None
    ratio: Spread | None

    @property
    def verdict(self) -> bool | None:
        """Whether Odradek meets the goal; None without a goal or without figures."""
        if self.figure.goal is not None and self.odradek is not None:
            return self.figure.meets(self.odradek.median, self.figure.goal)
        if self.figure.ratio_goal is not None and self.ratio is not None:
            return self.figure.meets(self.ratio.median, self.figure.ratio_goal)
        return None


def summarize(scenario: Scenario, measurements: Iterable[Measurement]) -> list[FigureSummary]:
    """Summaries of a scenario's figures, in their order."""
    own = [each for each in measurements if each.scenario == scenario.name]
    return [_summary(figure, own) for figure in scenario.figures]


def failures(scenario: Scenario, measurements: Iterable[Measurement]) -> list[Measurement]:
    """The measurements of a scenario that failed."""
    return [each for each in measurements if each.scenario == scenario.name and each.error is not None]


def _summary(figure: Figure, measurements: Sequence[Measurement]) -> FigureSummary:
    by_pair: dict[str, dict[int, float]] = {"kafka": {}, "odradek": {}}
    for each in measurements:
        if figure.name in each.figures:
            by_pair[each.broker][each.pair] = each.figures[figure.name]
    kafka, odradek = by_pair["kafka"], by_pair["odradek"]
    ratios = [odradek[pair] / kafka[pair] for pair in kafka if pair in odradek and kafka[pair] > 0]
    return FigureSummary(figure, spread_of(kafka.values()), spread_of(odradek.values()), spread_of(ratios))


def spread_of(values: Iterable[float]) -> Spread | None:
    """The spread of some values; None if there are none."""
    ordered = sorted(values)
    return Spread(statistics.median(ordered), ordered[0], ordered[-1]) if ordered else None
