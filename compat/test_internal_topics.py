"""`odradek log dump` decodes the internal topics as Kafka's dump tool does, of what either broker wrote."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from peers import BrokerProcess, KafkaTools
from peers.waiting import WAIT_S_MAX, wait_until

from compat.admins.confluent import ConfluentAdmin
from compat.commands import Cli, send

# The tool prints the numbers of states, for which `log dump` has the names of Kafka's code.
STATES = {
    "transactionStatus": (
        *("Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead"),
    ),
    "state": ("Stable", "UnrevokedPartitions", "UnreleasedPartitions"),
}


def log_of(data_directory: Path, topic: str, text: str) -> Path:
    """The one log of an internal topic that holds a text."""
    found = [path for path in data_directory.glob(f"{topic}-*/*.log") if text.encode() in path.read_bytes()]
    assert len(found) == 1, f"{text} is in {found}"
    return found[0]


def theirs(tools: KafkaTools, log: Path, decoder: str) -> list[tuple[int, Any, Any]]:
    """Offset, key and value of each record, as the tool prints them."""
    printed = tools.run("dump-log", "--files", str(log), decoder)
    records = re.findall(r"^\| offset: (\d+) .*? key: (\{.*?\}) payload: (.*)$", printed, re.MULTILINE)
    return [
        (int(offset), json.loads(key), None if value == "<DELETE>" else json.loads(value))
        for offset, key, value in records
    ]


def ours(cli: Cli, log: Path) -> list[dict[str, Any]]:
    printed = cli("log", "dump", str(log), "--records", "--json").splitlines()
    return [json.loads(line) for line in printed]


def in_our_words(document: object, name: str = "") -> object:
    """A document of the tool with our names of fields and states."""
    if isinstance(document, dict):
        return {
            re.sub(r"(?<=[a-z])(?=[A-Z])", "_", key).lower(): in_our_words(value, key)
            for key, value in document.items()
        }
    if isinstance(document, list):
        return [in_our_words(one) for one in document]
    return STATES[name][document] if name in STATES and isinstance(document, int) else document


def difference(their: object, our: object) -> object:
    """What differs, or None. The tool leaves out what is at its default; we show it."""
    if isinstance(their, dict) and isinstance(our, dict):
        extra = {
            name: our[name] for name in our.keys() - their.keys() if our[name] not in (None, -1, 0, "", [])
        }
        missing = their.keys() - our.keys()
        below = {
            name: found for name in their.keys() & our.keys() if (found := difference(their[name], our[name]))
        }
        return (missing, extra, below) if missing or extra or below else None
    if isinstance(their, list) and isinstance(our, list) and len(their) == len(our):
        return [
            found for one, other in zip(their, our, strict=True) if (found := difference(one, other))
        ] or None
    return None if their == our else (their, our)


def compare(cli: Cli, tools: KafkaTools, log: Path, decoder: str) -> set[str]:
    """Compare all records of a log; returns the kinds of records."""
    before, expected, found = ours(cli, log), theirs(tools, log, decoder), ours(cli, log)
    # Groups of other tests may write to the log between the readings, and only at its end.
    assert len(before) <= len(expected)
    found = found[: len(expected)]
    assert [offset for offset, _, _ in expected] == [one["offset"] for one in found]
    for (offset, key, value), one in zip(expected, found, strict=True):
        assert int(key["type"]) == one["key_version"], offset
        assert difference(in_our_words(key["data"]), one["key"]) is None, (key, one)
        assert (value is None) == (one["value"] is None), (value, one)
        if value is not None:
            assert int(value["version"]) == one["value_version"], offset
            assert difference(in_our_words(value["data"]), one["value"]) is None, (value, one)
    return {one["record"] for one in found}


@pytest.fixture
def topic(cli: Cli, new_topic: Callable[..., str], tmp_path: Path) -> str:
    name = new_topic(partitions=2)
    send(cli, tmp_path, name, "a\nb\nc\nd\n", "--partition", "1")
    return name


@pytest.mark.parametrize("protocol", ["classic", pytest.param("consumer", marks=pytest.mark.kip848)])
def test_the_records_of_a_group_are_decoded_as_by_kafka_s_tool(
    cli: Cli, tools: KafkaTools, data_directory: Path, topic: str, protocol: str
) -> None:
    """Those of a whole life: members come and go, offsets are committed and deleted, the group is deleted."""
    group = f"{protocol}-readers-of-{topic}"
    console = ("--topic", topic, "--group", group, "--max-messages", "1", "--from-beginning")
    properties = ("--command-property", f"group.protocol={protocol}")
    tools.on_broker("console-consumer", *console, *properties)
    cli("consume", topic, "--group", group, "--protocol", protocol, "-n", "2")
    cli("groups", "delete-offsets", group, "--topic", topic, "--partition", "0", "--execute")
    cli("groups", "delete", group)
    log = log_of(data_directory, "__consumer_offsets", group)
    kinds = compare(cli, tools, log, "--offsets-decoder")
    assert kinds >= {"OffsetCommit"} | (
        {"GroupMetadata"}
        if protocol == "classic"
        else {
            "ConsumerGroupMetadata",
            "ConsumerGroupMemberMetadata",
            "ConsumerGroupTargetAssignmentMetadata",
            "ConsumerGroupTargetAssignmentMember",
            "ConsumerGroupCurrentMemberAssignment",
        }
    )


def states_of(cli: Cli, log: Path, transactional_id: str) -> set[str]:
    """All states that a transactional id has had."""
    found = [one for one in ours(cli, log) if transactional_id in str(one["key"])]
    return {one["value"]["transaction_status"] for one in found}


def test_the_records_of_a_transaction_are_decoded_as_by_kafka_s_tool(
    cli: Cli, tools: KafkaTools, broker: BrokerProcess, data_directory: Path, topic: str
) -> None:
    name = f"payments-of-{topic}"
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": name})
    producer.init_transactions(WAIT_S_MAX)
    for end in (producer.commit_transaction, producer.abort_transaction):
        producer.begin_transaction()
        producer.produce(topic, b"1", partition=0)
        producer.produce(topic, b"2", partition=1)
        assert producer.flush(WAIT_S_MAX) == 0
        end(WAIT_S_MAX)
    log = log_of(data_directory, "__transaction_state", name)
    # The producer is answered before the markers are written, and the end of the transaction after them.
    wait_until(lambda: "CompleteAbort" in states_of(cli, log, name), "the last transaction never ended")
    assert compare(cli, tools, log, "--transaction-log-decoder") == {"TransactionLog"}
    assert states_of(cli, log, name) >= {
        "Empty",
        "Ongoing",
        "PrepareCommit",
        "CompleteCommit",
        "PrepareAbort",
        "CompleteAbort",
    }


@pytest.mark.parametrize("internal", ["__consumer_offsets", "__transaction_state"])
def test_every_broker_has_a_replica_of_the_internal_topics(
    cli: Cli, broker: BrokerProcess, topic: str, internal: str
) -> None:
    cli("consume", topic, "--group", f"readers-of-{topic}", "--from-beginning", "-n", "2")
    Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": topic}).init_transactions(WAIT_S_MAX)
    admin = ConfluentAdmin(broker.bootstrap)
    brokers = sorted(admin.cluster().brokers)
    partitions = admin.partitions(internal)
    assert len(partitions) == 50
    assert {tuple(sorted(one.replicas)) for one in partitions.values()} == {tuple(brokers)}
    assert {one.leader for one in partitions.values()} == set(brokers)
