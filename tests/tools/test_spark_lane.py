"""`./dev spark`: another PySpark comes before the environment's own, and is installed once."""

import os
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tools import spark_lane


class Runs:
    """In place of `subprocess.run`: notes commands and environments, and makes what pip would."""

    def __init__(self, code: int) -> None:
        self.code = code
        self.ran: list[tuple[list[str], dict[str, str]]] = []

    def __call__(self, command: list[str], *, env: dict[str, str] | None = None, **named: Any) -> object:
        self.ran.append((command, env or {}))
        if "--target" in command:
            (Path(command[command.index("--target") + 1]) / "pyspark").mkdir(parents=True)
        return SimpleNamespace(returncode=self.code)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Runs:
    noted = Runs(code=3)
    monkeypatch.setattr(subprocess, "run", noted)
    monkeypatch.setattr(spark_lane, "ROOT", tmp_path)
    return noted


def test_the_version_is_installed_once_and_comes_first(runs: Runs, tmp_path: Path) -> None:
    place = tmp_path / "build" / "pyspark-4.2.1"
    assert spark_lane.main(["4.2.1", "-k", "stream"]) == 3, "the exit code is that of the tests"
    assert spark_lane.main(["4.2.1", "tests/spark/test_stream.py"]) == 3
    (install, _), (first, paths), (second, _) = runs.ran
    assert install[-1] == "pyspark==4.2.1"
    assert (place / "pyspark").is_dir()
    assert paths["PYTHONPATH"].split(os.pathsep)[:2] == [str(place), str(tmp_path / "src")]
    assert first[-2:] == ["-k", "stream"]
    assert "tests/spark/test_bounded_stream.py" in first
    assert second[-1] == "tests/spark/test_stream.py"
    assert "tests/spark/test_bounded_stream.py" not in second


def test_the_client_comes_without_spark_and_runs_no_query(runs: Runs, tmp_path: Path) -> None:
    assert spark_lane.main(["4.2.0", "--client"]) == 3
    (install, _), (tests, paths) = runs.ran
    assert install[-2:] == ["--no-deps", "pyspark-client==4.2.0"]
    assert paths["PYTHONPATH"].split(os.pathsep)[0] == str(tmp_path / "build" / "pyspark-client-4.2.0")
    assert tests[-2:] == ["0", "tests/spark/test_bounded_stream.py"]


@pytest.mark.parametrize("text", ["4.2", "latest", "4.2.1; rm", "../4.2.1"])
def test_what_is_no_version_is_refused(text: str, runs: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        spark_lane.main([text])
    assert refused.value.code == 2
    assert "not a version such as 4.2.1" in capsys.readouterr().err
    assert runs.ran == []
