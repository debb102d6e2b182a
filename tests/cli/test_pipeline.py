"""`odradek pipeline`: what cannot run in one process, which Spark is meant, and where brokers are named."""

from pathlib import Path

import pytest

from odradek.cli.main import EXIT_FAILED, EXIT_WRONG_USE, run
from odradek.net.request_pipeline import ConnectionFailed

pytest.importorskip("pyspark")

from odradek.spark.pipeline import assembly
from odradek.spark.pipeline.description import Description
from odradek.spark.pipeline.verifying import Findings


def description(directory: Path, file: str, name: str, more: str = "") -> str:
    path = directory / file
    path.write_text(
        f'name = "{name}"\n[source]\nbootstrap_servers = "127.0.0.1:1"\ntopics = ["flights"]\n'
        f'[decode]\nformat = "raw"\n[sink]\npath = "{file}_table"\n{more}'
    )
    return str(path)


def test_two_pipelines_of_one_name_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [description(tmp_path, "a.toml", "flights"), description(tmp_path, "b.toml", "flights")]
    assert run(["pipeline", "run", *files]) == EXIT_WRONG_USE
    assert "two descriptions have the name flights" in capsys.readouterr().err


def test_figures_of_several_pipelines_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [description(tmp_path, "a.toml", "a"), description(tmp_path, "b.toml", "b")]
    assert run(["pipeline", "run", *files, "--admin-port", "0"]) == EXIT_WRONG_USE
    assert "--admin-port has the figures of one pipeline" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["run", "replay", "compact", "verify"])
def test_a_master_that_is_none_is_refused(
    verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = description(tmp_path, "a.toml", "a")
    assert run(["pipeline", verb, file, "--master", "host:7077"]) == EXIT_WRONG_USE
    assert "--master must be one of local, local[4], local[*], spark://HOST:PORT" in capsys.readouterr().err


def test_the_master_of_the_command_line_goes_before_that_of_the_description(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = description(tmp_path, "a.toml", "a", '[spark]\nmaster = "yarn"\n')
    verified: list[str] = []

    def verify_table(found: Description, **_named: object) -> Findings:
        verified.append(found.master)
        return Findings()

    monkeypatch.setattr(assembly, "verify_table", verify_table)
    assert run(["pipeline", "verify", file]) == 0
    assert run(["pipeline", "verify", file, "--master", "spark://host:7077"]) == 0
    assert verified == ["yarn", "spark://host:7077"]


def test_pipelines_of_one_run_have_the_same_spark(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [description(tmp_path, f"{name}.toml", name) for name in "ab"]
    files.append(description(tmp_path, "c.toml", "c", "[spark.settings]\nspark.executor.cores = 2\n"))
    assert run(["pipeline", "run", *files]) == EXIT_WRONG_USE
    assert "a.toml and" in (said := capsys.readouterr().err)
    assert "c.toml differ in [spark]: pipelines of one run share a Spark" in said


def test_it_is_said_where_a_description_has_its_brokers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(_: object) -> None:
        raise ConnectionFailed("cannot connect to 127.0.0.1:1: connection refused")

    monkeypatch.setattr(assembly, "check", away)
    assert run(["pipeline", "check", description(tmp_path, "a.toml", "a")]) == EXIT_FAILED
    assert capsys.readouterr().err.splitlines() == [
        "odradek: cannot connect to 127.0.0.1:1: connection refused",
        "The brokers' addresses are bootstrap_servers in [source], or $ODRADEK_BOOTSTRAP_SERVERS.",
    ]
