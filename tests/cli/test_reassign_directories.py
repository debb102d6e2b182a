"""`odradek cluster reassign --file` with log directories; each of three brokers has two (KIP-113)."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from odradek.base.ids import BrokerId, TopicPartition
from odradek.cli import directory_moves
from odradek.cli.main import run
from odradek.records.builder import BatchBuilder
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.cli.cluster_world import ClusterWorld, connect_commands, document, said, table

P = TopicPartition("orders", 0)
FIRST, SECOND = "/data", "/more"
SLOW = {"replica_alter_log_dirs_io_max_bytes_per_second": "1000"}


class Three(ClusterWorld):
    """Three brokers; `orders` is on the first two, its first partition in the first directories."""

    def __init__(self) -> None:
        super().__init__(0)
        for broker_id in (1, 2, 3):
            self.world.node(broker_id, log_dirs=f"{FIRST},{SECOND}", **SLOW)
        self.create("orders", [(1, 2)])

    def fill(self, batches: int = 20) -> None:
        """Write batches of about 1 kB."""
        state = self.alive.core.image.partition(P)
        assert state is not None
        for _ in range(batches):
            builder = BatchBuilder()
            builder.append(0, None, b"v" * 1_000)
            data = TopicProduceData(
                "orders", partition_data=[PartitionProduceData(0, bytes(builder.build()))]
            )
            self.world.nodes[state.leader].send(ProduceRequest(None, -1, 30_000, [data]), 9)
            self.world.advance(100)

    def directory(self, broker_id: BrokerId) -> str:
        log = self.world.nodes[broker_id].logs.get(P)
        assert log is not None
        return log.directory

    def replicas(self) -> tuple[BrokerId, ...]:
        state = self.alive.core.image.partition(P)
        assert state is not None
        return tuple(state.replicas)


@pytest.fixture
def three(monkeypatch: pytest.MonkeyPatch) -> Three:
    made = Three()
    connect_commands(monkeypatch, made)
    return made


def file_of(path: Path, replicas: Sequence[BrokerId], directories: Sequence[str]) -> str:
    row = {"topic": "orders", "partition": 0, "replicas": list(replicas), "log_dirs": list(directories)}
    path.write_text(json.dumps({"version": 1, "partitions": [row]}))
    return str(path)


@pytest.fixture
def moved(three: Three, tmp_path: Path) -> str:
    """A file after which broker 2 has its replica in the second directory."""
    assert (three.directory(1), three.directory(2)) == (FIRST, FIRST)
    return file_of(tmp_path / "moves.json", [1, 2], ["any", SECOND])


def test_a_plan_names_the_directories(three: Three, moved: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["cluster", "reassign", "--file", moved]) == 0
    out, err = capsys.readouterr()
    assert table(out) == [
        ["topic", "partition", "broker", "log", "directory", "will", "be"],
        ["orders", "0", "2", FIRST, SECOND],
        ["1", "replica", "to", "other", "log", "directories."],
    ]
    assert err == "Nothing was moved: add --execute to do it.\n"
    (row,) = document(capsys, "reassign", "--file", moved)["partitions"]
    assert (row["replicas"], row["log_dirs"], row["adding"]) == ([1, 2], ["any", SECOND], [])
    assert three.directory(2) == FIRST


def test_a_replica_changes_its_directory_and_is_followed(
    three: Three, moved: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    three.fill()
    saved = str(tmp_path / "before.json")
    capsys.readouterr()
    assert run(["cluster", "reassign", "--file", moved, "--execute", "--save", saved]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[-1] == "Moved 1 replica between log directories."
    first = err.splitlines()[0]
    assert first.startswith("0 of 1 replica in their log directories, ")
    assert first.endswith(" records left")
    assert (three.directory(1), three.directory(2)) == (FIRST, SECOND)
    assert "Nothing to move" in said(capsys, "reassign", "--file", moved, "--execute")
    done = document(capsys, "reassign", "--file", saved, "--execute")
    assert [row["result"] for row in done["partitions"]] == ["moved"]
    assert three.directory(2) == FIRST


def test_a_new_replica_is_made_where_it_is_to_be(
    three: Three, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The broker is told of the directory before the controller is told of the replica."""
    for number in range(2):  # so that its first directory has the fewest
        three.create(f"other-{number}", [(3,)])
    plan = file_of(tmp_path / "moves.json", [1, 3], ["any", SECOND])
    text = said(capsys, "reassign", "--file", plan, "--execute")
    assert "1 partition, 1 new replica, 0 B to copy. 1 replica to other log directories." in text
    assert text.splitlines()[-1] == "Moved 1 partition, and 1 replica between log directories."
    assert (three.replicas(), three.directory(3)) == ((1, 3), SECOND)


