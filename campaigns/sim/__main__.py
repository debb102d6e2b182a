"""`./dev sim`: clusters of simulated brokers under load and mishaps, each drawn from a seed.

    ./dev sim --seed 17                     one trial, and what happened in it
    ./dev sim --seeds 0-1999                many; prints the sum of what happened
    ./dev sim --seed 17 --mishaps 3,7       only these mishaps of the seed, as #3 and #7 in its output: how a
                                            failing history is replayed

A trial has 60 virtual seconds of load and mishaps, and 60 to get into order. Checkers look from outside.
At the first violation of a seed its history is made shorter: the fewest mishaps that still lead there. The
exit code is 1 if any seed has failed. `--trace FILE.html` writes a page with a lane for each broker.
"""

import argparse
import gc
import json
import sys
import time
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from functools import partial
from typing import Final

from campaigns.seeds import seeds_in, side_by_side
from campaigns.sim.shorten import shorten
from odradek.testing.sim.history.events import ReplicaChanged, StateStored
from odradek.testing.sim.history.recorder import Recorder
from odradek.testing.sim.history.telling import concerns, is_milestone, tell
from odradek.testing.sim.page import write_page
from odradek.testing.sim.trial.counts import KINDS
from odradek.testing.sim.trial.mishaps import told_lines
from odradek.testing.sim.trial.plan import draw_plan
from odradek.testing.sim.trial.trial import Outcome, Trial, run_trial

LINES_MAX: Final = 80
"""How much of a failing history is printed; all of it is in the page."""
NO_MISHAPS: Final = "-1"


def main(arguments: Sequence[str] | None = None) -> int:
    """Exits with 1 if a seed has failed."""
    options = _parse(arguments)
    started = time.monotonic()
    run = partial(_run_alone, brokers=options.brokers, mishaps=options.mishaps)
    outcomes = side_by_side(options.jobs, run, options.seeds)
    failed = _report(outcomes, options)
    seconds = time.monotonic() - started
    seeds = "1 seed" if len(options.seeds) == 1 else f"{len(options.seeds)} seeds"
    print(f"{seeds} in {seconds:.0f} s, {len(failed)} failed", flush=True)
    return 1 if failed else 0


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="./dev sim", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, help="one seed")
    parser.add_argument("--seeds", type=seeds_in, help="a range of seeds, both ends included: 0-1999")
    parser.add_argument("--brokers", type=int, default=3, help="brokers in the cluster (default 3)")
    parser.add_argument(
        "--mishaps", type=_numbers, help="the numbers of the mishaps that happen (default: all)"
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes that run trials side by side")
    parser.add_argument("--as-found", action="store_true", help="do not make failing histories shorter")
    parser.add_argument("--trace", metavar="FILE", help="write one seed's history as a page (HTML)")
    parser.add_argument("--json", action="store_true", help="print the counts as JSON, too")
    options = parser.parse_args(arguments)
    if (options.seed is None) == (options.seeds is None):
        parser.error("give either --seed or --seeds")
    if options.brokers < 2:
        parser.error("a cluster under mishaps needs at least 2 brokers")
    if options.trace is not None and options.seed is None:
        parser.error("--trace is for one --seed")
    if options.seeds is None:
        options.seeds = range(options.seed, options.seed + 1)
    return options


def _numbers(text: str) -> list[int]:
    try:
        return [int(number) for number in text.split(",") if number]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} are no numbers such as 3,7") from None


def _run_alone(seed: int, brokers: int, mishaps: Collection[int] | None) -> Outcome:
    """Run a trial without the garbage collector, which takes a tenth of the time and frees 5 MB of 50."""
    gc.disable()
    try:
        return run_trial(seed, brokers=brokers, mishaps=mishaps)
    finally:
        gc.enable()
        gc.collect()


