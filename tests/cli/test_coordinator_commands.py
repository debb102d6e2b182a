"""`odradek groups` and `odradek transactions`, as a person types them, with real groups and producers."""

import json
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, Producer

from odradek.cli.app import run
from odradek.testing import Broker

pytestmark = pytest.mark.integration

WAIT_S = 20.0


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as running:
        yield running


@pytest.fixture(autouse=True)
def where(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODRADEK_BOOTSTRAP_SERVERS", broker.bootstrap_servers)


def rows_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict]:
    capsys.readouterr()
    assert run([*arguments, "--json"]) == 0, capsys.readouterr().err
    return json.loads(capsys.readouterr().out)


def joined(broker: Broker, topic: str, group: str, records: int) -> Consumer:
    """A consumer that has joined, read and committed `records` records."""
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for number in range(records):
        producer.produce(topic, b"%d" % number)
    assert producer.flush(WAIT_S) == 0
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": group,
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


def test_a_group_is_shown_moved_and_deleted(broker: Broker, capsys: pytest.CaptureFixture[str]) -> None:
    topic = broker.create_topic()
    consumer = joined(broker, topic, "readers", 10)
    assert {"group": "readers", "state": "Stable", "type": "classic", "protocol": "consumer"} in rows_of(
        capsys, "groups", "list"
    )
    (member,) = rows_of(capsys, "groups", "describe", "readers")
    assert member["partitions"] == [f"{topic}-0"]
    reset = ["groups", "reset-offsets", "readers", "--topic", topic, "--to", "4"]
    assert run(reset) == 1
    assert "has members" in capsys.readouterr().err
    consumer.close()
    assert run(reset) == 0
    (lag,) = rows_of(capsys, "groups", "lag", "readers")
    assert (lag["committed"], lag["end"], lag["lag"]) == (4, 10, 6)
    assert run(["groups", "delete", "readers"]) == 0
    assert run(["groups", "describe", "readers"]) == 1
    assert "there is no group readers" in capsys.readouterr().err


@pytest.mark.parametrize(("to", "offset"), [("earliest", 0), ("latest", 3), ("2", 2), ("@0", 0)])
def test_offsets_are_reset_to_words_numbers_and_times(
    broker: Broker, capsys: pytest.CaptureFixture[str], to: str, offset: int
) -> None:
    topic, group = broker.create_topic(), f"moved-to-{to}"
    joined(broker, topic, group, 3).close()
    (row,) = rows_of(capsys, "groups", "reset-offsets", group, "--topic", topic, "--to", to)
    assert row == {"topic": topic, "partition": 0, "committed": offset}


def test_a_place_that_is_none_is_refused(broker: Broker, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["groups", "reset-offsets", "g", "--topic", "no-such-topic", "--to", "latest"]) == 1
    assert "there is no topic no-such-topic" in capsys.readouterr().err
    topic = broker.create_topic()
    assert run(["groups", "reset-offsets", "g", "--topic", topic, "--to", "soon"]) == 2
    assert "not 'soon'" in capsys.readouterr().err


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
