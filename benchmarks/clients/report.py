"""docs/client-speed.md from the recorded runs: of each contest the newest one."""

from collections.abc import Iterable, Iterator, Sequence

from benchmarks.clients.contests import CONTESTS, Contest, Goal
from benchmarks.macro.report import VERDICTS, cell, number, setup
from benchmarks.macro.results import ROOT, Measurement, Run
from benchmarks.macro.scenario import Better, Figure
from benchmarks.macro.summary import Spread, spread_of

PAGE = ROOT / "docs" / "client-speed.md"

INTRODUCTION = """\
# Speed of the clients

Clients for Python in turn, on one broker of Odradek: `./dev bench clients`, which also writes this page. Each
client does each job in a process of its own, and in a round all do it once. Figures are medians over all
rounds; brackets give minimum and maximum. Ratios are taken round by round. A goal counts as met within 5 %.

Writers are idempotent, wait for `acks=all`, have `linger.ms=5` and `batch.size=65536`, and the time ends with
the last receipt. Readers are assigned the partition and get at most 10,000 records from one poll; the time
begins with the first poll. Values are JSON objects. `CPU` and `memory` are those of the client's process.

Spark has a session for each run, on all processors, and does each job twice: the second time counts. A
pipeline writes its ledger, too, and verifies what it reads; the connector's job decodes with `from_json`.
"""


def write_page(runs: Iterable[Run]) -> None:
    """Write the page anew."""
    PAGE.write_text("\n".join(_page(list(runs))))


def table(contest: Contest, measurements: Sequence[Measurement]) -> list[str]:
    """The figures of a contest, and how the goals are met, as the lines of Markdown tables."""
    heads = [f"{figure.name}, {figure.unit}" for figure in contest.figures]
    lines = [f"| client | {' | '.join(heads)} |", f"|---|{'---:|' * len(heads)}"]
    for client in contest.entrants:
        cells = [cell(spread_of(_by_round(measurements, client, one).values())) for one in contest.figures]
        lines.append(f"| {client} | {' | '.join(cells)} |")
    if contest.goals:
        lines += ["", "| goal | measured | |", "|---|---:|---|"]
        lines += [_row(contest, goal, measurements) for goal in contest.goals]
    for failed in measurements:
        if failed.error is not None:
            lines += ["", f"Round {failed.pair}, {failed.broker}, failed: {failed.error}"]
    return lines


def _page(runs: list[Run]) -> Iterator[str]:
    yield INTRODUCTION
    for contest in CONTESTS.values():
        run = next((one for one in reversed(runs) if _of(contest, one)), None)
        if run is None:
            continue
        found = _of(contest, run)
        commit = run.commit[:10] + ("" if run.is_clean else " with changes")
        versions = ", ".join(f"{name} {version}" for name, version in run.versions.items())
        yield f"## {contest.title}\n"
        yield from table(contest, found)
        rounds = max(one.pair for one in found)
        yield f"\n{rounds} rounds, {run.date[:10]}, commit {commit}, {versions}; {setup(run)}.\n"


def _of(contest: Contest, run: Run) -> list[Measurement]:
    return [one for one in run.measurements if one.scenario == contest.name]


def _by_round(measurements: Iterable[Measurement], client: str, figure: Figure) -> dict[int, float]:
    """The figure of a client in each round that has it."""
    return {
        one.pair: one.figures[figure.name]
        for one in measurements
        if one.broker == client and figure.name in one.figures
    }


def _row(contest: Contest, goal: Goal, measurements: Sequence[Measurement]) -> str:
    figure = contest.figures[0]
    found = _against(goal, figure, measurements)
    is_met = None if found is None else goal.is_met(figure, found.median)
    sign = "≥" if figure.better is Better.HIGHER else "≤"
    bound = f"{sign} {number(goal.bound)}" + ("" if goal.rival is None else f" × {goal.rival}")
    return f"| {goal.client}: {figure.name} {bound} | {cell(found)} | {VERDICTS[is_met]} |"


def _against(goal: Goal, figure: Figure, measurements: Sequence[Measurement]) -> Spread | None:
    """What is compared with the goal: the client's figures, or their ratios to those of the rival."""
    own = _by_round(measurements, goal.client, figure)
    if goal.rival is None:
        return spread_of(own.values())
    theirs = _by_round(measurements, goal.rival, figure)
    return spread_of(own[one] / theirs[one] for one in own if theirs.get(one))
