"""Dead letters of Delta and Iceberg tables come back once, by the formats' own jars, also after a kill."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from peers import BrokerProcess
from pyspark.sql import SparkSession

from compat.lakes import FORMATS, PARTITIONS, Heard, described, lake_spark, run, send
from odradek.spark.pipeline.assembly import compact_table, opened, replay_table, verify_table
from odradek.spark.pipeline.engine import Step

pytestmark = [
    pytest.mark.one_broker("a pipeline reads a cluster as it reads one broker"),
    pytest.mark.timeout(1200),  # the first batch of a session is slow on a busy machine
]


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    """One session with both formats."""
    yield from lake_spark()


class Killed(BaseException):
    """The process ended here."""


@pytest.mark.parametrize("form", FORMATS)
def test_dead_letters_come_back_once(
    form: str, broker: BrokerProcess, new_topic: Callable[..., str], spark: SparkSession, tmp_path: Path
) -> None:
    topic = new_topic()
    strict = 'new_fields = "dead-letter"\nfields = { n = "long" }\n'
    description = described(broker, topic, tmp_path, form, "[compact]\nkeep_hours = 0\n", strict)
    send(broker, topic, [b'{"n": 1}', b'{"n": 2, "gate": "B4"}', b"broken"])
    assert [(one.rows, one.dead_letters) for one in run(description, spark)] == [(1, 2)]
    mended = described(
        broker,
        topic,
        tmp_path,
        form,
        "[compact]\nkeep_hours = 0\n",
        strict.replace('n = "long"', 'n = "long", gate = "string"'),
    )

    def reached(step: Step) -> None:
        if step is Step.SEALED:
            raise Killed

    with pytest.raises(Killed), opened(mended, Heard(), reached, spark=spark) as engine:
        engine.replay()
    done = replay_table(mended, Heard(), spark)
    assert (done.letters, done.remaining, done.commit and done.commit.rows) == (2, 1, 1)
    again = replay_table(mended, Heard(), spark)
    assert (again.letters, again.commit) == (1, None)
    compact_table(mended, spark)
    send(broker, topic, [b'{"n": 4}'])
    assert [one.batch for one in run(mended, spark)] == [3]
    rows = spark.read.format(form).load(str(mended.table)).orderBy("_offset")
    assert [tuple(row) for row in rows.select("n", "gate", PARTITIONS[form], "_offset").collect()] == [
        (1, None, 0, 0),
        (2, "B4", 0, 1),
        (4, None, 0, 3),
    ]
    found = verify_table(mended, spark)
    assert (found.faults, found.records, found.rows, found.dead_letters) == ([], 4, 3, 1)