def _report(outcomes: Iterable[Outcome], options: argparse.Namespace) -> list[int]:
    """Print what the seeds have shown; returns those that failed."""
    failed = []
    counted: Counter[str] = Counter(dict.fromkeys(KINDS, 0))
    for outcome in outcomes:
        counted.update(outcome.counts)
        seed = outcome.plan.seed
        happened = ", ".join(f"{count} {kind}" for kind, count in outcome.counts.items() if count)
        verdict = f"{len(outcome.violations)} violations" if outcome.violations else "clean"
        print(f"seed {seed}: {verdict}; {outcome.requests:,} requests, {happened}", flush=True)
        if outcome.violations:
            failed.append(seed)
            _explain(outcome, options)
        elif len(options.seeds) == 1:
            _tell_mishaps(outcome, options)
            if options.trace is not None:
                _recorded(seed, options.mishaps, options)
    if len(options.seeds) > 1:
        print("in all: " + ", ".join(f"{counted[kind]:,} {kind}" for kind in KINDS))
    if options.json:
        print(json.dumps({"seeds": len(options.seeds), "failed": failed, "counts": dict(counted)}))
    return failed


def _tell_mishaps(outcome: Outcome, options: argparse.Namespace) -> None:
    """Print what happened, with the numbers of the mishaps, and how to leave some of them out."""
    print("\n".join(told_lines(outcome.told)))
    numbers = dict.fromkeys(one.mishap for one in outcome.told if one.mishap is not None)
    if numbers:
        chosen = ",".join(map(str, numbers))
        print(f"with some of these mishaps only: {_command(outcome.plan.seed, options)} --mishaps {chosen}")


def _command(seed: int, options: argparse.Namespace) -> str:
    brokers = f" --brokers {options.brokers}" if options.brokers != 3 else ""
    return f"./dev sim --seed {seed}{brokers}"


def _explain(outcome: Outcome, options: argparse.Namespace) -> None:
    """Print the shortest history that leads to a violation by the same checker, and the way to replay it."""
    seed, checker = outcome.plan.seed, outcome.violations[0].checker
    numbers = [mishap.number for mishap in outcome.plan.mishaps]
    if options.mishaps is not None:
        numbers = list(options.mishaps)
    if not options.as_found:

        def fails(kept: Collection[int]) -> bool:
            found = run_trial(seed, brokers=options.brokers, mishaps=kept).violations
            return any(one.checker == checker for one in found)

        numbers = shorten(numbers, fails)
    recorder, outcome = _recorded(seed, numbers, options)
    print("\n".join(told_lines(outcome.told)))
    print("\n".join(_history(recorder, outcome)))
    for violation in outcome.violations:
        print(f"  VIOLATED  {violation}")
    chosen = ",".join(map(str, numbers)) or NO_MISHAPS
    print(f"replay: {_command(seed, options)} --mishaps {chosen} --as-found", flush=True)


def _recorded(
    seed: int, mishaps: Collection[int] | None, options: argparse.Namespace
) -> tuple[Recorder, Outcome]:
    """Run a trial once more and record it; writes the page if one is wanted."""
    trial = Trial(draw_plan(seed, options.brokers), mishaps)
    recorder = Recorder(trial.world)
    outcome = trial.run()
    if options.trace is not None:
        verdict = str(outcome.violations[0]) if outcome.violations else "all checkers are content"
        write_page(recorder, options.trace, title=f"./dev sim --seed {seed}", outcome=verdict)
        print(f"the page is in {options.trace}")
    return recorder, outcome


def _history(recorder: Recorder, outcome: Outcome) -> list[str]:
    """What led to the first violation: faults, brokers' lives, elections and truncations of its partition.

    Of a violation that is about no partition, what happened to partitions is left out where it is too much.
    """
    first = outcome.violations[0] if outcome.violations else None
    events = [event for event in recorder.history.events if is_milestone(event)]
    if first is not None:
        events = [event for event in events if event.at_ms <= first.at_ms]
        if first.topic_partition is not None:
            events = [event for event in events if concerns(event, first.topic_partition)]
        elif len(events) > LINES_MAX:
            events = [event for event in events if not isinstance(event, StateStored | ReplicaChanged)]
    lines = list(tell(events))
    left_out = len(lines) - LINES_MAX
    return lines if left_out <= 0 else [f"... {left_out} earlier events", *lines[-LINES_MAX:]]


if __name__ == "__main__":
    sys.exit(main())
