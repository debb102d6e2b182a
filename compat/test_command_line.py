"""Every command of `odradek` that speaks Kafka's protocol, as a person types it, on each broker."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from peers import BrokerProcess
from peers.waiting import WAIT_S_MAX, wait_until

from compat.commands import Cli, records, rows, send


def test_topics(cli: Cli, broker: BrokerProcess, fresh_name: Callable[[], str]) -> None:
    name = fresh_name()
    assert cli("topics", "create", name, "--partitions", "2", "--set", "retention.ms=5000") == (
        f"Created topic {name}.\n"
    )
    assert "exists already" in cli("topics", "create", name, code=1)
    assert "exists already" in cli("topics", "create", name, "--if-not-exists")
    cli("topics", "alter", name, "--partitions", "3")
    described = rows(cli, "topics", "describe", name)
    assert [(one["partition"], one["log_end_offset"], one["size_bytes"]) for one in described] == [
        (0, 0, 0),
        (1, 0, 0),
        (2, 0, 0),
    ]
    assert "with retention.ms=5000" in cli("topics", "describe", name)
    (listed,) = rows(cli, "topics", "list", "--filter", name)
    assert (listed["partitions"], listed["replicas"]) == (3, len(broker.ports))
    cli("topics", "delete", name)
    assert f"there is no topic {name}" in cli("topics", "delete", name, code=1)
    assert f"there is no topic {name}" in cli("topics", "describe", name, code=1)


def own_settings(cli: Cli, topic: str) -> list[dict[str, Any]]:
    found = rows(cli, "configs", "describe", "topic", topic)
    return [one for one in found if one["from"] == "dynamic topic"]


def test_settings(cli: Cli, topic: str) -> None:
    cli("configs", "set", "topic", topic, "retention.ms=5000")

    def own() -> dict[str, str]:
        return {one["setting"]: one["value"] for one in own_settings(cli, topic)}

    # A broker of Apache Kafka answers before it has applied the change itself.
    wait_until(lambda: own() == {"retention.ms": "5000"}, "the setting is not set")
    explained = cli("configs", "describe", "topic", topic, "--all", "--explain")
    assert "<" not in explained.replace("<=", "")
    cli("configs", "reset", "topic", topic, "retention.ms")
    wait_until(lambda: own() == {}, "the setting is not reset")
    cli("configs", "set", "topic", topic, "retention.ms=soon", code=1)


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_records(cli: Cli, topic: str, tmp_path: Path, codec: str) -> None:
    send(cli, tmp_path, topic, "k=v\nk=\n", "-K", "=", "-Z", "", "-H", "h=1", "--compression", codec)
    shown = records(cli, topic, "--from-beginning")
    assert [(one["key"], one["value"], one["offset"]) for one in shown] == [("k", "v", 0), ("k", None, 1)]
    assert shown[0]["headers"] == [{"name": "h", "value": "1"}]
    assert cli("consume", topic, "--offset", "1", "--format", r"%o:%S\n") == "1:-1\n"
    assert records(cli, topic, "--since", "1h") == shown
    assert f"there is no partition 7 of topic {topic}: it has 1" in cli("consume", topic, "-p", "7", code=1)


def test_records_are_deleted(cli: Cli, topic: str, tmp_path: Path) -> None:
    send(cli, tmp_path, topic, "a\nb\nc\n")
    cli("topics", "delete-records", topic, "--before", "2", "--execute")
    assert [one["offset"] for one in records(cli, topic, "--from-beginning")] == [2]
    (described,) = rows(cli, "topics", "describe", topic)
    assert (described["log_start_offset"], described["log_end_offset"]) == (2, 3)


@pytest.mark.parametrize("protocol", ["classic", pytest.param("consumer", marks=pytest.mark.kip848)])
def test_groups(cli: Cli, topic: str, tmp_path: Path, protocol: str) -> None:
    send(cli, tmp_path, topic, "a\nb\nc\n")
    group = f"readers of {topic}"
    chosen = [] if protocol == "consumer" else ["--protocol", protocol]
    assert cli("consume", topic, "--group", group, "--from-beginning", "-n", "2", *chosen) == "a\nb\n"
    (listed,) = rows(cli, "groups", "list", "--filter", group)
    assert (listed["state"].lower(), listed["type"].lower()) == ("empty", protocol)
    (lag,) = rows(cli, "groups", "lag", group)
    assert (lag["committed"], lag["end"], lag["lag"]) == (2, 3, 1)
    assert "no members" in cli("groups", "describe", group)
    reset = ("groups", "reset-offsets", group, "--topic", topic)
    assert rows(cli, *reset, "--to", "99")[0]["committed"] == 3
    assert rows(cli, *reset, "--shift-by", "-1", "--execute")[0]["committed"] == 1
    assert cli("consume", topic, "--group", group, "-n", "2", *chosen) == "b\nc\n"
    cli("groups", "delete", group)
    assert f"there is no group {group}" in cli("groups", "lag", group, code=1)


def test_transactions(cli: Cli, broker: BrokerProcess, topic: str) -> None:
    name = f"of {topic}"
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": name})
    producer.init_transactions(WAIT_S_MAX)
    producer.begin_transaction()
    producer.produce(topic, b"1")
    assert producer.flush(WAIT_S_MAX) == 0
    (listed,) = rows(cli, "transactions", "list", "--filter", name)
    assert listed["state"] == "Ongoing"
    (described,) = rows(cli, "transactions", "describe", name)
    assert described["partitions"] == [f"{topic}-0"]
    assert cli("consume", topic, "--from-beginning", "--isolation-level", "read_committed") == ""
    producer.abort_transaction(WAIT_S_MAX)
    assert cli("consume", topic, "--from-beginning", "--isolation-level", "read_committed") == ""
    assert cli("consume", topic, "--from-beginning") == "1\n"
    assert "there is no transactional id nobody" in cli("transactions", "describe", "nobody", code=1)
