"""`./dev clients`: our own clients in simulated clusters under mishaps, each drawn from a seed.

    ./dev clients --seeds 0-499          the sum of what happened, and what was broken
    ./dev clients --seed 17              one of them, with its mishaps and all counts
    ./dev clients --planted              the bugs of `planted`, each with the seed that finds it

Idempotent producers, transactional copiers, members of groups in both protocols and an administrator work
while brokers, connections and clients fail. Nothing may be lost, doubled, out of order or half committed, no
call may take longer than it promises, and after the last mishap everything is read to its end. The exit code
is 1 if any seed has failed, or a planted bug is not found.
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from typing import Final

from campaigns.clients.planted import FOUND_BY, PLANTED
from campaigns.clients.trial import Outcome, run_trial
from campaigns.seeds import seeds_in, side_by_side

SUMMED: Final = (
    "acknowledged",
    "handed out",
    "commits",
    "transactions",
    "transactions aborted",
    "assignments",
    "lost",
    "admin's calls",
)
"""Counts that are printed for all seeds together; the others are errors that calls of clients raised."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Exits with 1 if a seed has failed."""
    options = _parse(arguments)
    if options.planted:
        return _look_for_planted()
    started = time.monotonic()
    counted: Counter[str] = Counter(dict.fromkeys((*SUMMED, "mishaps"), 0))
    failed = []
    for outcome in side_by_side(options.jobs, run_trial, options.seeds):
        counted.update(outcome.counts)
        counted["mishaps"] += len(outcome.happened)
        if outcome.violations:
            failed.append(outcome.seed)
        if outcome.violations or len(options.seeds) == 1:
            _tell(outcome)
    seconds = time.monotonic() - started
    print(", ".join(f"{counted[kind]} {kind}" for kind in ("mishaps", *SUMMED)))
    told = sum(count for kind, count in counted.items() if kind not in SUMMED and kind != "mishaps")
    print(f"{told} errors told, {len(options.seeds)} seeds in {seconds:.0f} s, failed: {failed or 'none'}")
    return 1 if failed else 0


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="./dev clients", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    chosen = parser.add_mutually_exclusive_group(required=True)
    chosen.add_argument("--seed", type=int, help="one seed")
    chosen.add_argument("--planted", action="store_true", help="look for the bugs that can be planted")
    chosen.add_argument("--seeds", type=seeds_in, help="a range of seeds, both ends included: 0-499")
    parser.add_argument("--jobs", type=int, default=1, help="processes that run seeds side by side")
    options = parser.parse_args(arguments)
    if options.seed is not None:
        options.seeds = range(options.seed, options.seed + 1)
    if not options.planted and not options.seeds:
        parser.error("the range has no seed")
    return options


def _look_for_planted() -> int:
    """Run the seed of each bug with it; returns 1 if one is not found."""
    missed = 0
    for bug, seed in FOUND_BY.items():
        with PLANTED[bug]():
            violations = run_trial(seed).violations
        print(f"seed {seed}: {bug}: {violations[0] if violations else 'NOT FOUND'}", flush=True)
        missed += not violations
    return 1 if missed else 0


def _tell(outcome: Outcome) -> None:
    """Print what a seed has shown."""
    print(f"seed {outcome.seed}: {len(outcome.violations) or 'no'} violations", flush=True)
    for violation in outcome.violations:
        print(f"    {violation}")
    print(f"    mishaps: {', '.join(outcome.happened)}")
    print(f"    counted: {', '.join(f'{count} {kind}' for kind, count in sorted(outcome.counts.items()))}")


if __name__ == "__main__":
    sys.exit(main())
