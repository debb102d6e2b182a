"""What `odradek pipeline doctor` says of things that are there, and of each that is wrong."""

import os
import shutil
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from odradek.base.errors import OdradekError
from odradek.spark.java_home import JAVA_VERSION_MIN
from odradek.spark.pipeline import doctor
from odradek.spark.pipeline.description import Description, read_description
from odradek.spark.pipeline.doctor import Finding, examine
from odradek.spark.pipeline.ledger import COMMIT, Table
from odradek.spark.pipeline.planning import View
from odradek.testing import Broker
from tests.spark.pipeline.fake_topics import FakeTopics, described, run

pytestmark = pytest.mark.spark


class Away(FakeTopics):
    """Topics of a broker that does not answer."""

    def view(self) -> View:
        raise OdradekError("no broker answers at 127.0.0.1:1")


@pytest.fixture(autouse=True)
def _machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with a Java, whatever this one has; its version is not asked for."""
    monkeypatch.setattr(doctor, "find_java_home", lambda cache: tmp_path / "java")
    monkeypatch.setattr(doctor, "java_version", lambda java: JAVA_VERSION_MIN)
    monkeypatch.setenv("ODRADEK_CACHE", str(tmp_path / "cache"))


def wrong(description: Description, topics: FakeTopics) -> dict[str, str]:
    return {one.subject: one.sentence for one in examine(description, topics) if not one.is_good}


def of(subject: str, found: list[Finding]) -> str:
    return next(one.sentence for one in found if one.subject == subject)


def ran(directory: Path) -> tuple[Description, FakeTopics]:
    topics = FakeTopics(1)
    topics.logs[0] = [b'{"n": 1}', b'{"n": 2}']
    description = described(directory)
    run(description, topics)
    return description, topics


def test_nothing_is_wrong_before_and_after_a_run(tmp_path: Path) -> None:
    assert wrong(described(tmp_path), FakeTopics(1)) == {}
    description, topics = ran(tmp_path)
    topics.logs[0].append(b'{"n": 3}')
    found = examine(description, topics)
    assert all(one.is_good for one in found)
    assert of("table", found).endswith("is at batch 1; records so far: 2")
    assert of("next batch", found) == "offsets to read: 1; lag 1"
    assert of("lock", found) == "no run is writing the table"


def test_a_run_beside_it_is_named_and_not_disturbed(tmp_path: Path) -> None:
    description, topics = ran(tmp_path)
    with Table(description.table, description.name) as table:
        table.open_for_writing()
        for _ in range(2):
            assert "a run is writing the table, process" in of("lock", examine(description, topics))


@pytest.mark.integration
def test_a_topic_as_the_sink_and_one_of_dead_letters(tmp_path: Path) -> None:
    with Broker() as broker:
        file = described(tmp_path, sink='format = "topic"\ntopic = "clean"').file
        text = file.read_text().replace("127.0.0.1:1", broker.bootstrap_servers)
        file.write_text(f'{text}topic = "dead"\n')
        description, topics = read_description(file), FakeTopics(1)
        found = wrong(description, topics)
        assert list(found) == ["topic", "dead letters"]
        assert "there is no topic clean, which sink.topic names" in found["topic"]
        assert "there is no topic dead, which dead_letters.topic names" in found["dead letters"]
        broker.create_topic("clean")
        broker.create_topic("dead")
        looked = examine(description, topics)
        assert all(one.is_good for one in looked)
        assert of("topic", looked) == f"clean (ledger in {description.table}) has no batch yet"
        assert of("lock", looked) == "no run is writing the topic"
        assert of("dead letters", looked) == "dead, each once, in the transaction of its batch"


def test_brokers_that_are_away(tmp_path: Path) -> None:
    description, _ = ran(tmp_path)
    assert wrong(description, Away(1)) == {"topics": "no broker answers at 127.0.0.1:1"}


def test_a_place_that_a_run_could_not_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    description, topics = described(tmp_path), FakeTopics(1)
    description.table.mkdir()
    (description.table / "letters.txt").touch()
    assert "holds letters.txt, which no pipeline wrote" in wrong(description, topics)["table"]
    shutil.rmtree(description.table)
    description.table.touch()
    assert f"cannot read {description.table}: not a directory" in wrong(description, topics)["table"]
    description.table.unlink()
    monkeypatch.setattr(os, "access", lambda path, mode: path != tmp_path)
    assert wrong(description, topics)["table"] == (
        f"cannot write to {description.table}: {tmp_path} is not writable for this user"
    )
    assert not description.table.exists()


def test_a_damaged_table(tmp_path: Path) -> None:
    description, topics = ran(tmp_path)
    (description.table / "batch=1" / COMMIT).write_text("{")
    found = wrong(description, topics)
    assert "is missing or damaged" in found["table"]
    assert found["next batch"] == "cannot be planned, because of the table"


def test_records_that_are_gone_and_topics_made_anew(tmp_path: Path) -> None:
    description, topics = ran(tmp_path)
    topics.logs[0] += [b'{"n": 3}'] * 3
    topics.earliest[0] = 4
    assert "flights-0 has lost its records from 2 to 3" in wrong(description, topics)["next batch"]
    topics.topic_id = "second"
    assert "was deleted and made anew" in wrong(description, topics)["next batch"]


def test_fields_and_transforms_that_cannot_be_read(tmp_path: Path) -> None:
    description, topics = ran(tmp_path)
    description.fields_file.write_text("{")
    description.file.write_text(description.file.read_text() + '\n[[transform]]\npython = "clean.py:clean"\n')
    found = wrong(read_description(description.file), topics)
    assert "is damaged: remove it" in found["fields"]
    assert "clean.py, which a transform names" in found["transforms"]


def test_jars_that_are_to_be_fetched(tmp_path: Path) -> None:
    description = described(tmp_path)
    description.file.write_text(description.file.read_text().replace("[batch]", 'format = "delta"\n[batch]'))
    description = read_description(description.file)
    sentence = of("jars", examine(description, FakeTopics(1)))
    assert sentence.startswith("the next run fetches delta-spark_4.1_2.13-")
    jars = tmp_path / "cache" / "jars"
    jars.mkdir(parents=True)
    for name in sentence.removeprefix("the next run fetches ").split(", "):
        (jars / name).touch()
    assert of("jars", examine(description, FakeTopics(1))).endswith(f" in {jars}")
    shutil.rmtree(jars)


def test_a_java_or_a_pyspark_that_does_not_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_java(cache: Path) -> Path:
        raise OdradekError("Spark needs a Java from 17 to 24")

    def no_package(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(doctor, "find_java_home", no_java)
    monkeypatch.setattr(doctor, "version", lambda name: "3.5.1")
    found = wrong(described(tmp_path), FakeTopics(1))
    assert found["java"] == "Spark needs a Java from 17 to 24"
    assert found["pyspark"].startswith("version 3.5.1 is installed, and pipelines need 4.1.x")
    monkeypatch.setattr(doctor, "version", no_package)
    assert "is not installed" in wrong(described(tmp_path), FakeTopics(1))["pyspark"]