def test_without_waiting_it_is_verified_and_given_up(
    three: Three, moved: str, capsys: pytest.CaptureFixture[str]
) -> None:
    three.fill(40)
    said(capsys, "reassign", "--file", moved, "--execute", "--no-wait")
    capsys.readouterr()
    assert run(["cluster", "reassign", "--file", moved, "--verify", "--json"]) == 1
    (row,) = json.loads(capsys.readouterr().out)
    assert row["state"] == "under way"
    (words,) = row["directories"]
    assert words.startswith(f"broker 2: moves to {SECOND}, ")
    assert run(["cluster", "reassign", "--file", moved, "--cancel"]) == 0
    assert "1 replica on the way to other log directories will stay." in capsys.readouterr().err
    three.world.advance(60_000)
    assert three.directory(2) == FIRST
    assert run(["cluster", "reassign", "--file", moved, "--verify"]) == 1
    assert f"broker 2: stays in {FIRST}" in capsys.readouterr().out
    said(capsys, "reassign", "--file", moved, "--execute")
    assert said(capsys, "reassign", "--file", moved, "--verify").splitlines()[-1].endswith("moved")


def test_a_move_that_somebody_gives_up_is_told(
    three: Three, moved: str, capsys: pytest.CaptureFixture[str]
) -> None:
    three.fill(40)
    mover = three.world.nodes[2].core.log_mover
    three.meanwhile = [lambda: mover.move(P, FIRST)]
    text = said(capsys, "reassign", "--file", moved, "--execute", code=1)
    assert text.splitlines()[-1] == f"odradek: orders-0 on broker 2 did not move: stays in {FIRST}"


def test_a_replica_that_does_not_come_is_not_waited_for_for_ever(
    three: Three, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    plan = file_of(tmp_path / "moves.json", [1, 3], ["any", SECOND])
    for other in (1, 2):
        three.world.cut(other, 3)
    text = said(capsys, "reassign", "--file", plan, "--execute", code=1)
    assert f"orders-0 on broker 3 is not there after 10 s; it will be made in {SECOND}" in text


@pytest.mark.parametrize(
    ("directories", "sentence"),
    [
        ([FIRST, "/no"], f"broker 2 has no log directory /no: it has {FIRST} and {SECOND}"),
        ([FIRST, "more"], 'orders-0 has a log directory that is no absolute path: "more"'),
        ([FIRST, 7], "orders-0 has a log directory that is no absolute path: 7"),
        ([FIRST], 'orders-0 has not one of "log_dirs" for each replica'),
    ],
)
def test_directories_that_are_refused(
    three: Three, capsys: pytest.CaptureFixture[str], tmp_path: Path, directories: list[Any], sentence: str
) -> None:
    plan = file_of(tmp_path / "moves.json", [1, 2], directories)
    for more in ((), ("--execute",)):
        assert sentence in said(capsys, "reassign", "--file", plan, *more, code=1)
    assert three.directory(2) == FIRST


def test_a_broker_that_is_down_is_named(three: Three, moved: str, capsys: pytest.CaptureFixture[str]) -> None:
    three.kill(2)
    sentence = "broker 2 does not answer: its log directories are unknown"
    assert sentence in said(capsys, "reassign", "--file", moved, "--execute", code=1)
    assert run(["cluster", "reassign", "--file", moved, "--verify"]) == 1
    assert "broker 2 does not answer" in capsys.readouterr().out


def test_a_directory_that_fails_meanwhile_is_refused_before_anything_moves(
    three: Three, moved: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = directory_moves.ask_for

    def failed(*arguments: Any) -> Any:
        three.world.nodes[2].core.replicas.directory_failed(SECOND, "gone")
        return ask(*arguments)

    monkeypatch.setattr("odradek.cli.moving.ask_for", failed)
    text = said(capsys, "reassign", "--file", moved, "--execute", code=1)
    assert "orders-0 on broker 2 does not change its directory: " in text
