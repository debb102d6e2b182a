"""From the command to the first ApiVersions answer, and what an idle broker keeps in memory."""

import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from peers import BrokerProcess

from benchmarks.macro.scenario import Better, Figure, Scenario

IDLE_S = 5.0
IDLE_QUICK_S = 1.0


class StartUp(Scenario):
    """A separate broker on an empty data directory, formatted first if the broker requires it."""

    name = "start-up"
    title = "Starting, and doing nothing"
    figures = (
        Figure("first answer", "ms", Better.LOWER, goal=250),
        Figure("idle memory", "MB", Better.LOWER, goal=80),
        Figure("idle CPU", "% of a core", Better.LOWER),
    )

    def measure(self, broker: BrokerProcess, *, quick: bool) -> Mapping[str, float]:
        """Start a second broker of the same kind; `broker` only determines the kind, and stays idle."""
        idle_s = IDLE_QUICK_S if quick else IDLE_S
        with (
            tempfile.TemporaryDirectory() as directory,
            type(broker)(Path(directory), broker.settings) as other,
        ):
            time.sleep(idle_s)
            before_s = other.cpu_s()
            time.sleep(idle_s)
            idle_cpu = (other.cpu_s() - before_s) / idle_s
            values = (other.start_up_s * 1000, other.resident_bytes() / 1e6, idle_cpu * 100)
            return {figure.name: value for figure, value in zip(self.figures, values, strict=True)}
