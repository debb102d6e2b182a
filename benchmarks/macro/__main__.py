"""`./dev bench`: measure both brokers in pairs, record every measurement, and write docs/benchmarks.md."""

import argparse
import resource
import sys

from peers import BROKERS, CLUSTERS, JarsMissing

from benchmarks.macro.report import PAGE, table, write_page
from benchmarks.macro.results import ROOT, Measurement, new_run, saved_runs
from benchmarks.macro.runner import measure_pairs
from benchmarks.macro.scenario import Scenario
from benchmarks.macro.scenarios import CLUSTER_SCENARIOS, SCENARIOS

OPEN_FILES = 65_536  # for the connections of both sides; brokers inherit it


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__)
    parser.add_argument("--pairs", type=int, default=7, help="how often each broker is measured (default: 7)")
    parser.add_argument(
        "--brokers",
        type=int,
        choices=(1, 3),
        default=1,
        help="of each kind (default: 1); has its own scenarios",
    )
    parser.add_argument(
        "--only",
        action="append",
        choices=[*SCENARIOS, *CLUSTER_SCENARIOS],
        help="a scenario (may be repeated); those that take minutes are run only so",
    )
    parser.add_argument("--quick", action="store_true", help="short, to see that it works; recorded nowhere")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="a setting of both brokers"
    )
    parser.add_argument("--page-only", action="store_true", help="write the page from what is recorded")
    alone = parser.add_mutually_exclusive_group()
    alone.add_argument("--peer-only", action="store_true", help="measure Apache Kafka alone")
    alone.add_argument("--odradek-only", action="store_true", help="measure Odradek alone")
    arguments = parser.parse_args()
    others = [name for name in arguments.only or () if name not in _scenarios(arguments.brokers)]
    if others:
        parser.error(f"not with --brokers {arguments.brokers}: {', '.join(others)}")
    return arguments


def _scenarios(brokers: int) -> dict[str, Scenario]:
    return SCENARIOS if brokers == 1 else CLUSTER_SCENARIOS


def _allow_many_files() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES if hard < 0 else min(OPEN_FILES, hard), hard))


def _show(measurement: Measurement) -> None:
    told = measurement.error or ", ".join(
        f"{name} {value:.2f}" for name, value in measurement.figures.items()
    )
    print(f"{measurement.pair} {measurement.broker:8} {measurement.scenario:20} {told}", flush=True)


def _measure(arguments: argparse.Namespace) -> None:
    brokers = ["kafka", "odradek"]
    if arguments.peer_only:
        brokers.remove("odradek")
    if arguments.odradek_only:
        brokers.remove("kafka")
    there_are = _scenarios(arguments.brokers)
    by_default = [name for name, scenario in there_are.items() if not scenario.by_name_only]
    scenarios = [there_are[name] for name in arguments.only or by_default]
    settings = dict(each.split("=", 1) for each in arguments.set)
    kinds = [(BROKERS if arguments.brokers == 1 else CLUSTERS)[name] for name in brokers]
    versions = {kind.name: kind.version() for kind in kinds}
    run = new_run(versions=versions, settings=settings)
    try:
        measure_pairs(run, scenarios, kinds, pairs=arguments.pairs, quick=arguments.quick, on_measured=_show)
    finally:
        if run.measurements and not arguments.quick:
            print(f"recorded in {run.save().relative_to(ROOT)}")
    for scenario in scenarios:
        print(f"\n{scenario.title}", *table(scenario, run), sep="\n")


def main() -> int:
    """Run the benchmark; 2 when it cannot be run here."""
    arguments = _arguments()
    _allow_many_files()
    if not arguments.page_only:
        try:
            _measure(arguments)
        except JarsMissing as missing:
            print(missing, file=sys.stderr)
            return 2
    if not arguments.quick:
        write_page(saved_runs())
        print(f"\nwrote {PAGE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
