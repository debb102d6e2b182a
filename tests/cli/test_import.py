"""`odradek import` of directories as Apache Kafka leaves them; with Kafka itself in `compat`."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from odradek import Admin
from odradek.base.uuids import parse_uuid
from odradek.cli.main import run
from odradek.client.core.admin.configs import TOPIC_RESOURCE
from odradek.metadata import takeover
from odradek.metadata.kraft.records import ABORT_TRANSACTION, BEGIN_TRANSACTION, END_TRANSACTION
from odradek.testing import Broker
from odradek.wire.messages.cluster_metadata import (
    ConfigRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from tests.cli.kafka_directory import KafkaDirectory

pytestmark = pytest.mark.integration

OTHER_ID = UUID(int=7)
ACCESS_CONTROL = 18


@pytest.fixture
def imported(kafka: KafkaDirectory, capsys: pytest.CaptureFixture[str]) -> Callable[..., dict[str, Any]]:
    def run_import(*options: str) -> dict[str, Any]:
        capsys.readouterr()
        assert run(["import", str(kafka.path), "--json", *options]) == 0, capsys.readouterr().err
        document: dict[str, Any] = json.loads(capsys.readouterr().out)
        return document

    return run_import


def refused(kafka: KafkaDirectory, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    before = kafka.contents()
    capsys.readouterr()
    assert run(["import", str(kafka.path), *options]) == 2
    assert kafka.contents() == before
    return capsys.readouterr().err


def test_a_directory_becomes_odradeks_with_ids_records_and_settings(
    kafka: KafkaDirectory, imported: Callable[..., dict[str, Any]]
) -> None:
    kafka.write()
    before = kafka.contents()
    plan = imported()
    assert kafka.contents() == before, "a dry run changed something"
    assert plan["notes"] == []
    imported("--execute")
    changed = {name for name, content in kafka.contents().items() if before.get(name) != content}
    assert changed == {str(kafka.path / "metadata.db")}
    with Broker(data_dir=kafka.path, settings={"node.id": str(1)}) as broker:
        with Admin(broker.bootstrap_servers) as admin:
            (topic,) = admin.describe_topics()
            settings = admin.describe_configs("topic", "flights")
        assert parse_uuid(topic.topic_id) == kafka.topic_id
        assert all(one.leader_epoch > 3 for one in topic.partitions), "an epoch was given out twice"
        assert {
            one.name: one.value for one in settings if one.source and one.source.name == "DYNAMIC_TOPIC"
        } == {"retention.ms": "5000"}
        out = subprocess.run(
            [sys.executable, "-m", "odradek", "consume", "flights", "--from-beginning"],
            env={**os.environ, "ODRADEK_BOOTSTRAP_SERVERS": broker.bootstrap_servers},
            capture_output=True,
            check=True,
        ).stdout
    assert out == b"a\nb\nc\n"
    assert (kafka.path / "__cluster_metadata-0").is_dir(), "Kafka could not be started again"


def test_what_the_quorum_decided_last_counts(
    kafka: KafkaDirectory, imported: Callable[..., dict[str, Any]]
) -> None:
    """Changes behind the snapshot, deleted topics, and transactions that were aborted or never ended."""
    snapshot = kafka.records
    other = TopicRecord("other", OTHER_ID)
    kafka.records = [
        ConfigRecord(TOPIC_RESOURCE, "flights", "retention.ms", "7000"),
        PartitionChangeRecord(0, kafka.topic_id, leader=1),
        other,
        RemoveTopicRecord(OTHER_ID),
        BEGIN_TRANSACTION,
        other,
        ABORT_TRANSACTION,
        BEGIN_TRANSACTION,
        ConfigRecord(TOPIC_RESOURCE, "flights", "segment.bytes", "2000000"),
        END_TRANSACTION,
        BEGIN_TRANSACTION,
        RemoveTopicRecord(kafka.topic_id),
    ]
    kafka.write(snapshot)
    (topic,) = imported()["topics"]
    assert (topic["topic"], topic["settings"]) == (
        "flights",
        {"retention.ms": "7000", "segment.bytes": "2000000"},
    )
    (taken,) = takeover.plan_takeover([str(kafka.path)]).topics
    assert {number: one.leader_epoch for number, one in taken.partitions.items()} == {0: 4, 1: 3}


def test_what_cannot_come_along_is_said(
    kafka: KafkaDirectory, imported: Callable[..., dict[str, Any]]
) -> None:
    kafka.records += [
        ConfigRecord(TOPIC_RESOURCE, "flights", "no.such.setting", "1"),
        ConfigRecord(TOPIC_RESOURCE, "flights", "segment.bytes", "soon"),
        ACCESS_CONTROL,
    ]
    (kafka.path / ".kafka_cleanshutdown").unlink()
    (kafka.path / "stranger-0").mkdir()
    kafka.write()
    notes = "\n".join(imported()["notes"])
    for said in (
        "no.such.setting=1 of topic flights is left out",
        "segment.bytes of topic flights is left out",
        "access control lists, which are not served",
        "was not stopped cleanly",
        "stranger-0 belongs to no topic of the cluster",
    ):
        assert said in notes, notes


def test_without_a_metadata_log_the_logs_say_what_they_are(
    kafka: KafkaDirectory, imported: Callable[..., dict[str, Any]]
) -> None:
    plan = imported()
    assert [(one["topic"], one["partitions"], one["settings"]) for one in plan["topics"]] == [
        ("flights", 2, {})
    ]
    assert "settings of topics are not known" in plan["notes"][0]


def test_producer_ids_go_on_far_from_kafkas(
    kafka: KafkaDirectory, imported: Callable[..., dict[str, Any]]
) -> None:
    """A Kafka that is started again counts on from its own; one id must not mean two producers."""
    kafka.write()
    first = imported("--execute")["next_producer_id"]
    assert first == 3000 + takeover.PRODUCER_ID_DISTANCE


def test_a_directory_that_cannot_be_taken_over_is_left_as_it_is(
    kafka: KafkaDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    good = list(kafka.records)
    for records, sentence in (
        ([*good[:2], kafka.partition(1, (2, 3)), *good[3:]], "flights-1 is not on broker 1 but on 2, 3"),
        ([*good, kafka.partition(2)], "flights-2 has no log here: name all log directories of broker 1"),
        (
            [TopicRecord("flights", OTHER_ID), PartitionRecord(0, OTHER_ID, [1], [1])],
            "is of another topic of that name",
        ),
        (
            [*good, ConfigRecord(TOPIC_RESOURCE, "flights", "remote.storage.enable", "true")],
            "topic flights has records in remote storage",
        ),
    ):
        kafka.records = [*records]
        kafka.write()
        assert sentence in refused(kafka, capsys, "--execute")
    segment = kafka.path / "__cluster_metadata-0" / f"{0:020}.log"
    content = bytearray(segment.read_bytes())
    content[80] ^= 1
    segment.write_bytes(content)
    assert "the KRaft metadata log cannot be read" in refused(kafka, capsys, "--execute")


def test_it_is_taken_over_once(
    kafka: KafkaDirectory, imported: Callable[..., dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    kafka.write()
    imported("--execute")
    assert "is Odradek's already: metadata.db is there" in refused(kafka, capsys, "--execute")


def test_a_failure_half_way_changes_nothing(
    kafka: KafkaDirectory, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    kafka.write()

    def fails(source: object, target: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fails)
    assert "metadata.db: no space left on device" in refused(kafka, capsys, "--execute")


HOLDER = """
import fcntl, sys
file = open(sys.argv[1], "r+")
fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
print("held", flush=True)
sys.stdin.read()
"""


def test_a_running_kafka_is_left_alone(kafka: KafkaDirectory, capsys: pytest.CaptureFixture[str]) -> None:
    """A JVM locks with fcntl, which flock does not see: neither import nor a broker may miss it."""
    kafka.write()
    command = [sys.executable, "-c", HOLDER, str(kafka.path / ".lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert "is in use by a running broker: stop it first" in refused(kafka, capsys)
        assert "is in use by a running broker: stop it first" in refused(kafka, capsys, "--execute")
        holder.communicate(b"")


def test_a_directory_of_something_else_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["import", str(tmp_path)]) == 2
    assert "has no meta.properties, and no KRaft metadata log with topics says whose it is" in (
        capsys.readouterr().err
    )
    assert run(["import", str(tmp_path / "none")]) == 2
    assert "there is no directory" in capsys.readouterr().err


def test_a_note_leaves_paths_and_names_as_they_are(
    kafka: KafkaDirectory, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (kafka.path / ".kafka_cleanshutdown").unlink()
    kafka.write()
    monkeypatch.chdir(kafka.path.parent)
    assert run(["import", kafka.path.name]) == 0
    assert f"- {kafka.path.name} was not stopped cleanly" in capsys.readouterr().out


def test_a_directory_that_lost_its_meta_properties_gets_one(
    kafka: KafkaDirectory, imported: Callable[..., dict[str, Any]]
) -> None:
    """The start names this way; the quorum's log says which broker has all replicas."""
    kafka.write()
    (kafka.path / "meta.properties").unlink()
    start = ["serve", "--port", "0", "--data-dir", str(kafka.path), "--set", "node.id=1"]
    done = subprocess.run(
        [sys.executable, "-m", "odradek", *start], capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert f"let `odradek import {kafka.path}` make one if these are logs of Apache Kafka" in done.stderr
    before = kafka.contents()
    plan = imported()
    assert kafka.contents() == before, "a dry run changed something"
    assert plan["node_id"] == 1
    assert "it gets one, of broker 1 and cluster " in plan["notes"][0]
    assert imported("--execute")["cluster_id"] == plan["cluster_id"]
    changed = {name for name, content in kafka.contents().items() if before.get(name) != content}
    assert changed == {str(kafka.path / name) for name in ("metadata.db", "meta.properties")}
    with Broker(data_dir=kafka.path, settings={"node.id": "1"}) as broker:
        with Admin(broker.bootstrap_servers) as admin:
            (topic,) = admin.describe_topics()
        assert parse_uuid(topic.topic_id) == kafka.topic_id


def test_a_directory_of_one_of_several_brokers_needs_its_meta_properties(
    kafka: KafkaDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    """The replicas do not say which of two brokers had this directory."""
    kafka.records[1:3] = [kafka.partition(number, replicas=(1, 2)) for number in (0, 1)]
    kafka.write()
    (kafka.path / "meta.properties").unlink()
    assert "says whose it is" in refused(kafka, capsys)
