"""`./dev kills`: pipelines whose drivers are killed by `kill -9` at moments drawn from a seed, on each sink.

Each kill is a run of its own, in a process of its own, which dies at a step of its batch or some milliseconds
later: in the middle of a commit of Delta or of Iceberg, too. Records, some of them broken, come between the
runs. After every few kills a run goes to the end, and `verify` counts every record. With `--keyed` the tables
have one row for each key, which records replace and delete.
"""

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from campaigns.pipeline_driver import Silent
from odradek.spark.pipeline.assembly import opened, verify_table
from odradek.spark.pipeline.description import SINK_FORMATS, Description, read_description
from odradek.spark.pipeline.engine import Step
from odradek.spark.pipeline.formats import LAKES, session_settings
from odradek.spark.session import spark_session
from odradek.testing import Broker

KILLS_PER_TABLE = 10
RUN_TIMEOUT_S = 900
# Half of the kills are at a step, the others up to so much later.
DELAY_MS_MAX = 2000
KEY = 'key = "n"\ntombstones = "delete"\n'
STEPS = (Step.PLANNED, Step.STAGED, Step.WRITTEN, Step.SEALED, Step.SEALED, Step.PUBLISHED)


def described(broker: Broker, topic: str, sink: str, directory: Path, *, is_keyed: bool) -> Description:
    """A pipeline of that topic into a new table."""
    key_format, key = ('key_format = "text"\n', KEY) if is_keyed else ("", "")
    written = f'topic = "{broker.create_topic()}"\n' if sink == "topic" else ""
    file = directory / "kills.toml"
    file.write_text(
        f'[source]\nbootstrap_servers = "{broker.bootstrap_servers}"\ntopics = ["{topic}"]\n'
        f'[decode]\nformat = "json"\n{key_format}fields = {{ n = "long" }}\n'
        f'[sink]\npath = "table"\nformat = "{sink}"\n{written}{key}[batch]\nrecords_max = 400\n'
    )
    return read_description(file)


def send(broker: Broker, topic: str, chance: random.Random) -> int:
    """Send some records, one in twenty of which cannot be read, or has no value; returns their number."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    count = chance.randint(1, 300)
    for number in range(count):
        drawn = chance.random()
        value = b"broken" if drawn < 0.05 else None if drawn < 0.1 else b'{"n": %d}' % number
        # A few keys are in both partitions.
        partition = number % 2 if drawn < 0.95 else 0
        producer.produce(topic, value, b"%d" % number, partition)
    assert producer.flush(60) == 0
    return count


def kill_one(description: Description, chance: random.Random) -> tuple[str, bool]:
    """One run that is killed; returns where, and whether it died of it or ended before."""
    step = chance.choice(STEPS)
    after_ms = chance.choice((0, chance.randrange(1, DELAY_MS_MAX)))
    done = subprocess.run(
        [sys.executable, "-m", "campaigns.pipeline_driver", description.file, step.name, str(after_ms)],
        capture_output=True,
        text=True,
        timeout=RUN_TIMEOUT_S,
        check=False,
    )
    if done.returncode not in (0, -signal.SIGKILL):
        raise SystemExit(f"a run ended with {done.returncode}:\n{done.stderr[-3000:]}")
    where = step.value if after_ms == 0 else f"after {step.value}"
    return where, done.returncode == -signal.SIGKILL


def one_table(
    broker: Broker, sink: str, seed: int, kills: int, spark: Any, *, is_keyed: bool
) -> Counter[str]:
    """Kill that many runs of one pipeline, bring it to its end and count; returns where the kills were."""
    chance = random.Random(f"{sink} {seed}")
    topic = broker.create_topic(partitions=2)
    found: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as scratch:
        description = described(broker, topic, sink, Path(scratch), is_keyed=is_keyed)
        sent = 0
        for _ in range(kills):
            sent += send(broker, topic, chance)
            where, is_killed = kill_one(description, chance)
            found[where if is_killed else "ended before its kill"] += 1
        with opened(description, Silent(), spark=spark) as engine:
            engine.run_once()
        findings = verify_table(description, spark)
        if findings.faults or findings.compared != sent:
            faults = "\n".join(findings.faults)
            raise SystemExit(
                f"{sink}, seed {seed}: {sent} records sent, {findings.compared} compared\n{faults}"
            )
    return found


def main() -> None:
    """Run the campaign and print one line for each table, then the sums."""
    parser = argparse.ArgumentParser(description="pipelines whose drivers are killed")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sink", choices=SINK_FORMATS, action="append")
    parser.add_argument("--keyed", action="store_true", help="one row for each key: in Delta and Iceberg")
    arguments = parser.parse_args()
    sinks = arguments.sink or [one for one in SINK_FORMATS if one in LAKES or not arguments.keyed]
    spark = spark_session("kills", settings=session_settings(sinks))
    sums: Counter[str] = Counter()
    left, number, started = arguments.kills, 0, time.monotonic()
    with Broker(process=True) as broker:
        while left > 0:
            sink, seed = sinks[number % len(sinks)], arguments.seed + number // len(sinks)
            kills = min(left, KILLS_PER_TABLE)
            found = one_table(broker, sink, seed, kills, spark, is_keyed=arguments.keyed)
            sums += found
            print(f"{sink}, seed {seed}: {dict(sorted(found.items()))}; every record once", flush=True)
            left, number = left - kills, number + 1
    print(f"{arguments.kills} runs on {number} tables in {time.monotonic() - started:.0f} s: {dict(sums)}")


if __name__ == "__main__":
    main()
