"""`./dev why`: clients are brought into stuck states in a simulated cluster, and `why()` must name the cause.

    ./dev why --seeds 0-199          the states of the table in turn, each with what its seed draws
    ./dev why --seed 17              one of them, with all that the client says
    ./dev why --state "at the end"   only this state, with the seeds that are given

A state counts as named right if from one virtual second on the first cause of `why()` is the true one, with
its data. The exit code is 1 if less than 95 % of the seeds are named right.
"""

import argparse
import json
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from campaigns.seeds import seeds_in, side_by_side
from campaigns.why.states import STATES
from campaigns.why.trial import Result, State, run_trial

GOAL: Final = 0.95
"""The share of seeds whose cause must be named right."""
_BY_NAME: Final = {state.name: state for state in STATES}


def main(arguments: Sequence[str] | None = None) -> int:
    """Exits with 1 if too few causes were named."""
    options = _parse(arguments)
    started = time.monotonic()
    chosen = STATES if options.state is None else (_BY_NAME[options.state],)
    results = list(_told(_results(options.seeds, chosen, options.jobs), is_whole=len(options.seeds) == 1))
    right = sum(result.is_right for result in results)
    _print_table(results)
    seconds = time.monotonic() - started
    print(f"{right} of {len(results)} causes named right ({right / len(results):.1%}), in {seconds:.0f} s")
    if options.json:
        wrong = [result.seed for result in results if not result.is_right]
        print(json.dumps({"seeds": len(results), "right": right, "wrong": wrong}))
    return 0 if right >= GOAL * len(results) else 1


def state_of(seed: int, states: Sequence[State] = STATES) -> State:
    """The kind of state that a seed builds: they come in turn."""
    return states[seed % len(states)]


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="./dev why", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, help="one seed")
    parser.add_argument("--seeds", type=seeds_in, help="a range of seeds, both ends included: 0-199")
    parser.add_argument("--state", choices=_BY_NAME, metavar="NAME", help="only states of this kind")
    parser.add_argument("--jobs", type=int, default=1, help="processes that run seeds side by side")
    parser.add_argument("--json", action="store_true", help="print the counts as JSON, too")
    options = parser.parse_args(arguments)
    if (options.seed is None) == (options.seeds is None):
        parser.error("give either --seed or --seeds")
    if options.seeds is None:
        options.seeds = range(options.seed, options.seed + 1)
    if not options.seeds:
        parser.error("the range has no seed")
    return options


def _results(seeds: range, states: Sequence[State], jobs: int) -> Iterable[Result]:
    names = [state_of(seed, states).name for seed in seeds]
    return side_by_side(jobs, _run, seeds, names)


def _run(seed: int, name: str) -> Result:
    return run_trial(seed, _BY_NAME[name])


def _told(results: Iterable[Result], *, is_whole: bool) -> Iterator[Result]:
    """Print what is wrong, and of a single seed everything that was said."""
    for result in results:
        if result.fault or is_whole:
            print(f"seed {result.seed}: {result.state}: {result.fault or 'right'}")
            for why in result.said:
                print(f"    {why.cause} - {why}  {dict(why.data)}")
        yield result


def _print_table(results: Sequence[Result]) -> None:
    by_state: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        by_state[result.state].append(result)
    width = max(map(len, by_state))
    for name, some in by_state.items():
        print(f"{name:{width}}  {sum(one.is_right for one in some):3} of {len(some)}")


if __name__ == "__main__":
    sys.exit(main())
