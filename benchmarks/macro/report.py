"""docs/benchmarks.md from the recorded runs: for each scenario the newest run of both brokers."""

from collections.abc import Iterable, Iterator

from benchmarks.macro.results import ROOT, Run
from benchmarks.macro.scenario import Better, Figure, Scenario
from benchmarks.macro.scenarios import CLUSTER_SCENARIOS, SCENARIOS
from benchmarks.macro.summary import FigureSummary, Spread, failures, summarize

PAGE = ROOT / "docs" / "benchmarks.md"

INTRODUCTION = """\
# Speed and memory

Apache Kafka and Odradek in turn on one machine, with the same settings, driven by the same real clients:
`./dev bench`, which also writes this page. A pair is one broker after the other, both started afresh; the
ratio is Odradek's figure over Apache Kafka's of the same pair. Figures are medians over all pairs; brackets
give minimum and maximum. A goal counts as met within 5 %. Every finished run is in `benchmarks/results/`; an
unfinished run leaves nothing there.

Neither broker waits for more members when a group begins (`group.initial.rebalance.delay.ms=0`), except
where cold clients are measured: there each broker has its own default, which is 3,000 ms for Apache Kafka.

`./dev bench --brokers 3` measures three brokers of each kind on the same machine, Apache Kafka's as a KRaft
quorum in which each broker is a controller, too. Topics have three replicas and `min.insync.replicas=2`.
Processor time and memory are those of all processes, Odradek's supervisor included.
"""

_ALL = (*SCENARIOS.values(), *CLUSTER_SCENARIOS.values())
VERDICTS = {True: "met", False: "**missed**", None: ""}


def write_page(runs: Iterable[Run]) -> None:
    """Write the page anew."""
    PAGE.write_text("\n".join(_page(list(runs))))


def table(scenario: Scenario, run: Run) -> list[str]:
    """A scenario of a run as the lines of a Markdown table."""
    lines = [
        "| figure | Apache Kafka | Odradek | ratio | goal | |",
        "|---|---:|---:|---:|---:|---|",
    ]
    lines += [_row(summary) for summary in summarize(scenario, run.measurements)]
    for failed in failures(scenario, run.measurements):
        lines += ["", f"Pair {failed.pair}, {failed.broker}, failed: {failed.error}"]
    return lines


def _page(runs: list[Run]) -> Iterator[str]:
    yield INTRODUCTION
    yield from _goals(runs)
    for scenario in _ALL:
        run = _newest(scenario, runs)
        if run is None:
            continue
        pairs = max(each.pair for each in run.measurements)
        commit = run.commit[:10] + ("" if run.is_clean else " with changes")
        yield f"## {scenario.title}\n"
        yield from table(scenario, run)
        brokers = ", ".join(run.versions.values())
        yield f"\n{pairs} pairs, {run.date[:10]}, commit {commit}, {brokers}; {setup(run)}.\n"


def _goals(runs: list[Run]) -> Iterator[str]:
    """All goals, also those of scenarios without a measurement."""
    yield "## Goals\n"
    yield "| scenario | figure | goal | measured | |"
    yield "|---|---|---:|---:|---|"
    for scenario in _ALL:
        run = _newest(scenario, runs)
        for summary in summarize(scenario, run.measurements if run else ()):
            figure = summary.figure
            if figure.goal is None and figure.ratio_goal is None:
                continue
            verdict = VERDICTS[summary.verdict] or "not measured"
            measured = _against_goal(summary)
            yield f"| `{scenario.name}` | {figure.name} | {_goal(figure)} | {measured} | {verdict} |"
    yield ""


def _against_goal(summary: FigureSummary) -> str:
    """The median to compare with the goal."""
    figure = summary.figure
    if figure.goal is not None:
        return "–" if summary.odradek is None else f"{number(summary.odradek.median)} {figure.unit}"
    return "–" if summary.ratio is None else f"{number(summary.ratio.median)}×"


def _newest(scenario: Scenario, runs: list[Run]) -> Run | None:
    for run in reversed(runs):
        brokers = {each.broker for each in run.measurements if each.scenario == scenario.name}
        if brokers == {"kafka", "odradek"}:
            return run
    return None


def setup(run: Run) -> str:
    """The machine, the versions and the settings of a run, in words."""
    machine = run.machine
    settings = ", ".join(f"{key}={value}" for key, value in run.settings.items()) or "default settings"
    hardware = f"{machine['cores']} cores ({machine['processor']}), {machine['memory']}"
    return f"{hardware}, {machine['system']}, Python {machine['python']}, {machine['java']}; {settings}"


def _row(summary: FigureSummary) -> str:
    figure = summary.figure
    verdict = VERDICTS[summary.verdict]
    cells = [
        f"{figure.name}, {figure.unit}",
        cell(summary.kafka),
        cell(summary.odradek),
        cell(summary.ratio),
        _goal(figure),
        verdict,
    ]
    return f"| {' | '.join(cells)} |"


def cell(spread: Spread | None) -> str:
    """A median with the least and the greatest value."""
    if spread is None:
        return "–"
    return f"{number(spread.median)} ({number(spread.least)}–{number(spread.greatest)})"


def number(value: float) -> str:
    """A figure as the pages show it."""
    # Three significant digits and no exponents: 0.114, 17.1, 2,350.
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}" if abs(value) >= 1 else f"{value:.3f}"


def _goal(figure: Figure) -> str:
    sign = "≥" if figure.better is Better.HIGHER else "≤"
    if figure.goal is not None:
        return f"{sign} {figure.goal:,g} {figure.unit}"
    if figure.ratio_goal is not None:
        return f"{sign} {figure.ratio_goal:g}×"
    return ""
