"""`odradek configs` against a world of three brokers, of which one is killed."""

import json

import pytest

from odradek.cli.main import run
from tests.cli.cluster_world import ClusterWorld, connect_commands


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> ClusterWorld:
    made = ClusterWorld()
    connect_commands(monkeypatch, made)
    return made


ABSENT = "odradek: broker 3 is not in the cluster now: the brokers of the cluster are 1 and 2\n"


@pytest.mark.parametrize(
    "words",
    [
        ("describe", "broker", "3"),
        ("describe", "broker", "03"),
        ("set", "broker", "3", "log.retention.ms=1"),
        ("reset", "broker", "3", "log.retention.ms"),
    ],
)
def test_a_broker_that_is_down_is_named_with_those_that_are_there(
    world: ClusterWorld, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    world.kill(3)
    assert run(["configs", *words]) == 1
    assert capsys.readouterr().err == ABSENT


def test_a_broker_that_is_there_is_asked_itself(
    world: ClusterWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["configs", "set", "broker", "2", "log.retention.ms=7000"]) == 0
    for broker, values in (("2", ["7000"]), ("1", [])):
        capsys.readouterr()
        command = ["configs", "describe", "broker", broker, "--filter", "log.retention.ms", "--json"]
        assert run(command) == 0
        assert [row["value"] for row in json.loads(capsys.readouterr().out)] == values


@pytest.mark.parametrize("name", ["one", "-1", "1" * 5_000])
def test_a_broker_is_named_by_its_id(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["configs", "describe", "--", "broker", name]) == 2
    assert "a broker's name is its id, a number, or 'all'" in capsys.readouterr().err
