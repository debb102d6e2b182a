"""`odradek groups` and `odradek transactions`, as a person types them, with real groups and producers."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer

from odradek import Admin
from odradek.cli.main import run
from odradek.testing import Broker
from odradek.testing.broker_process import BrokerProcess

pytestmark = pytest.mark.integration

WAIT_S = 20.0


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as running:
        yield running


@pytest.fixture(autouse=True)
def where(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODRADEK_BOOTSTRAP_SERVERS", broker.bootstrap_servers)


def document_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    capsys.readouterr()
    assert run([*arguments, "--json"]) == 0, capsys.readouterr().err
    return json.loads(capsys.readouterr().out)


def rows_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = document_of(capsys, *arguments)
    return rows


def joined(
    broker: Broker | BrokerProcess, topic: str, group: str, records: int, protocol: str = "classic"
) -> Consumer:
    """A consumer that has joined, read and committed `records` records."""
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for number in range(records):
        producer.produce(topic, b"%d" % number)
    assert producer.flush(WAIT_S) == 0
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": group,
            "group.protocol": protocol,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([topic])
    read = 0
    while read < records:
        message = consumer.poll(WAIT_S)
        assert message is not None, f"only {read} of {records} records came"
        read += message.error() is None
    consumer.commit(asynchronous=False)
    return consumer


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_is_shown_moved_and_deleted(
    broker: Broker, capsys: pytest.CaptureFixture[str], protocol: str
) -> None:
    topic, group = broker.create_topic(), f"{protocol}-readers"
    consumer = joined(broker, topic, group, 10, protocol)
    listed = {"group": group, "state": "Stable", "type": protocol, "protocol": "consumer"}
    assert listed in rows_of(capsys, "groups", "list")
    described = document_of(capsys, "groups", "describe", group)
    assert (described["type"], described["state"]) == (protocol, "Stable")
    (member,) = described["members"]
    assert member["partitions"] == [f"{topic}-0"]
    assert run(["groups", "describe", group]) == 0
    assert capsys.readouterr().out.startswith(f"Group {group} is stable: 1 member, {protocol} protocol, ")
    (lag,) = rows_of(capsys, "groups", "lag", group)
    assert (lag["lag"], lag["member"]) == (0, member["member"])
    reset = ["groups", "reset-offsets", group, "--topic", topic, "--to", "4", "--execute"]
    assert run(reset) == 1
    assert "has members" in capsys.readouterr().err
    assert run(["groups", "delete", group]) == 1
    assert "has members" in capsys.readouterr().err
    consumer.close()
    assert run(reset) == 0
    (lag,) = rows_of(capsys, "groups", "lag", group)
    assert (lag["committed"], lag["end"], lag["lag"], lag["member"]) == (4, 10, 6, None)
    assert run(["groups", "delete", group]) == 0


def test_a_member_of_the_new_protocol_is_shown_with_its_epoch_and_its_target(
    broker: Broker, capsys: pytest.CaptureFixture[str]
) -> None:
    topic = broker.create_topic()
    consumer = joined(broker, topic, "epochs", 1, "consumer")
    described = document_of(capsys, "groups", "describe", "epochs")
    (member,) = described["members"]
    assert described["epoch"] == described["target_epoch"] == member["epoch"]
    assert (described["assignor"], member["topics"], member["expression"]) == ("uniform", [topic], None)
    assert member["target"] == member["partitions"] == [f"{topic}-0"]
    consumer.close()


def test_partitions_that_a_member_has_are_shown_before_anything_is_committed(
    broker: Broker, capsys: pytest.CaptureFixture[str]
) -> None:
    topic = broker.create_topic(partitions=2)
    consumer = joined(broker, topic, "beginners", 1, "consumer")
    rows = rows_of(capsys, "groups", "lag", "beginners")
    assert sorted((row["lag"] is None, row["end"]) for row in rows) == [(False, 1), (True, 0)]
    assert {row["client"] for row in rows} == {"rdkafka"}
    consumer.close()


@pytest.mark.parametrize("command", ["describe", "lag", "delete"])
def test_a_group_that_there_is_not_is_refused(capsys: pytest.CaptureFixture[str], command: str) -> None:
    assert run(["groups", command, "nobody"]) == 1
    assert "there is no group nobody" in capsys.readouterr().err


@pytest.mark.parametrize(("to", "offset"), [("earliest", 0), ("latest", 3), ("2", 2), ("@0", 0)])
def test_offsets_are_reset_to_words_numbers_and_times(
    broker: Broker, capsys: pytest.CaptureFixture[str], to: str, offset: int
) -> None:
    topic, group = broker.create_topic(), f"moved-to-{to}"
    joined(broker, topic, group, 3).close()
    (row,) = rows_of(capsys, "groups", "reset-offsets", group, "--topic", topic, "--to", to)
    assert row == {"topic": topic, "partition": 0, "before": 3, "committed": offset, "executed": False}


def test_a_reset_is_clamped_to_the_log_and_done_only_when_executed(
    broker: Broker, capsys: pytest.CaptureFixture[str]
) -> None:
    """An offset that a log does not have was committed as it was given."""
    topic, group = broker.create_topic(), "clamped"
    joined(broker, topic, group, 3).close()

    def after(*options: str) -> tuple[int, str]:
        capsys.readouterr()
        assert run(["groups", "reset-offsets", group, "--topic", topic, *options, "--json"]) == 0
        printed = capsys.readouterr()
        return json.loads(printed.out)[0]["committed"], printed.err

    offset, said = after("--to", "999")
    assert offset == 3
    assert f"{topic}-0: 999 is beyond the end, 3 is used instead" in said
    assert "add --execute" in said
    assert after("--shift-by", "-2", "--execute") == (1, "")
    (lag,) = rows_of(capsys, "groups", "lag", group)
    assert (lag["committed"], lag["lag"]) == (1, 2)
    offset, said = after("--shift-by", "-5")
    assert offset == 0
    assert "-4 is before the start" in said
    assert after("--to-datetime", "2001-01-01", "--execute")[0] == 0
    assert after("--to-datetime", "0s", "--execute")[0] == 3
    assert run(["groups", "lag", group]) == 0
    assert capsys.readouterr().out.endswith("Total lag: 0 in 1 partition.\n")


def test_a_reset_needs_one_target_and_a_topic(capsys: pytest.CaptureFixture[str]) -> None:
    for options, sentence in (
        (["--topic", "t"], "needs one of --to, --shift-by, --to-datetime and --from-file"),
        (["--topic", "t", "--to", "1", "--shift-by", "1"], "needs one of --to, --shift-by, "),
        (["--topic", "t", "--from-file", "f"], "--from-file names the partitions itself: leave out --topic"),
        (["--topic", "t", "--to", "1", "--export", "--json"], "--export prints CSV: leave out --json"),
        (["--to", "1"], "needs --topic TOPIC, or --all-topics"),
    ):
        assert run(["groups", "reset-offsets", "g", *options]) == 2
        assert sentence in capsys.readouterr().err


@pytest.fixture
def committed(broker: Broker, tmp_path: Path) -> tuple[str, str]:
    """A topic with two partitions of three records, and a group that has committed 2 and 3."""
    topic = broker.create_topic(partitions=2)
    group = f"readers-of-{topic}"
    lines = tmp_path / "lines"
    lines.write_text("a\nb\nc\n")
    for number in ("0", "1"):
        assert run(["produce", topic, "--partition", number, "--file", str(lines), "--quiet"]) == 0
        place = ["--topic", topic, "--partition", number, "--to", str(int(number) + 2)]
        assert run(["groups", "reset-offsets", group, *place, "--execute"]) == 0
    return topic, group


def offsets_of(capsys: pytest.CaptureFixture[str], group: str) -> dict[int, int]:
    return {one["partition"]: one["committed"] for one in rows_of(capsys, "groups", "lag", group)}


def test_offsets_are_exported_to_a_file_and_set_from_it(
    committed: tuple[str, str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    topic, group = committed
    reset = ["groups", "reset-offsets", group]
    capsys.readouterr()
    assert run([*reset, "--topic", topic, "--to", "current", "--export"]) == 0
    exported = capsys.readouterr().out
    assert exported == f"{topic},0,2\n{topic},1,3\n"
    file = tmp_path / "offsets.csv"
    file.write_text(f"{topic},1,999\n")
    assert run([*reset, "--from-file", str(file)]) == 0
    assert f"{topic}-1: 999 is beyond the end, 3 is used instead" in capsys.readouterr().err
    file.write_text(f"{topic},0,0\n{topic},7,0\n")
    assert run([*reset, "--from-file", str(file), "--execute"]) == 1
    assert f"there is no partition 7 of topic {topic}" in capsys.readouterr().err
    file.write_text(f"{topic},0,1\n")
    (moved,) = rows_of(capsys, *reset, "--from-file", str(file), "--execute")
    assert (moved["before"], moved["committed"], moved["executed"]) == (2, 1, True)
    assert offsets_of(capsys, group) == {0: 1, 1: 3}
    file.write_text(exported)
    rows_of(capsys, *reset, "--from-file", str(file), "--execute")
    assert offsets_of(capsys, group) == {0: 2, 1: 3}


def test_committed_offsets_are_deleted_when_executed(
    broker: Broker, committed: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    topic, group = committed
    delete = ["groups", "delete-offsets", group]
    (shown,) = rows_of(capsys, *delete, "--topic", topic, "--partition", "1")
    assert shown == {"topic": topic, "partition": 1, "committed": 3, "executed": False}
    assert offsets_of(capsys, group) == {0: 2, 1: 3}
    rows_of(capsys, *delete, "--topic", topic, "--partition", "1", "--execute")
    assert offsets_of(capsys, group) == {0: 2}
    assert run([*delete, "--topic", topic, "--partition", "1", "--execute"]) == 0
    assert capsys.readouterr().out == f"Group {group} has committed nothing in {topic}.\n"
    assert len(rows_of(capsys, *delete, "--all-topics", "--execute")) == 1
    with Admin(broker.bootstrap_servers) as admin:
        assert admin.list_group_offsets(group) == {}


def test_offsets_that_a_member_reads_are_not_deleted(
    broker: Broker, capsys: pytest.CaptureFixture[str]
) -> None:
    topic, group = broker.create_topic(), "still-reading"
    consumer = joined(broker, topic, group, 3)
    assert run(["groups", "delete-offsets", group, "--topic", topic, "--execute"]) == 1
    said = capsys.readouterr().err
    assert said == f"odradek: members of group {group} read topic {topic}: stop them first\n"
    assert offsets_of(capsys, group) == {0: 3}
    consumer.close()


def test_offsets_of_what_does_not_exist_are_not_deleted(
    committed: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    topic, group = committed
    for arguments, code, sentence in (
        ([group], 2, "groups delete-offsets needs --topic TOPIC, or --all-topics"),
        ([group, "--topic", "nowhere"], 1, "there is no topic nowhere"),
        ([group, "--topic", topic, "--partition", "2"], 1, f"there is no partition 2 of topic {topic}"),
        (["nobody", "--topic", topic], 1, "there is no group nobody"),
    ):
        assert run(["groups", "delete-offsets", *arguments]) == code
        assert sentence in capsys.readouterr().err


def test_lists_are_filtered(broker: Broker, capsys: pytest.CaptureFixture[str]) -> None:
    joined(broker, broker.create_topic(), "filtered-1", 1).close()
    joined(broker, broker.create_topic(), "other-1", 1).close()
    named = rows_of(capsys, "groups", "list", "--filter", "filtered-*")
    assert [row["group"] for row in named] == ["filtered-1"]
    assert rows_of(capsys, "groups", "list", "--filter", "filtered-*", "--state", "Stable") == []


def test_a_place_that_is_none_is_refused(broker: Broker, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["groups", "reset-offsets", "g", "--topic", "no-such-topic", "--to", "latest"]) == 1
    assert "there is no topic no-such-topic" in capsys.readouterr().err
    topic = broker.create_topic()
    for word in ("soon", "²", "@", "-1"):
        assert run(["groups", "reset-offsets", "g", "--topic", topic, "--to", word]) == 2, word
        assert f"not '{word}'" in capsys.readouterr().err
    for word in (str(1 << 63), f"@{1 << 63}", "9" * 5000):
        assert run(["groups", "reset-offsets", "g", "--topic", topic, "--to", word]) == 2, word
        assert "--to is earliest, latest, current, an offset" in capsys.readouterr().err


def test_a_transaction_is_shown_while_it_is_open(broker: Broker, capsys: pytest.CaptureFixture[str]) -> None:
    topic = broker.create_topic()
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": "payments"})
    producer.init_transactions(WAIT_S)
    producer.begin_transaction()
    producer.produce(topic, b"1")
    assert producer.flush(WAIT_S) == 0
    (open_one,) = rows_of(capsys, "transactions", "describe", "payments")
    assert (open_one["state"], open_one["partitions"]) == ("Ongoing", [f"{topic}-0"])
    producer.commit_transaction(WAIT_S)
    (done,) = rows_of(capsys, "transactions", "describe", "payments")
    assert (done["state"], done["partitions"]) == ("CompleteCommit", [])
    assert "payments" in [row["transactional_id"] for row in rows_of(capsys, "transactions", "list")]
    assert run(["transactions", "describe", "nobody"]) == 1
    assert "there is no transactional id nobody" in capsys.readouterr().err


def test_what_groups_and_transactions_wait_for_is_shown_by_the_admin_listener(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broker = BrokerProcess(tmp_path / "data", admin_port=0)
    broker.start()
    try:
        assert broker.admin_address is not None
        admin = ["--admin", broker.admin_address]
        assert run(["describe", "groups", *admin]) == 0
        assert capsys.readouterr().out == "There are no groups.\n"
        assert run(["describe", "transactions", *admin]) == 0
        assert capsys.readouterr().out == "There are no transactional ids.\n"
        consumer = joined(broker, "t", "readers", 1, "consumer")
        (group,) = document_of(capsys, "describe", "groups", *admin)
        assert (group["group"], group["type"], group["waits_for"]) == ("readers", "consumer", "nothing")
        assert run(["describe", "groups", *admin]) == 0
        header, row = capsys.readouterr().out.splitlines()
        assert header.split() == ["group", "type", "state", "protocol", "offsets", "waits", "for"]
        assert row.split() == ["readers", "consumer", "Stable", "uniform", "1", "nothing"]
        assert run(["describe", "compaction", *admin]) == 0
        said = "No topic is compacted; --internal shows the cluster's own.\n"
        assert capsys.readouterr().out == said
        own = document_of(capsys, "describe", "compaction", "--internal", *admin)
        assert {one["partition"].rpartition("-")[0] for one in own} == {"__consumer_offsets"}
        consumer.close()
    finally:
        broker.kill()
