"""Transactions that no coordinator will end are found and ended, as by Kafka's own tool."""

import time
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Producer
from peers import BrokerProcess, KafkaTools, ToolFailed
from peers.waiting import WAIT_S_MAX, wait_until

from compat.commands import Cli, rows
from odradek.base.error_codes import ErrorCode
from odradek.net.blocking_connection import BrokerConnection
from odradek.records.builder import BatchBuilder
from odradek.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)

pytestmark = pytest.mark.needs_api("DescribeProducers", "WriteTxnMarkers")

PRODUCER_ID, PRODUCER_EPOCH = 7_000_000, 3
OPEN_MINUTES = 20
VERIFICATION = "transaction.partition.verification.enable"
Hang = Callable[[str], None]


@pytest.fixture
def topic(broker: BrokerProcess, new_topic: Callable[..., str]) -> str:
    """A topic that the broker leads to which raw requests go."""
    return new_topic(led_by=broker.port)


@pytest.fixture
def hang(cli: Cli, connection: BrokerConnection) -> Iterator[Hang]:
    """Leaves a transaction in a topic that was never added to any, as brokers before KIP-890 allowed it."""
    cli("configs", "set", "broker", "all", f"{VERIFICATION}=false")

    def write(topic: str) -> None:
        wait_until(lambda: _write(connection, topic) == ErrorCode.NONE, "the broker still verifies")

    yield write
    cli("configs", "reset", "broker", "all", VERIFICATION)


def _write(connection: BrokerConnection, topic: str) -> int:
    batch = BatchBuilder(
        producer_id=PRODUCER_ID, producer_epoch=PRODUCER_EPOCH, base_sequence=0, is_transactional=True
    )
    begun_ms = int(time.time() * 1000) - OPEN_MINUTES * 60_000
    batch.append(begun_ms, None, b"1")
    parts = [PartitionProduceData(0, bytes(batch.build()))]
    request = ProduceRequest("nobody's", -1, 10_000, [TopicProduceData(topic, partition_data=parts)])
    answer = connection.ask(request, ProduceResponse, 9)
    return answer.responses[0].partition_responses[0].error_code


def cells(printed: str) -> list[list[str]]:
    """The rows of a table of Kafka's tool."""
    return [line.split() for line in printed.splitlines()[1:] if line.strip()]


def committed(cli: Cli, topic: str) -> str:
    return cli("consume", topic, "--from-beginning", "--isolation-level", "read_committed")


def test_a_hanging_transaction_is_found_as_by_kafka_s_tool(
    cli: Cli, tools: KafkaTools, hang: Hang, topic: str, broker: BrokerProcess
) -> None:
    hang(topic)
    plain = Producer({"bootstrap.servers": broker.bootstrap})
    plain.produce(topic, b"behind it")
    assert plain.flush(WAIT_S_MAX) == 0
    assert committed(cli, topic) == ""
    (theirs,) = cells(tools.on_broker("transactions", "find-hanging", "--topic", topic))
    (ours,) = rows(cli, "transactions", "find-hanging", "--topic", topic)
    epoch = -1 if ours["coordinator_epoch"] is None else ours["coordinator_epoch"]
    assert theirs == [
        *(ours["topic"], str(ours["partition"]), str(ours["producer_id"]), str(ours["producer_epoch"])),
        *(str(epoch), str(ours["start_offset"]), str(ours["last_timestamp_ms"]), theirs[-1]),
    ]
    assert int(theirs[-1]) - ours["open_minutes"] in (0, 1), "the clock may have reached the next minute"
    place = ("--topic", topic, "--partition", "0")
    (producer,) = rows(cli, "transactions", "describe-producers", *place)
    (described,) = cells(tools.on_broker("transactions", "describe-producers", *place))
    assert described == [
        *(str(producer[name]) for name in ("producer_id", "producer_epoch")),
        *(str(epoch), str(producer["last_sequence"]), str(producer["last_timestamp_ms"])),
        str(producer["start_offset"]),
    ]
    longer = ("--max-transaction-timeout", str(OPEN_MINUTES + 5))
    assert rows(cli, "transactions", "find-hanging", "--topic", topic, *longer) == []
    assert cells(tools.on_broker("transactions", "find-hanging", "--topic", topic, *longer)) == []

    said = cli("transactions", "abort", *place, "--start-offset", "0")
    assert said == (
        f"Aborted the transaction of producer {PRODUCER_ID}, epoch {PRODUCER_EPOCH},"
        f" that started at offset 0 of {topic}-0.\n"
    )
    assert committed(cli, topic) == "behind it\n"
    assert cells(tools.on_broker("transactions", "find-hanging", "--topic", topic)) == []


