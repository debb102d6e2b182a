"""`./dev bench clients`: the clients for Python in turn on one broker; writes docs/client-speed.md."""

import argparse
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from peers import OdradekBroker

from benchmarks.clients.contests import AIOKAFKA, CONFLUENT, CONTESTS, KAFKA_PYTHON
from benchmarks.clients.report import PAGE, table, write_page
from benchmarks.clients.rounds import measure
from benchmarks.macro.results import ROOT, Measurement, new_run, saved_runs

KIND = "clients"
"""How the names of the files with results begin."""


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev bench clients", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="how often each client does each job (3)")
    parser.add_argument(
        "--only", action="append", choices=[*CONTESTS], metavar="NAME", help="a contest (may be repeated)"
    )
    parser.add_argument("--quick", action="store_true", help="short, to see that it works; recorded nowhere")
    parser.add_argument("--page-only", action="store_true", help="write the page from what is recorded")
    return parser.parse_args()


def _show(measurement: Measurement) -> None:
    told = measurement.error or ", ".join(
        f"{name} {value:,.2f}" for name, value in measurement.figures.items()
    )
    print(f"{measurement.pair} {measurement.broker:15} {measurement.scenario:18} {told}", flush=True)


def _measure(arguments: argparse.Namespace) -> None:
    contests = [CONTESTS[name] for name in arguments.only or CONTESTS]
    versions = {name: version(name) for name in (AIOKAFKA, KAFKA_PYTHON, CONFLUENT)}
    run = new_run(versions=versions, settings={})
    try:
        with tempfile.TemporaryDirectory() as directory, OdradekBroker(Path(directory), {}) as broker:
            for contest in contests:
                measure(
                    run,
                    broker,
                    contest,
                    rounds=arguments.rounds,
                    quick=arguments.quick,
                    on_measured=_show,
                )
    finally:
        if run.measurements and not arguments.quick:
            print(f"recorded in {run.save(KIND).relative_to(ROOT)}")
    for contest in contests:
        found = [one for one in run.measurements if one.scenario == contest.name]
        print(f"\n{contest.title}", *table(contest, found), sep="\n")


def main() -> int:
    """Run the benchmark; 1 when a client failed."""
    arguments = _arguments()
    if not arguments.page_only:
        _measure(arguments)
    if not arguments.quick:
        write_page(saved_runs(KIND))
        print(f"\nwrote {PAGE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
