"""Executors or brokers that are killed while a run on a cluster goes on.

A run may end with a sentence, as when a task has failed too often; another one then goes on. What ended is
printed and counted, since the run is expected to survive.
"""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

from peers.spark_cluster import SparkCluster, driver_settings

from campaigns.pipelines.guide import Guide
from campaigns.pipelines.load import Load
from campaigns.pipelines.moments import moment_of
from campaigns.pipelines.strike import Strike
from campaigns.pipelines.victims import Victim
from odradek.spark.pipeline.formats import table_of


def cluster_settings(cluster: SparkCluster) -> str:
    """What a description says of Spark to run there."""
    settings = "".join(
        f"{json.dumps(name)} = {json.dumps(value)}\n" for name, value in driver_settings().items()
    )
    return f'[spark]\nmaster = "{cluster.url}"\n[spark.settings]\n{settings}'


def kill_others(
    load: Load,
    kills: int,
    chance: Random,
    victim_of: Callable[[Random], Victim],
    log: Path,
    *,
    has_stages: bool,
) -> Counter[str]:
    """Kill that often, and bring the pipeline to its end; returns what was killed where.

    `victim_of` draws what is killed next; `log` gets what the runs have to say. The first batch, for which
    executors start, is without a kill.
    """
    found: Counter[str] = Counter()
    ledger = table_of(load.description).ledger.directory
    load.send(chance)
    guide = _run_unharmed(Guide(load.description.file, log), log)
    for _ in range(kills):
        load.send(chance)
        moment = moment_of(chance, has_stages=has_stages)
        strike = Strike(moment, victim_of(chance), ledger)
        fault = guide.run(strike.reached)
        killed = strike.end()
        found[f"{killed}, {moment}" if killed else "ended before its kill"] += 1
        if fault:
            print(f"{killed} killed, {moment} ({moment.after_ms} ms): the run ended: {fault}", flush=True)
            found["runs that ended with it"] += 1
            guide.close()
            guide = Guide(load.description.file, log)
    load.finish()
    _run_unharmed(guide, log).close()
    return found


def _run_unharmed(guide: Guide, log: Path) -> Guide:
    fault = guide.run(lambda step: None)
    if fault:
        raise SystemExit(f"a run without a kill ended: {fault}\n{log.read_text(errors='replace')[-3000:]}")
    return guide
