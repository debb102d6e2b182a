"""`odradek transactions`: hanging transactions are found and ended, others are not touched."""

import json
import time
from collections.abc import Iterator
from typing import Any, TypeVar

import pytest
from confluent_kafka import Producer

from odradek.base.ids import TopicPartition
from odradek.cli.main import run
from odradek.client.administering import administering
from odradek.client.configuration import ClientConfig
from odradek.client.core.admin.open_transactions import find_hanging, open_transaction_at, producers_of
from odradek.client.core.operation import Operation, Pause
from odradek.net.blocking_connection import BrokerConnection
from odradek.records.builder import BatchBuilder
from odradek.testing import Broker
from odradek.wire.messages.list_transactions import ListTransactionsRequest
from odradek.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)

T = TypeVar("T")

pytestmark = pytest.mark.integration

WAIT_S = 20.0
PRODUCER_ID = 7_000_000
MOST = ("--max-transaction-timeout", "0")


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(settings={"transaction.partition.verification.enable": False}) as running:
        yield running


@pytest.fixture(autouse=True)
def where(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODRADEK_BOOTSTRAP_SERVERS", broker.bootstrap_servers)


def hang(broker: Broker, topic: str, partition: int = 0, *, timestamp_ms: int = 1_000) -> None:
    """Leave a transaction in a partition that no coordinator has."""
    batch = BatchBuilder(producer_id=PRODUCER_ID, producer_epoch=3, base_sequence=0, is_transactional=True)
    batch.append(timestamp_ms, None, b"1")
    parts = [PartitionProduceData(partition, bytes(batch.build()))]
    request = ProduceRequest("nobody's", -1, 10_000, [TopicProduceData(topic, partition_data=parts)])
    host, _, port = broker.bootstrap_servers.partition(":")
    with BrokerConnection(host, int(port)) as connection:
        answer = connection.ask(request, ProduceResponse, 9)
    assert answer.responses[0].partition_responses[0].error_code == 0


def begun(broker: Broker, topic: str, transactional_id: str) -> Producer:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": transactional_id})
    producer.init_transactions(WAIT_S)
    producer.begin_transaction()
    producer.produce(topic, b"1", timestamp=1_000)
    assert producer.flush(WAIT_S) == 0
    return producer


def rows(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    capsys.readouterr()
    assert run(["transactions", *arguments, "--json"]) == 0, capsys.readouterr().err
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return found


def said(capsys: pytest.CaptureFixture[str], *arguments: str, code: int) -> str:
    capsys.readouterr()
    assert run(["transactions", *arguments]) == code
    printed = capsys.readouterr()
    return printed.err if code else printed.out


def test_a_hanging_transaction_is_found_where_it_is_sought(
    broker: Broker, capsys: pytest.CaptureFixture[str]
) -> None:
    topic, other = broker.create_topic(partitions=2), broker.create_topic()
    hang(broker, topic, 1)
    (found,) = rows(capsys, "find-hanging", "--topic", topic)
    assert (found["topic"], found["partition"], found["start_offset"]) == (topic, 1, 0)
    assert (found["producer_id"], found["producer_epoch"], found["coordinator_epoch"]) == (
        PRODUCER_ID,
        3,
        None,
    )
    assert found["last_timestamp_ms"] == 1_000
    assert found["open_minutes"] > 15
    assert rows(capsys, "find-hanging", "--topic", topic, "--partition", "1") == [found]
    assert rows(capsys, "find-hanging", "--topic", topic, "--partition", "0") == []
    assert rows(capsys, "find-hanging", "--topic", other) == []
    by_broker = rows(capsys, "find-hanging", "--broker-id", "0")
    assert found["topic"] in [one["topic"] for one in by_broker]
    assert said(capsys, "find-hanging", "--topic", other, code=0) == "There are no hanging transactions.\n"


def test_a_transaction_that_was_written_to_lately_is_not_searched(
    broker: Broker, capsys: pytest.CaptureFixture[str]
) -> None:
    topic = broker.create_topic()
    hang(broker, topic, timestamp_ms=int(time.time() * 1000) - 5 * 60_000)
    assert rows(capsys, "find-hanging", "--topic", topic) == []
    (found,) = rows(capsys, "find-hanging", "--topic", topic, "--max-transaction-timeout", "4")
    assert found["open_minutes"] == 5


def test_a_transaction_is_aborted_by_its_first_offset(
    broker: Broker, capsys: pytest.CaptureFixture[str]
) -> None:
    topic = broker.create_topic()
    hang(broker, topic)
    place = ("--topic", topic, "--partition", "0", "--start-offset")
    wrong = said(capsys, "abort", *place, "1", code=1)
    assert wrong == f"odradek: no open transaction of {topic}-0 starts at offset 1\n"
    printed = said(capsys, "abort", *place, "0", code=0)
    assert printed.startswith(f"Aborted the transaction of producer {PRODUCER_ID}, epoch 3, that started at")
    assert rows(capsys, "find-hanging", "--topic", topic) == []
    (left,) = rows(capsys, "describe-producers", "--topic", topic, "--partition", "0")
    assert (left["start_offset"], left["last_sequence"]) == (None, 0)
    assert run(["consume", topic, "--from-beginning", "--isolation-level", "read_committed"]) == 0
    assert capsys.readouterr().out == ""


def test_a_transaction_with_a_coordinator_is_aborted_only_by_force(
    broker: Broker, capsys: pytest.CaptureFixture[str]
) -> None:
    topic = broker.create_topic()
    begun(broker, topic, "payments")
    assert rows(capsys, "find-hanging", "--topic", topic, *MOST) == []
    place = ("--topic", topic, "--partition", "0", "--start-offset", "0")
    assert "its transactional id payments is Ongoing" in said(capsys, "abort", *place, code=1)
    (still,) = rows(capsys, "describe-producers", "--topic", topic, "--partition", "0")
    assert still["start_offset"] == 0
    said(capsys, "abort", *place, "--force", code=0)
    (ended,) = rows(capsys, "describe-producers", "--topic", topic, "--partition", "0")
    assert ended["start_offset"] is None


def test_a_terminated_producer_is_fenced_and_its_records_are_aborted(
    broker: Broker, capsys: pytest.CaptureFixture[str]
) -> None:
    topic = broker.create_topic()
    producer = begun(broker, topic, "outbox")
    printed = said(capsys, "force-terminate", "outbox", code=0)
    assert printed == "Fenced the producer of outbox; it has no open transaction.\n"
    (described,) = rows(capsys, "describe-producers", "--topic", topic, "--partition", "0")
    assert described["start_offset"] is None
    with pytest.raises(Exception, match=r"(?i)fenced"):
        producer.commit_transaction(WAIT_S)
    said(capsys, "force-terminate", "outbox", code=0)


def test_a_transaction_that_ends_while_it_is_checked_does_not_hang(broker: Broker) -> None:
    """The first look at the partition is older than the answer of the coordinator."""
    topic = broker.create_topic()
    producer = begun(broker, topic, "closing")
    partition = TopicPartition(topic, 0)

    def ended_before(operation: Operation[T]) -> Operation[T]:
        """The operation; the transaction ends before its coordinator is asked."""
        asked = next(operation)
        while True:
            if not isinstance(asked, Pause) and isinstance(asked[0].request, ListTransactionsRequest):
                producer.commit_transaction(WAIT_S)
            try:
                asked = operation.send((yield asked))
            except StopIteration as end:
                result: T = end.value
                return result

    with administering(ClientConfig(broker.bootstrap_servers)) as admin:
        found = admin.carry_out(open_transaction_at(partition, 0))
        assert found.last_timestamp_ms == 1_000
        assert admin.carry_out(ended_before(find_hanging([partition], before_ms=2_000))) == []
        assert admin.carry_out(producers_of([partition]))[0].start_offset is None


def test_what_does_not_exist_is_named(broker: Broker, capsys: pytest.CaptureFixture[str]) -> None:
    topic = broker.create_topic(partitions=2)
    for arguments, code, sentence in (
        (["find-hanging"], 2, "needs --topic TOPIC, or --broker-id ID"),
        (["find-hanging", "--broker-id", "0", "--partition", "0"], 2, "--partition needs --topic"),
        (["find-hanging", "--broker-id", "9"], 1, "there is no broker 9"),
        (["find-hanging", "--topic", "nowhere"], 1, "there is no topic nowhere"),
        (
            ["describe-producers", "--topic", topic, "--partition", "2"],
            1,
            f"partition 2 of topic {topic}: it has 2",
        ),
        (["describe-producers", "--topic", topic], 2, "needs --partition"),
        (["abort", "--topic", topic, "--partition", "0"], 2, "needs --start-offset"),
        (["force-terminate", "nobody"], 1, "there is no transactional id nobody"),
    ):
        assert sentence in said(capsys, *arguments, code=code)
    empty = said(capsys, "describe-producers", "--topic", topic, "--partition", "0", code=0)
    assert empty == f"{topic}-0 has no idempotent or transactional producers.\n"
