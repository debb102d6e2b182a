"""`odradek produce` and `odradek consume` against a broker in this process."""

import base64
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from odradek import Admin
from odradek.base.ids import TopicPartition
from odradek.cli.main import run
from odradek.testing import Broker

pytestmark = pytest.mark.integration

NOT_UTF8 = b"a\xff\xfeb"


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as running:
        yield running


@pytest.fixture(autouse=True)
def where(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODRADEK_BOOTSTRAP_SERVERS", broker.bootstrap_servers)


@pytest.fixture
def topic(broker: Broker) -> str:
    return broker.create_topic(partitions=2)


def produce(tmp_path: Path, topic: str, text: bytes, *options: str, code: int = 0) -> None:
    file = tmp_path / "input"
    file.write_bytes(text)
    assert run(["produce", topic, "--file", str(file), *options]) == code


def output(capfdbinary: pytest.CaptureFixture[bytes], *arguments: str) -> bytes:
    capfdbinary.readouterr()
    assert run(["consume", *arguments]) == 0, capfdbinary.readouterr().err
    return capfdbinary.readouterr().out


def records(capfdbinary: pytest.CaptureFixture[bytes], *arguments: str) -> list[dict[str, Any]]:
    lines = output(capfdbinary, *arguments, "--json").splitlines()
    return sorted((json.loads(line) for line in lines), key=lambda one: (one["partition"], one["offset"]))


def test_keys_headers_and_tombstones_go_in_and_come_out(
    tmp_path: Path, topic: str, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    options = ("--key-separator", "=", "--null-marker", "", "--header", "from=test")
    produce(tmp_path, topic, b"k=v\nk=\nempty= \n", *options)
    shown = records(capfdbinary, topic, "--from-beginning")
    assert sorted((one["key"], one["value"] or "") for one in shown) == [
        ("empty", " "),
        ("k", ""),
        ("k", "v"),
    ]
    assert [one["value"] for one in shown if one["key"] == "k"] == ["v", None]
    assert all(one["headers"] == [{"name": "from", "value": "test"}] for one in shown)
    assert b"from=test\tk\tv\n" in output(capfdbinary, topic, "--from-beginning", "--keys", "--headers")


def test_json_loses_no_byte_and_is_read_again(
    tmp_path: Path, broker: Broker, topic: str, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    produce(tmp_path, topic, NOT_UTF8, "--format", "whole", "--key", "k", "--header", "h=1")
    printed = output(capfdbinary, topic, "--from-beginning", "--json")
    (shown,) = (json.loads(line) for line in printed.splitlines())
    assert base64.b64decode(shown["value_base64"]) == NOT_UTF8
    assert "value" not in shown
    other = broker.create_topic(partitions=2)
    produce(tmp_path, other, printed, "--format", "json")
    (again,) = records(capfdbinary, other, "--from-beginning")
    assert {**again, "topic": topic} == shown
    (always,) = records(capfdbinary, other, "--from-beginning", "--base64")
    assert always["key_base64"] == base64.b64encode(b"k").decode()


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_codec_is_written_and_read(
    tmp_path: Path, topic: str, capfdbinary: pytest.CaptureFixture[bytes], codec: str
) -> None:
    produce(tmp_path, topic, b"a\n" * 3000, "--compression", codec, "--partition", "1")
    assert output(capfdbinary, topic, "--from-beginning") == b"a\n" * 3000


def test_reading_begins_where_it_is_told(
    tmp_path: Path, topic: str, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    lines = b'{"value": "old", "timestamp": 1000}\n{"value": "new", "timestamp": 3000}\n{"value": "last"}\n'
    produce(tmp_path, topic, lines, "--format", "json", "--partition", "0")
    assert output(capfdbinary, topic, "--offset", "1") == b"new\nlast\n"
    assert output(capfdbinary, topic, "--offset", "-1") == b"last\n"
    assert output(capfdbinary, topic, "--since", "@2000") == b"new\nlast\n"
    assert output(capfdbinary, topic, "--since", "1970-01-01T00:00:02Z", "-n", "1") == b"new\n"
    assert output(capfdbinary, topic, "--from-beginning", "--partition", "1") == b""
    assert output(
        capfdbinary, topic, "--from-beginning", "-n", "1", "--format", r"%p@%o %T %k %K %s %S%%\n"
    ) == (b"0@0 1000  -1 old 3%\n")


def test_a_place_that_is_none_is_refused(topic: str, capfd: pytest.CaptureFixture[str]) -> None:
    for arguments, code, sentence in (
        (["--partition", "99"], 1, f"there is no partition 99 of topic {topic}: it has 2"),
        (["--offset", "5"], 1, "there is no offset 5"),
        (
            ["--offset", "soon"],
            2,
            "--offset is an offset, -N for the last N, 'earliest' or 'latest', not 'soon'",
        ),
        (["--since", "soon"], 2, "--since is a time as"),
        (["--offset", "1", "--from-beginning"], 2, "one of --from-beginning, --offset and --since"),
        (["--group", "g", "--partition", "1"], 2, "leave out --partition, --offset and --since"),
        (["--format", "%q"], 2, "--format has no %q"),
        (["--format", "json"], 2, "for JSON use --json"),
    ):
        assert run(["consume", topic, *arguments]) == code
        printed = capfd.readouterr().err
        assert sentence in printed
        assert len(printed.splitlines()) == 1, printed


def test_a_group_reads_on_where_it_ended(
    tmp_path: Path, broker: Broker, topic: str, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    produce(tmp_path, topic, b"1\n2\n3\n", "--partition", "0")
    group = ("--group", f"readers of {topic}")
    assert output(capfdbinary, topic, *group, "--from-beginning", "-n", "2") == b"1\n2\n"
    with Admin(broker.bootstrap_servers) as admin:
        assert admin.list_group_offsets(group[1])[TopicPartition(topic, 0)] == 2
        assert admin.describe_group(group[1]).members == []
    assert output(capfdbinary, topic, *group, "-n", "1") == b"3\n"


def test_records_of_aborted_transactions_are_hidden_from_readers_of_committed_ones(
    broker: Broker, topic: str, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": f"of {topic}"})
    producer.init_transactions(20)
    for value, ends in ((b"no", producer.abort_transaction), (b"yes", producer.commit_transaction)):
        producer.begin_transaction()
        producer.produce(topic, value, partition=0)
        producer.flush(20)
        ends()
    committed = ("--isolation-level", "read_committed")
    assert output(capfdbinary, topic, "--from-beginning", *committed) == b"yes\n"
    assert output(capfdbinary, topic, "--from-beginning") == b"no\nyes\n"


def test_a_produce_that_fails_says_what_was_sent(
    tmp_path: Path, broker: Broker, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    topic = broker.create_topic()
    file = tmp_path / "input"
    file.write_bytes(b"k=v\n" * 3)
    bad = tmp_path / "bad"
    bad.write_bytes(b"no separator\n")
    files = ["--file", str(file), "--file", str(bad)]
    assert run(["produce", topic, *files, "--key-separator", "="]) == 1
    said = capfdbinary.readouterr().err.decode()
    wrong = f"{bad}, line 1: there is no key separator '=' in: no separator"
    assert said == f"odradek: {wrong}; 3 records were sent before that\n"
    assert output(capfdbinary, topic, "--from-beginning") == b"v\n" * 3


def test_a_record_that_the_topic_refuses_is_named(
    tmp_path: Path, broker: Broker, capfd: pytest.CaptureFixture[str]
) -> None:
    topic = broker.create_topic()
    assert run(["configs", "set", "topic", topic, "max.message.bytes=100"]) == 0
    produce(tmp_path, topic, b"x" * 1000, code=1)
    said = capfd.readouterr().err
    assert f"{topic}-0 refuses the records" in said
    assert said.endswith("; 0 records were sent before that\n")


def test_nothing_is_left_after_a_closed_pipe(tmp_path: Path, topic: str) -> None:
    """`| head` ends the command quietly."""
    produce(tmp_path, topic, b"line\n" * 50_000)
    command = [sys.executable, "-m", "odradek", "consume", topic, "--from-beginning"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ) as reader:
        assert reader.stdout is not None
        assert reader.stderr is not None
        assert reader.stdout.readline() == b"line\n"
        reader.stdout.close()
        said = reader.stderr.read()
    assert (reader.returncode, said) == (0, b"")


def test_ctrl_c_ends_a_reader_well(tmp_path: Path, topic: str) -> None:
    command = [sys.executable, "-m", "odradek", "consume", topic, "--from-beginning", "--follow"]
    produce(tmp_path, topic, b"line\n", "--partition", "0")
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ) as reader:
        assert reader.stdout is not None
        assert reader.stderr is not None
        assert reader.stdout.readline() == b"line\n"
        reader.send_signal(signal.SIGINT)
        said = reader.stderr.read()
    assert (reader.returncode, said) == (0, b"")


def test_what_a_slow_program_writes_is_sent_when_it_comes(
    topic: str, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second line is not written before the first was read back."""
    read_end, write_end = os.pipe()
    with os.fdopen(read_end) as source:
        monkeypatch.setattr(sys, "stdin", source)
        sender = threading.Thread(target=run, args=(["produce", topic, "--quiet", "--partition", "0"],))
        sender.start()
        os.write(write_end, b"first\n")
        assert output(capfdbinary, topic, "--offset", "0", "--follow", "-n", "1") == b"first\n"
        os.write(write_end, b"second")
        os.close(write_end)
        sender.join(30)
        assert not sender.is_alive()
    assert output(capfdbinary, topic, "--offset", "-1") == b"second\n"


def test_a_member_commits_as_it_is_told_and_says_what_it_has(
    tmp_path: Path, broker: Broker, topic: str, capfd: pytest.CaptureFixture[str]
) -> None:
    produce(tmp_path, topic, b"1\n2\n", "--partition", "0")
    group = f"readers of {topic}"
    options = ("--group", group, "--protocol", "classic", "--from-beginning", "-n", "1", "--verbose")
    for commit, committed in (("never", None), ("end", 1), ("regularly", 2)):
        capfd.readouterr()
        assert run(["consume", topic, *options, "--commit", commit]) == 0
        with Admin(broker.bootstrap_servers) as admin:
            assert admin.list_group_offsets(group).get(TopicPartition(topic, 0)) == committed
        assert f"odradek: group {group} (classic protocol, range, generation" in capfd.readouterr().err


def test_a_commit_that_fails_is_said_in_a_sentence(tmp_path: Path, broker: Broker) -> None:
    topic = broker.create_topic()
    produce(tmp_path, topic, b"1\n")
    group = f"readers of {topic}"
    # In a process of its own: the broker of a test keeps all loggers of this one quiet.
    command = [sys.executable, "-m", "odradek", "consume", topic, "--group", group, "--from-beginning", "-n1"]
    with broker.faults.error("OffsetCommit", "OFFSET_METADATA_TOO_LARGE"):
        done = subprocess.run(command, capture_output=True, text=True, env=os.environ)
    refusal = f"group {group} refuses the commit of {topic}-0: offset metadata too large"
    assert (done.returncode, done.stdout) == (0, "1\n")
    assert done.stderr == f"odradek: an automatic commit failed: {refusal}\n"


def test_a_properties_file_says_how_a_group_is_read(
    tmp_path: Path, broker: Broker, topic: str, capfd: pytest.CaptureFixture[str]
) -> None:
    produce(tmp_path, topic, b"1\n", "--partition", "0")
    group = f"readers of {topic}"
    properties = tmp_path / "client.properties"
    properties.write_text(
        f"bootstrap.servers={broker.bootstrap_servers}\ngroup.id={group}\ngroup.protocol=classic\n"
        "enable.auto.commit=false\n"
    )
    asked = ["consume", topic, "--config", str(properties), "--from-beginning", "-n", "1", "-v"]
    assert run(asked) == 0
    assert "classic protocol" in capfd.readouterr().err
    with Admin(broker.bootstrap_servers) as admin:
        assert admin.list_group_offsets(group) == {}


def test_a_properties_file_may_say_all_that_a_client_takes(
    tmp_path: Path, topic: str, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    file = tmp_path / "client.properties"
    file.write_text("batch.size=2000000\ndelivery.timeout.ms=2000000000\nisolation.level=READ_COMMITTED\n")
    produce(tmp_path, topic, b"one\n", "--config", str(file))
    assert output(capfdbinary, topic, "--from-beginning", "--config", str(file)) == b"one\n"
    assert not capfdbinary.readouterr().err


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_a_member_leaves_its_group_when_it_is_stopped(
    tmp_path: Path, broker: Broker, topic: str, ending: signal.Signals
) -> None:
    produce(tmp_path, topic, b"line\n", "--partition", "0")
    group = f"readers of {topic}"
    command = [sys.executable, "-m", "odradek", "consume", topic, "--from-beginning", "--group", group]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ) as reader:
        assert reader.stdout is not None
        assert reader.stderr is not None
        assert reader.stdout.readline() == b"line\n"
        reader.send_signal(ending)
        said = reader.stderr.read()
    assert (reader.returncode, said) == (0, b"")
    with Admin(broker.bootstrap_servers) as admin:
        assert admin.describe_group(group).members == []


def test_what_a_closed_pipe_did_not_take_is_not_committed(tmp_path: Path, broker: Broker, topic: str) -> None:
    """The pipe is closed before the first record is written."""
    produce(tmp_path, topic, b"line\n", "--partition", "0")
    group = f"readers of {topic}"
    read_end, write_end = os.pipe()
    os.close(read_end)
    command = [sys.executable, "-m", "odradek", "consume", topic, "--from-beginning", "--group", group]
    done = subprocess.run(command, stdout=write_end, stderr=subprocess.PIPE, env=os.environ)
    os.close(write_end)
    assert (done.returncode, done.stderr) == (0, b"")
    with Admin(broker.bootstrap_servers) as admin:
        assert admin.list_group_offsets(group).get(TopicPartition(topic, 0), 0) == 0


def test_an_interrupted_produce_says_what_was_sent(broker: Broker, topic: str) -> None:
    command = [sys.executable, "-m", "odradek", "produce", topic]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ) as writer:
        assert writer.stdin is not None
        assert writer.stderr is not None
        writer.stdin.write(b"one\n")
        writer.stdin.flush()
        while not broker.records(topic):
            pass
        writer.send_signal(signal.SIGINT)
        said = writer.stderr.read()
    assert said in (
        b"odradek: interrupted; 1 record was sent before that\n",
        # The interrupt came between the broker's append and its answer.
        b"odradek: interrupted; 0 records were sent before that, and perhaps 1 more\n",
    )
    assert writer.returncode == 130


def test_the_number_of_sent_records_is_said_with_the_topics_own_name(
    tmp_path: Path, broker: Broker, capfd: pytest.CaptureFixture[str]
) -> None:
    topic = broker.create_topic("Flights-A")
    produce(tmp_path, topic, b"1\n")
    assert capfd.readouterr().err == "1 record was sent to Flights-A.\n"


def test_options_for_groups_are_refused_without_one(topic: str, capfd: pytest.CaptureFixture[str]) -> None:
    for option in (("--commit", "never"), ("--protocol", "classic"), ("--verbose",)):
        assert run(["consume", topic, *option]) == 2
        assert capfd.readouterr().err == f"odradek: {option[0]} needs --group GROUP\n"


def test_a_group_is_followed_without_asking(topic: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["consume", topic, "--group", "g", "--follow"]) == 2
    assert "with --group, leave out --follow" in capfd.readouterr().err


@pytest.mark.parametrize(("lines", "shown"), [(b"", "0 were"), (b"1\n", "1 was"), (b"1\n2\n", "2 were")])
def test_how_many_were_shown_is_said_at_a_timeout(
    tmp_path: Path, topic: str, lines: bytes, shown: str, capfd: pytest.CaptureFixture[str]
) -> None:
    produce(tmp_path, topic, lines, "--quiet")
    assert run(["consume", topic, "--offset", "earliest", "--follow", "--timeout", "0.1"]) == 0
    assert capfd.readouterr().err == f"No record for 0.1 s; {shown} shown.\n"
