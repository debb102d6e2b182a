"""`./dev kills`: pipelines of which something is killed by `kill -9` at moments drawn from a seed.

Each table gets ten kills, or as many as `--per-table` says, with more records before each; then the pipeline
reads to the end, and every record is looked for. A driver dies in a run of its own. Executors, of a
standalone cluster with two workers, and the broker are killed beside a run that goes on. With `--stages` the
pipeline has windows, deduplication and a join, and what they give is compared with what all records at once
give.
"""

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from peers.short_spark import use_short_jvms
from peers.spark_cluster import SparkCluster

from campaigns.pipelines.drivers import kill_drivers
from campaigns.pipelines.load import Load
from campaigns.pipelines.others import cluster_settings, kill_others
from campaigns.pipelines.plain import PlainLoad
from campaigns.pipelines.staged import StagedLoad
from campaigns.pipelines.victims import BrokerVictim, ExecutorVictim
from odradek.spark.java_home import find_java_home
from odradek.spark.pipeline.description import SINK_FORMATS, TOPIC
from odradek.spark.pipeline.formats import LAKES, session_settings
from odradek.spark.session import cache_directory, spark_session
from odradek.testing import Broker

KILLS_PER_TABLE = 10
DRIVER, EXECUTOR, BROKER = VICTIMS = ("driver", "executor", "broker")


def one_table(
    broker: Broker,
    cluster: SparkCluster | None,
    sink: str,
    seed: int,
    kills: int,
    spark: Any,
    options: argparse.Namespace,
) -> Counter[str]:
    """Kill that often during one pipeline, bring it to its end and check; returns what was killed where."""
    chance = Random(f"{sink} {seed}")
    with tempfile.TemporaryDirectory() as scratch:
        directory = Path(scratch)
        settings = "" if cluster is None else cluster_settings(cluster)
        load: Load
        if options.stages:
            load = StagedLoad(broker, sink, directory, spark=settings)
        else:
            load = PlainLoad(broker, sink, directory, is_keyed=options.keyed, spark=settings)
        if cluster is None:
            found = kill_drivers(load, kills, chance, spark)
        else:
            is_broker = options.victim == BROKER
            victim_of = partial(BrokerVictim, broker) if is_broker else partial(ExecutorVictim, cluster)
            found = kill_others(load, kills, chance, victim_of, directory / "log", has_stages=options.stages)
        if faults := load.check(spark):
            raise SystemExit(f"{sink}, seed {seed}, {dict(found)}:\n" + "\n".join(faults))
    return found


@contextmanager
def cluster_for(victim: str) -> Iterator[SparkCluster | None]:
    """A cluster of two workers; none for drivers, whose Spark is their own."""
    if victim == DRIVER:
        yield None
        return
    java = find_java_home(cache_directory())
    # Executors of applications that have just ended may still write.
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch,
        SparkCluster(Path(scratch), java) as cluster,
    ):
        yield cluster


def options_of() -> argparse.Namespace:
    """What is asked for."""
    parser = argparse.ArgumentParser(prog="./dev kills", description="pipelines of which something is killed")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--per-table", type=int, default=KILLS_PER_TABLE, help="kills of each table")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sink", choices=SINK_FORMATS, action="append")
    parser.add_argument("--victim", choices=VICTIMS, default=DRIVER)
    parser.add_argument("--stages", action="store_true", help="windows, deduplication, a join: into a table")
    parser.add_argument("--keyed", action="store_true", help="one row for each key: in Delta and Iceberg")
    options = parser.parse_args()
    if options.keyed and options.stages:
        parser.error("--keyed and --stages are of two pipelines")
    options.sink = options.sink or [
        one
        for one in SINK_FORMATS
        if (one in LAKES or not options.keyed) and (one != TOPIC or not options.stages)
    ]
    if options.stages and TOPIC in options.sink:
        parser.error("what --stages gives is compared in a table")
    return options


def main() -> None:
    """Run the campaign and print one line for each table, then the sums."""
    options = options_of()
    sinks = options.sink
    use_short_jvms()
    sums: Counter[str] = Counter()
    left, number, started = options.kills, 0, time.monotonic()
    with ExitStack() as stack:
        broker = stack.enter_context(Broker(process=True))
        cluster = stack.enter_context(cluster_for(options.victim))
        spark = spark_session("kills", settings=session_settings(sinks))
        stack.callback(spark.stop)
        while left > 0:
            sink, seed = sinks[number % len(sinks)], options.seed + number // len(sinks)
            kills = min(left, options.per_table)
            found = one_table(broker, cluster, sink, seed, kills, spark, options)
            sums += found
            print(f"{sink}, seed {seed}: {dict(sorted(found.items()))}; every record once", flush=True)
            left, number = left - kills, number + 1
    print(f"{options.kills} runs on {number} tables in {time.monotonic() - started:.0f} s: {dict(sums)}")


if __name__ == "__main__":
    main()
