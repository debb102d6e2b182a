"""Of several processes one makes what is missing in the cache."""

import fcntl
from pathlib import Path

import pytest
from peers.cache import adding, cache_directory


@pytest.fixture(autouse=True)
def _cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ODRADEK_CACHE", str(tmp_path))


def test_what_is_missing_is_made_once() -> None:
    program = cache_directory() / "program"
    with adding(program) as is_missing:
        assert is_missing
        program.touch()
    with adding(program) as is_missing:
        assert not is_missing


def test_nobody_else_makes_anything_meanwhile() -> None:
    cache_directory().mkdir()
    with (cache_directory() / "adding.lock").open("ab") as lock:
        with adding(cache_directory() / "program"), pytest.raises(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_whoever_waited_finds_it_made(monkeypatch: pytest.MonkeyPatch) -> None:
    program = cache_directory() / "program"
    monkeypatch.setattr(fcntl, "flock", lambda lock, operation: program.touch())  # the other one, meanwhile
    with adding(program) as is_missing:
        assert not is_missing
