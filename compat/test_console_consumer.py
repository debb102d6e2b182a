"""`odradek consume` prints what Kafka's console consumer prints, and shares groups with it."""

import re
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from peers import BrokerProcess, KafkaTools
from peers.waiting import WAIT_S_MAX, wait_until

from compat.clients import CLIENTS, Record
from compat.commands import Cli, rows, send

RECORDS = [
    Record(key=b"k0", value=b"v0"),
    Record(key=None, value="früh".encode()),
    Record(key=b"k2", value=None),
    Record(key=b"", value=b""),
    Record(key=b"k4", value=b"a\tb"),
]
PROTOCOLS = ["classic", pytest.param("consumer", marks=pytest.mark.kip848)]


def by_console(tools: KafkaTools, topic: str, *arguments: str, protocol: str = "classic") -> str:
    speaks = ("--command-property", f"group.protocol={protocol}")
    return tools.on_broker("console-consumer", "--topic", topic, *speaks, *arguments)


def test_records_are_printed_as_by_the_console_consumer(cli: Cli, tools: KafkaTools, topic: str) -> None:
    CLIENTS["confluent-kafka"](tools.bootstrap).write(topic, RECORDS)
    shown = ("print.key=true", "null.literal=")
    properties = [word for one in shown for word in ("--formatter-property", one)]
    place = ("--partition", "0", "--offset", "earliest", "--max-messages", str(len(RECORDS)))
    theirs = by_console(tools, topic, *place, *properties)
    assert theirs == "k0\tv0\n\tfrüh\nk2\t\n\t\nk4\ta\tb\n"
    assert cli("consume", topic, "--from-beginning", "--keys") == theirs


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_each_goes_on_where_the_other_stopped(
    cli: Cli, tools: KafkaTools, topic: str, tmp_path: Path, protocol: str
) -> None:
    lines = [f"{number}\n" for number in range(10)]
    send(cli, tmp_path, topic, "".join(lines))
    group = ("--group", f"{protocol}-readers-of-{topic}")
    first = by_console(tools, topic, *group, "--from-beginning", "--max-messages", "4", protocol=protocol)
    second = cli("consume", topic, *group, "--protocol", protocol, "--max-messages", "3")
    third = by_console(tools, topic, *group, "--max-messages", "3", protocol=protocol)
    assert [first, second, third] == ["".join(part) for part in (lines[:4], lines[4:7], lines[7:])]
    (left,) = rows(cli, "groups", "lag", group[1])
    assert (left["committed"], left["lag"]) == (10, 0)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_both_are_members_of_one_group(
    cli: Cli,
    tools: KafkaTools,
    broker: BrokerProcess,
    new_topic: Callable[..., str],
    tmp_path: Path,
    protocol: str,
) -> None:
    topic = new_topic(partitions=2)
    group = f"{protocol}-members-of-{topic}"
    command = ["consume", topic, "--group", group, "--protocol", protocol, "--max-messages", "2"]
    with (
        ThreadPoolExecutor(1) as pool,
        subprocess.Popen(
            [sys.executable, "-m", "odradek", *command, "-b", broker.bootstrap],
            stdout=subprocess.PIPE,
            text=True,
        ) as ours,
    ):
        theirs = pool.submit(
            by_console, tools, topic, "--group", group, "--max-messages", "2", protocol=protocol
        )
        wait_until(lambda: _each_has_one(cli, group), "the two members never share the partitions")
        for number in ("0", "1"):
            send(cli, tmp_path, topic, f"{number} a\n{number} b\n", "--partition", number)
        printed = [theirs.result(WAIT_S_MAX), ours.communicate(timeout=WAIT_S_MAX)[0]]
    read = [re.findall(r"^\d [ab]$", text, re.MULTILINE) for text in printed]  # Kafka's consumer logs, too.
    assert sorted(read) == [["0 a", "0 b"], ["1 a", "1 b"]]


def _each_has_one(cli: Cli, group: str) -> bool:
    known = [one["group"] for one in rows(cli, "groups", "list", "--filter", group)]
    members = {one["member"] for one in rows(cli, "groups", "lag", group)} if known else set()
    return len(members - {None}) == 2
