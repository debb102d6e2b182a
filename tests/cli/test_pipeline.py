"""`odradek pipeline run` with several descriptions: what cannot run in one process."""

from pathlib import Path

import pytest

from odradek.cli.main import EXIT_WRONG_USE, run

pytest.importorskip("pyspark")


def description(directory: Path, file: str, name: str) -> str:
    path = directory / file
    path.write_text(
        f'name = "{name}"\n[source]\nbootstrap_servers = "127.0.0.1:1"\ntopics = ["flights"]\n'
        f'[decode]\nformat = "raw"\n[sink]\npath = "{file}_table"\n'
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
