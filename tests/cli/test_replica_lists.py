"""The brokers of a new topic's partitions, as they are given on the command line."""

import pytest

from odradek.cli.command_line import UsageError
from odradek.cli.main import run
from odradek.cli.replica_lists import read_replica_lists
from tests.cli.cluster_world import ClusterWorld, connect_commands


@pytest.mark.parametrize(
    ("text", "lists"),
    [
        ("0:1:2,1:2:0", {0: [0, 1, 2], 1: [1, 2, 0]}),
        ("3", {0: [3]}),
        ("1, 2", {0: [1], 1: [2]}),
    ],
)
def test_the_first_list_is_that_of_partition_0(text: str, lists: dict[int, list[int]]) -> None:
    assert read_replica_lists(text) == lists


@pytest.mark.parametrize("text", ["", "1:2,", "1:,2:1", "1-2", "1:-2", "1;2", "a:b", "1:2147483648"])
def test_another_form_is_refused(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        read_replica_lists(text)
    assert str(refused.value) == (
        f"--replica-assignment is a list of brokers for each partition, as 1:2:3,2:3:1, not '{text}'"
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("1:2,3:1:3", "--replica-assignment has broker 3 twice for partition 1"),
        (
            "1:2,2:3,3",
            "--replica-assignment has 2 replicas for partition 0, and 1 for partition 2: all partitions of a"
            " topic have as many",
        ),
    ],
)
def test_lists_that_no_topic_can_have_are_refused(text: str, sentence: str) -> None:
    with pytest.raises(UsageError) as refused:
        read_replica_lists(text)
    assert str(refused.value) == sentence


class Commands:
    """`topics create` in a world of three brokers."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def create(self, *arguments: str, code: int = 0) -> str:
        assert run(["topics", "create", *arguments]) == code
        out, err = self._capsys.readouterr()
        return err if code else out


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> ClusterWorld:
    made = ClusterWorld()
    connect_commands(monkeypatch, made)
    return made


@pytest.fixture
def commands(world: ClusterWorld, capsys: pytest.CaptureFixture[str]) -> Commands:
    return Commands(capsys)


def test_a_topic_is_created_with_these_replicas(world: ClusterWorld, commands: Commands) -> None:
    said = commands.create("placed", "--replica-assignment", "3:1,1:2,2:3", "--set", "retention.ms=1000")
    assert said == "Created topic placed.\n"
    partitions = world.alive.core.image.topics["placed"].partitions
    assert {number: list(one.replicas) for number, one in partitions.items()} == {
        0: [3, 1],
        1: [1, 2],
        2: [2, 3],
    }
    assert [one.leader for one in partitions.values()] == [3, 1, 2]


def test_a_broker_that_is_not_there_is_named(world: ClusterWorld, commands: Commands) -> None:
    said = commands.create("placed", "--replica-assignment", "1:2,2:9", code=1)
    assert said == "odradek: partition 1 has broker 9, which is not there\n"
    assert "placed" not in world.alive.core.image.topics


@pytest.mark.parametrize("option", ["--partitions", "--replication-factor"])
def test_lists_and_numbers_are_not_given_together(commands: Commands, option: str) -> None:
    said = commands.create("placed", "--replica-assignment", "1,2", option, "2", code=2)
    assert said == (
        f"odradek: --replica-assignment and {option} cannot be given together: the lists say both\n"
    )
