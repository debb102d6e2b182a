"""`odradek cluster` against a world of three brokers, of which some are killed; and against one broker."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from odradek.base.errors import OdradekError
from odradek.cli import cluster
from odradek.cli.main import run
from odradek.testing import Broker
from odradek.wire.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from tests.cli.cluster_world import ClusterWorld, connect_commands, document, said, table


class Three(ClusterWorld):
    """Three brokers with two topics: `orders` on all of them, `notes` on broker 3 only."""

    def __init__(self) -> None:
        super().__init__()
        self.create("orders", [(1, 2, 3), (2, 3, 1), (3, 1, 2)], **{"min.insync.replicas": "2"})
        self.create("notes", [(3,)])


def counted(world: ClusterWorld) -> list[list[str]]:
    """What each broker leads, and how many replicas it has."""
    topics = world.alive.core.image.topics
    states = [state for topic in topics.values() for state in topic.partitions.values()]
    return [
        [str(sum(one.leader == broker for one in states)), str(sum(broker in one.replicas for one in states))]
        for broker in (1, 2, 3)
    ]


@pytest.fixture
def three(monkeypatch: pytest.MonkeyPatch) -> Three:
    made = Three()
    connect_commands(monkeypatch, made)
    return made


# --- describe


def test_of_a_healthy_cluster_one_sentence_is_enough(
    three: Three, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = said(capsys, "describe").splitlines()
    cluster_id = three.alive.core.image.cluster_id
    assert lines[0] == f"Cluster {cluster_id}: 3 brokers, 2 topics with 4 partitions."
    assert lines[-1] == cluster.HEALTHY
    assert [line.split()[0] for line in lines[2:6]] == ["broker", "1", "2", "3"]
    controller = three.alive.core.image.controller_id
    assert [line.split()[0] for line in lines if " controller " in line] == [str(controller)]
    assert [line.split()[-2:] for line in lines[2:6]] == [["leads", "replicas"], *counted(three)]
    found = document(capsys, "describe")
    assert (found["controller"], found["partitions"], found["in_trouble"]) == (controller, 4, [])
    assert set(found["counts"].values()) == {0}


@pytest.mark.parametrize("without", [[], [DescribeTopicPartitionsRequest]], ids=["pages", "metadata"])
def test_a_lost_broker_is_missing_where_it_had_replicas(
    three: Three, without: list[type], capsys: pytest.CaptureFixture[str]
) -> None:
    three.kill(3)
    three.without = without
    found = document(capsys, "describe")
    rows = [(row["topic"], row["partition"], row["leader"], row["troubles"]) for row in found["in_trouble"]]
    missing = ["at min ISR", "under-replicated"]
    assert rows == [
        ("notes", 0, None, ["offline"]),
        ("orders", 0, 1, missing),
        ("orders", 1, 2, missing),
        ("orders", 2, 1, missing),
    ]
    assert found["in_trouble"][1]["missing"] == [{"broker": 3, "offline": True}]
    assert found["counts"] == {
        "offline": 1,
        "under_min_isr": 0,
        "at_min_isr": 3,
        "under_replicated": 3,
        "not_preferred": 0,
    }
    assert found["brokers"][2] == {
        "broker": 3,
        "address": None,
        "rack": None,
        "role": "offline",
        "leads": 0,
        "replicas": 4,
        "not_in_sync": 3,
    }
    text = said(capsys, "describe")
    assert "Of 4 partitions, 1 offline, 3 at min ISR, 3 under-replicated." in text
    assert ["notes", "0", "none", "3", "3", "-", "3", "offline"] in table(text)
    shown = ["orders", "0", "1", "1,", "2,", "3", "1,", "2", "3", "offline", "-", "at", "min", "ISR,"]
    assert [*shown, "under-replicated"] in table(text)
    assert ["3", "-", "-", "offline", "0", "4", "3"] in table(text)


def test_partitions_in_the_same_trouble_share_a_line(
    three: Three, capsys: pytest.CaptureFixture[str]
) -> None:
    three.create("many", [(1, 2, 3), (2, 3, 1), (1, 2, 3), (1, 2, 3), (1, 2, 3), (2, 3, 1)])
    three.kill(3)
    lines = [line for line in said(capsys, "describe").splitlines() if line.startswith("many")]
    assert [re.split("  +", line)[1] for line in lines] == ["0, 2-4", "1, 5"]
    rows = [row for row in document(capsys, "describe")["in_trouble"] if row["topic"] == "many"]
    assert [row["partition"] for row in rows] == [0, 1, 2, 3, 4, 5]


def test_under_min_isr_the_eligible_replicas_are_named(
    three: Three, capsys: pytest.CaptureFixture[str]
) -> None:
    three.kill(3)
    three.kill(2)
    rows = {(one["topic"], one["partition"]): one for one in document(capsys, "describe")["in_trouble"]}
    row = rows["orders", 1]
    assert row["troubles"] == ["under min ISR", "under-replicated"]
    assert (row["leader"], row["in_sync"], row["elr"], row["min_isr"]) == (1, [1], [2], 2)


def test_a_page_that_does_not_hold_all_is_followed_by_others(
    three: Three, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    three.kill(3)
    whole = document(capsys, "describe")
    first = DescribeTopicPartitionsRequest.__init__

    def paged(self: DescribeTopicPartitionsRequest, **given: Any) -> None:
        first(self, **(given | {"response_partition_limit": 2}))

    monkeypatch.setattr(DescribeTopicPartitionsRequest, "__init__", paged)
    assert document(capsys, "describe") == whole


def test_admin_listeners_say_why(
    three: Three, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    three.kill(3)

    def ask(address: str, subject: str, query: object) -> Any:
        if address == "b:3":
            raise OdradekError("the admin listener at b:3 did not answer: connection refused")
        row = {"topic": "orders", "partition": 0, "behind": ["broker 3: last fetch 20 s ago"]}
        return {"broker_id": int(address[-1]), "replicas": [row]}

    monkeypatch.setattr(cluster, "ask_admin", ask)
    found = document(capsys, "describe", "--admin", "b:1,b:3")
    reasons = {(row["topic"], row["partition"]): row["reasons"] for row in found["in_trouble"]}
    assert reasons["orders", 0] == ["broker 1: broker 3: last fetch 20 s ago"]
    assert reasons["orders", 1] == []
    run(["cluster", "describe", "--admin", "b:3"])
    assert "b:3 did not answer" in capsys.readouterr().err
    found = document(capsys, "describe", "--admin", "b:1", "--admin", "b:2, b:1")
    (reasons,) = [
        row["reasons"] for row in found["in_trouble"] if (row["topic"], row["partition"]) == ("orders", 0)
    ]
    assert reasons == ["broker 1: broker 3: last fetch 20 s ago", "broker 2: broker 3: last fetch 20 s ago"]


@pytest.mark.parametrize("address", ["b", "b:1,b", ":8080", "b:x", ""])
def test_an_admin_listener_has_a_port_also_while_all_is_well(
    three: Three, capsys: pytest.CaptureFixture[str], address: str
) -> None:
    assert said(capsys, "describe", f"--admin={address}", code=2) == (
        f"odradek: --admin is HOST:PORT[,...], with the ports of serve --admin-port, not '{address}'\n"
    )


# --- elect


def test_leadership_goes_back_to_the_preferred_leaders(
    three: Three, capsys: pytest.CaptureFixture[str]
) -> None:
    three.kill(3)
    three.restart(3)
    found = document(capsys, "describe")
    (row,) = found["in_trouble"]
    assert (row["topic"], row["partition"], row["troubles"]) == (
        "orders",
        2,
        ["preferred leader not leading"],
    )
    assert table(said(capsys, "elect"))[1] == ["orders", "2", str(row["leader"]), "3", "elected"]
    assert document(capsys, "describe")["in_trouble"] == []
    assert said(capsys, "elect") == "No partition needs an election.\n"
    (stays,) = document(capsys, "elect", "orders:2")
    assert (stays["leader_before"], stays["leader"]) == (3, 3)
    assert stays["result"] == "led by its preferred leader already"


def test_what_cannot_be_elected_is_said_and_fails(three: Three, capsys: pytest.CaptureFixture[str]) -> None:
    three.kill(3)
    capsys.readouterr()
    assert run(["cluster", "elect", "orders", "--json"]) == 1
    out, err = capsys.readouterr()
    results = [(row["partition"], row["leader"], row["result"]) for row in json.loads(out)]
    assert [one[:2] for one in results] == [(0, 1), (1, 2), (2, 1)]
    assert results[0][2] == "led by its preferred leader already"
    assert results[2][2] not in ("elected", results[0][2])
    assert err == "odradek: no leader was elected for 1 partition\n"


def test_an_unclean_election_is_shown_before_it_is_done(
    three: Three, capsys: pytest.CaptureFixture[str]
) -> None:
    three.create("books", [(3, 2)])
    three.kill(2)
    three.kill(3)
    three.restart(2)
    (offered,) = [row for row in document(capsys, "elect", "--unclean") if row["topic"] == "books"]
    assert (offered["leader"], offered["in_sync"]) == (-1, [3])
    assert document(capsys, "describe")["counts"]["offline"] == 2
    (done,) = document(capsys, "elect", "--unclean", "books:0", "--execute")
    assert (done["leader_before"], done["leader"], done["result"]) == (-1, 2, "elected")
    assert document(capsys, "describe")["counts"]["offline"] == 1
    (stays,) = document(capsys, "elect", "--unclean", "books", "--execute")
    assert stays["result"] == "has a leader"


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["elect", "orders:x"], 2, "a partition is given as TOPIC:PARTITION"),
        (["elect", ":1"], 2, "a partition is given as TOPIC:PARTITION"),
        (["elect", "orders:7"], 1, "there is no partition 7 of topic orders"),
        (["elect", "nowhere"], 1, "there is no topic nowhere"),
        (["elect", "orders", "--execute"], 2, "--execute needs --unclean"),
    ],
)
def test_what_cannot_be_asked_for_is_named(
    three: Three, capsys: pytest.CaptureFixture[str], words: list[str], code: int, sentence: str
) -> None:
    assert sentence in said(capsys, *words, code=code)


# --- a broker over its sockets


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as running:
        yield running


@pytest.mark.integration
def test_a_broker_alone_is_a_cluster(broker: Broker, capsys: pytest.CaptureFixture[str]) -> None:
    where = ("-b", broker.bootstrap_servers)
    lines = said(capsys, "describe", *where).splitlines()
    assert lines[0].endswith(": 1 broker, 0 topics with 0 partitions.")
    assert lines[-1] == "There are no partitions."
    broker.create_topic("flights", partitions=2)
    assert said(capsys, "describe", *where).splitlines()[-1] == cluster.HEALTHY
    assert said(capsys, "elect", *where) == "No partition needs an election.\n"
    assert len(document(capsys, "elect", "flights", *where)) == 2
