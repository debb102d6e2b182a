"""Committed offsets in CSV files, and their deletion: `odradek groups` and Kafka's tool do the same."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer
from peers import BrokerProcess, KafkaTools
from peers.waiting import WAIT_S_MAX

from compat.commands import Cli, rows, send
from odradek import Admin

RECORDS = "".join(f"{number}\n" for number in range(10))


@pytest.fixture
def topic(cli: Cli, new_topic: Callable[..., str], tmp_path: Path) -> str:
    """Two partitions with ten records each."""
    name = new_topic(partitions=2)
    for number in ("0", "1"):
        send(cli, tmp_path, name, RECORDS, "--partition", number)
    return name


@pytest.fixture
def group(cli: Cli, topic: str) -> str:
    """Offsets 4 and 7 are committed."""
    name = f"readers-of-{topic}"
    for partition, offset in (("0", "4"), ("1", "7")):
        place = ("--topic", topic, "--partition", partition, "--to", offset)
        cli("groups", "reset-offsets", name, *place, "--execute")
    return name


def committed(cli: Cli, group: str) -> dict[int, int]:
    return {one["partition"]: one["committed"] for one in rows(cli, "groups", "lag", group)}


def reset_by_tool(tools: KafkaTools, group: str, *arguments: str) -> str:
    return tools.on_broker("consumer-groups", "--reset-offsets", "--group", group, *arguments)


def test_a_file_of_ours_is_read_by_kafka_s_tool(
    cli: Cli, tools: KafkaTools, topic: str, group: str, tmp_path: Path
) -> None:
    exported = cli("groups", "reset-offsets", group, "--all-topics", "--to", "current", "--export")
    assert exported == f"{topic},0,4\n{topic},1,7\n"
    theirs = reset_by_tool(tools, group, "--all-topics", "--to-current", "--export", "--dry-run")
    assert sorted(theirs.split()) == exported.split()
    file = tmp_path / "offsets.csv"
    file.write_text(exported)
    cli("groups", "reset-offsets", group, "--topic", topic, "--to", "earliest", "--execute")
    reset_by_tool(tools, group, "--from-file", str(file), "--execute")
    assert committed(cli, group) == {0: 4, 1: 7}


@pytest.mark.parametrize("row", ["{topic},0,{offset}", '"{group}","{topic}",0,{offset}'])
@pytest.mark.parametrize(("offset", "taken"), [(9, 9), (999, 10)])
def test_the_same_offsets_are_taken_from_a_file(
    cli: Cli, tools: KafkaTools, topic: str, group: str, tmp_path: Path, row: str, offset: int, taken: int
) -> None:
    file = tmp_path / "offsets.csv"
    file.write_text(row.format(group=group, topic=topic, offset=offset) + "\n")
    printed = reset_by_tool(tools, group, "--from-file", str(file), "--dry-run")
    assert re.search(rf"{group}\s+{topic}\s+0\s+{taken}\s*$", printed, re.MULTILINE), printed
    (moved,) = rows(cli, "groups", "reset-offsets", group, "--from-file", str(file), "--execute")
    assert moved == {"topic": topic, "partition": 0, "before": 4, "committed": taken, "executed": True}
    assert committed(cli, group) == {0: taken, 1: 7}


def test_rows_of_other_groups_are_left_out(
    cli: Cli, tools: KafkaTools, topic: str, group: str, tmp_path: Path
) -> None:
    file = tmp_path / "offsets.csv"
    file.write_text(f"{group},{topic},0,1\nothers,{topic},1,1\n")
    printed = reset_by_tool(tools, group, "--from-file", str(file), "--dry-run")
    assert re.findall(rf"\s{topic}\s+(\d)", printed) == ["0"], printed
    assert len(rows(cli, "groups", "reset-offsets", group, "--from-file", str(file))) == 1


@pytest.mark.parametrize(
    ("content", "theirs", "ours"),
    [
        ("{topic},0,soon\n", "InvalidFormatException", "line 1: the offset is a whole number of at least 0"),
        ("", "MismatchedInputException", "has no offsets of group"),
        ("nowhere,0,1\n", "metadata for topic `nowhere` could not be found", "there is no topic nowhere"),
    ],
)
def test_a_wrong_file_is_refused(
    cli: Cli,
    tools: KafkaTools,
    topic: str,
    group: str,
    tmp_path: Path,
    content: str,
    theirs: str,
    ours: str,
) -> None:
    file = tmp_path / "offsets.csv"
    file.write_text(content.format(topic=topic))
    assert theirs in reset_by_tool(tools, group, "--from-file", str(file), "--dry-run")
    assert ours in cli("groups", "reset-offsets", group, "--from-file", str(file), code=1)


def test_offsets_are_deleted_as_by_kafka_s_tool(
    cli: Cli, tools: KafkaTools, broker: BrokerProcess, topic: str, group: str
) -> None:
    delete = ("groups", "delete-offsets", group, "--topic", topic)
    (shown,) = rows(cli, *delete, "--partition", "0")
    assert shown == {"topic": topic, "partition": 0, "committed": 4, "executed": False}
    assert committed(cli, group) == {0: 4, 1: 7}, "nothing is deleted without --execute"
    cli(*delete, "--partition", "0", "--execute")
    assert committed(cli, group) == {1: 7}
    assert rows(cli, *delete, "--partition", "0", "--execute") == []
    by_tool = ("consumer-groups", "--delete-offsets", "--group", group, "--topic")
    assert re.search(rf"{topic}\s+1\s+Successful", tools.on_broker(*by_tool, f"{topic}:1"))
    with Admin(broker.bootstrap) as admin:
        assert admin.list_group_offsets(group) == {}


@pytest.fixture
def member(broker: BrokerProcess, topic: str, group: str) -> Iterator[Consumer]:
    """A member of the group that reads the topic."""
    consumer = Consumer(
        {"bootstrap.servers": broker.bootstrap, "group.id": group, "enable.auto.commit": False}
    )
    consumer.subscribe([topic])
    assert consumer.poll(WAIT_S_MAX) is not None
    yield consumer
    consumer.close()


@pytest.mark.usefixtures("member")
def test_offsets_that_members_use_are_not_deleted(
    cli: Cli, tools: KafkaTools, topic: str, group: str
) -> None:
    by_tool = ("consumer-groups", "--delete-offsets", "--group", group, "--topic", topic)
    assert "GroupSubscribedToTopicException" in tools.on_broker(*by_tool)
    delete = ("groups", "delete-offsets", group, "--topic", topic)
    refused = cli(*delete, "--execute", code=1)
    assert refused == f"odradek: members of group {group} read topic {topic}: stop them first\n"
    assert committed(cli, group) == {0: 4, 1: 7}


def test_unknown_names_are_refused(cli: Cli, tools: KafkaTools, topic: str, group: str) -> None:
    by_tool = ("consumer-groups", "--delete-offsets", "--group")
    delete = ("groups", "delete-offsets")
    assert "UnknownTopicOrPartition" in tools.on_broker(*by_tool, group, "--topic", "nowhere")
    assert "there is no topic nowhere" in cli(*delete, group, "--topic", "nowhere", code=1)
    assert "UnknownTopicOrPartition" in tools.on_broker(*by_tool, group, "--topic", f"{topic}:7")
    assert "there is no partition 7" in cli(*delete, group, "--topic", topic, "--partition", "7", code=1)
    assert "group id does not exist" in tools.on_broker(*by_tool, "nobody", "--topic", topic)
    assert "there is no group nobody" in cli(*delete, "nobody", "--topic", topic, code=1)
