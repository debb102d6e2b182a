"""Pairs of brokers, one after the other, with every scenario on each."""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from peers import BrokerProcess

from benchmarks.macro.results import Measurement, Run
from benchmarks.macro.scenario import LeftOut, Scenario


def measure_pairs(
    run: Run,
    scenarios: Sequence[Scenario],
    kinds: Sequence[type[BrokerProcess]],
    *,
    pairs: int,
    quick: bool,
    on_measured: Callable[[Measurement], None],
) -> None:
    """Measure each scenario on each kind `pairs` times, A B A B, and add the measurements to the run.

    `on_measured` is called after each. A scenario that fails is recorded as failed, and the others still run.
    """
    for pair in range(1, pairs + 1):
        for kind in kinds:
            for measurement in _measure_broker(kind, run.settings, scenarios, pair, quick=quick):
                run.measurements.append(measurement)
                on_measured(measurement)


def _measure_broker(
    kind: type[BrokerProcess],
    settings: Mapping[str, str],
    scenarios: Sequence[Scenario],
    pair: int,
    *,
    quick: bool,
) -> Iterator[Measurement]:
    with tempfile.TemporaryDirectory() as directory, kind(Path(directory), settings) as broker:
        for scenario in scenarios:
            measurement = Measurement(pair, kind.name, scenario.name)
            try:
                measurement.figures = dict(scenario.measure(broker, quick=quick))
            except LeftOut as reason:
                print(f"{pair} {kind.name:8} {scenario.name:20} left out: {reason}", flush=True)
                continue
            except Exception as error:  # an error of a client, the broker or our own code: all are recorded
                measurement.error = f"{type(error).__name__}: {error}"[:500]
            yield measurement
