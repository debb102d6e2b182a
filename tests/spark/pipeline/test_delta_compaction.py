"""What a compaction says to Delta; its session notes it."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

from odradek.base import clock
from odradek.spark.pipeline.delta_compaction import DeltaCompactor
from odradek.spark.pipeline.lake import Marker
from tests.spark.pipeline.test_ledger import commit


class NotingSession:
    """A session of one table, and all that leads to a commit of it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.noted: dict[str, str] = {}
        self.commits: list[dict[str, str]] = []
        self.write = self

    def __getattr__(self, name: str) -> Any:
        return lambda *_: self

    def option(self, name: str, value: str) -> "NotingSession":
        self.noted[name] = value
        return self

    def save(self, _: object) -> None:
        log = self.directory / "_delta_log"
        log.mkdir(exist_ok=True)
        (log / f"{len(list(log.iterdir())):020}.json").touch()
        self.commits.append(dict(self.noted))


def test_a_marker_is_restated_also_when_the_clock_went_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Delta takes a version that is not above the last one for a commit that it has."""
    session: Any = NotingSession(tmp_path)
    session.save("")
    for wall_ms in (2_000_000_000_000, 1_000_000_000_000):
        monkeypatch.setattr(clock.SystemClock, "wall_ms", lambda _, now=wall_ms: now)
        DeltaCompactor(session).restate(Marker("batch=1", commit()))
        session.save("")
    first, second = session.commits[1], session.commits[3]
    assert first["txnAppId"] == second["txnAppId"]
    assert int(second["txnVersion"]) > int(first["txnVersion"])