def test_what_kafka_s_tool_ends_is_no_longer_found(
    cli: Cli, tools: KafkaTools, hang: Hang, topic: str
) -> None:
    hang(topic)
    place = ("--topic", topic, "--partition", "0", "--start-offset", "0")
    tools.on_broker("transactions", "abort", *place)
    assert rows(cli, "transactions", "find-hanging", "--topic", topic) == []
    with pytest.raises(ToolFailed, match="Could not find any open transactions"):
        tools.on_broker("transactions", "abort", *place)
    refused = cli("transactions", "abort", *place, code=1)
    assert refused == f"odradek: no open transaction of {topic}-0 starts at offset 0\n"


def test_a_transaction_with_a_coordinator_does_not_hang(
    cli: Cli, tools: KafkaTools, broker: BrokerProcess, topic: str
) -> None:
    """Kafka's tool aborts it in the one partition; ours only with --force."""
    name = f"of {topic}"
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": name})
    producer.init_transactions(WAIT_S_MAX)
    producer.begin_transaction()
    producer.produce(topic, b"1", timestamp=int(time.time() * 1000) - OPEN_MINUTES * 60_000)
    assert producer.flush(WAIT_S_MAX) == 0
    assert rows(cli, "transactions", "find-hanging", "--topic", topic) == []
    assert cells(tools.on_broker("transactions", "find-hanging", "--topic", topic)) == []
    place = ("--topic", topic, "--partition", "0", "--start-offset", "0")
    assert f"its transactional id {name} is Ongoing" in cli("transactions", "abort", *place, code=1)
    cli("transactions", "force-terminate", name)
    (described,) = rows(cli, "transactions", "describe", name)
    assert described["state"] in ("CompleteAbort", "Empty")
    (left,) = rows(cli, "transactions", "describe-producers", "--topic", topic, "--partition", "0")
    assert left["start_offset"] is None
    with pytest.raises(Exception, match=r"(?i)fenced"):
        producer.commit_transaction(WAIT_S_MAX)


def test_wrong_words_are_named(cli: Cli, tools: KafkaTools, topic: str) -> None:
    find = ("transactions", "find-hanging")
    with pytest.raises(ToolFailed, match="requires either --topic or --broker-id"):
        tools.on_broker(*find)
    assert "needs --topic TOPIC, or --broker-id ID" in cli(*find, code=2)
    with pytest.raises(ToolFailed, match="requires --topic"):
        tools.on_broker(*find, "--broker-id", "0", "--partition", "0")
    assert "--partition needs --topic" in cli(*find, "--broker-id", "0", "--partition", "0", code=2)
    with pytest.raises(ToolFailed, match="does not host this topic-partition"):
        tools.on_broker(*find, "--topic", "nowhere")
    assert cli(*find, "--topic", "nowhere", code=1) == "odradek: there is no topic nowhere\n"
    assert f"there is no partition 7 of topic {topic}: it has 1" in cli(
        *find, "--topic", topic, "--partition", "7", code=1
    )
    assert cli(*find, "--broker-id", "999", code=1) == "odradek: there is no broker 999\n"
    assert "there is no transactional id nobody" in cli("transactions", "force-terminate", "nobody", code=1)
