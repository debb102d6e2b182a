"""Drivers that are killed: each run is in a process of its own, which dies at a step or some time later."""

import signal
import subprocess
import sys
from collections import Counter
from random import Random
from typing import Any

from campaigns.pipelines.driver import Silent
from campaigns.pipelines.load import Load
from odradek.spark.pipeline.assembly import opened
from odradek.spark.pipeline.description import Description
from odradek.spark.pipeline.engine import Step

RUN_TIMEOUT_S = 900
# Half of the kills are at a step, the others up to so much later.
DELAY_MS_MAX = 2000
STEPS = (Step.PLANNED, Step.STAGED, Step.WRITTEN, Step.SEALED, Step.SEALED, Step.PUBLISHED)


def kill_drivers(load: Load, kills: int, chance: Random, spark: Any) -> Counter[str]:
    """Kill that many runs, and bring the pipeline to its end; returns where the kills were."""
    found: Counter[str] = Counter()
    for _ in range(kills):
        load.send(chance)
        where, is_killed = _kill_one(load.description, chance)
        found[where if is_killed else "ended before its kill"] += 1
    load.finish()
    with opened(load.description, Silent(), spark=spark) as engine:
        engine.run_once()
    return found


def _kill_one(description: Description, chance: Random) -> tuple[str, bool]:
    """One run that is killed; returns where, and whether it died of it or ended before."""
    step = chance.choice(STEPS)
    after_ms = chance.choice((0, chance.randrange(1, DELAY_MS_MAX)))
    done = subprocess.run(
        [sys.executable, "-m", "campaigns.pipelines.driver", description.file, step.name, str(after_ms)],
        capture_output=True,
        text=True,
        timeout=RUN_TIMEOUT_S,
        check=False,
    )
    if done.returncode not in (0, -signal.SIGKILL):
        raise SystemExit(f"a run ended with {done.returncode}:\n{done.stderr[-3000:]}")
    where = step.value if after_ms == 0 else f"after {step.value}"
    return where, done.returncode == -signal.SIGKILL
