"""Jars of table formats: fetched once, checked, by Ivy from a repository that is given."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import pytest

from odradek.spark.java_home import find_java_home
from odradek.spark.lake_jars import (
    DELTA,
    ICEBERG,
    REPOSITORY_VARIABLE,
    Fetch,
    Jar,
    JarsMissing,
    ivy_fetch,
    jars_in,
)

pytestmark = pytest.mark.spark

CONTENT = b"a jar"
JAR = Jar("com.example", "flights", "1.0", hashlib.sha256(CONTENT).hexdigest())


def fetch_of(content: bytes | None) -> tuple[list[str], Fetch]:
    asked: list[str] = []

    def fetch(jars: Sequence[Jar], directory: Path) -> None:
        for one in jars:
            asked.append(one.file)
            if content is not None:
                (directory / one.file).write_bytes(content)

    return asked, fetch


def test_jars_are_fetched_once(tmp_path: Path) -> None:
    asked, fetch = fetch_of(CONTENT)
    for _ in range(2):
        (found,) = jars_in(tmp_path, [JAR], fetch)
        assert found.read_bytes() == CONTENT
    assert asked == ["flights-1.0.jar"]
    assert [one.name for one in (tmp_path / "jars").iterdir()] == ["flights-1.0.jar"]


def test_a_jar_with_another_content_is_refused(tmp_path: Path) -> None:
    _, fetch = fetch_of(b"another")
    with pytest.raises(JarsMissing, match=r"flights-1\.0\.jar was fetched with the SHA-256 .* not that of"):
        jars_in(tmp_path, [JAR], fetch)
    assert list((tmp_path / "jars").iterdir()) == []


def test_a_jar_that_is_not_found_is_named(tmp_path: Path) -> None:
    _, fetch = fetch_of(None)
    with pytest.raises(JarsMissing, match=r"flights-1\.0\.jar was not found"):
        jars_in(tmp_path, [JAR], fetch)


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "jars").touch()
    _, fetch = fetch_of(CONTENT)
    with pytest.raises(JarsMissing, match="set ODRADEK_CACHE"):
        jars_in(tmp_path, [JAR], fetch)


def test_each_jar_has_a_version_and_a_checksum() -> None:
    for one in (*DELTA, *ICEBERG):
        assert len(bytes.fromhex(one.sha256)) == 32
        assert one.version in one.file


@pytest.mark.slow
@pytest.mark.integration
def test_ivy_fetches_from_the_repository_that_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = tmp_path / "repository" / "com" / "example" / "flights" / "1.0"
    there.mkdir(parents=True)
    (there / "flights-1.0.jar").write_bytes(CONTENT)
    (there / "flights-1.0.pom").write_text(
        "<project><modelVersion>4.0.0</modelVersion><groupId>com.example</groupId>"
        "<artifactId>flights</artifactId><version>1.0</version></project>"
    )
    monkeypatch.setenv(REPOSITORY_VARIABLE, (tmp_path / "repository").as_uri())
    fetch = ivy_fetch(find_java_home(tmp_path / "cache"))
    (found,) = jars_in(tmp_path / "cache", [JAR], fetch)
    assert found.read_bytes() == CONTENT
    lacking = Jar("com.example", "planes", "1.0", JAR.sha256)
    with pytest.raises(JarsMissing, match=r"planes-1\.0\.jar could not be fetched; set ODRADEK_MAVEN"):
        jars_in(tmp_path / "cache", [lacking], fetch)
