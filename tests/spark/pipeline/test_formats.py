"""What a session has of a description beside what the format of a table needs."""

import signal
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from odradek.base.errors import SettingError
from odradek.spark.pipeline import formats
from odradek.spark.pipeline.delta import SETTINGS
from odradek.spark.pipeline.formats import with_settings
from tests.spark.pipeline.fake_topics import described

CATALOG = "spark.sql.catalog.spark_catalog"


def test_lists_are_joined_and_other_settings_replaced() -> None:
    ours = {**SETTINGS, "spark.jars": "delta.jar"}
    given = {"spark.jars": "mine.jar", "spark.sql.extensions": "Mine", "spark.executor.memory": "4g"}
    found = with_settings(ours, given)
    assert found["spark.jars"] == "delta.jar,mine.jar"
    assert found["spark.sql.extensions"] == f"{SETTINGS['spark.sql.extensions']},Mine"
    assert (found["spark.executor.memory"], found[CATALOG]) == ("4g", SETTINGS[CATALOG])


def test_a_catalog_of_a_format_is_not_taken_away() -> None:
    with pytest.raises(SettingError, match=f"cannot have {CATALOG}: the format of the table has that"):
        with_settings(SETTINGS, {CATALOG: "Mine"})
    assert with_settings({}, {CATALOG: "Mine"}) == {CATALOG: "Mine"}


def test_ctrl_c_stays_what_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PySpark sets a handler of its own when a session begins."""
    before = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(
        formats, "spark_session", lambda *_, **__: signal.signal(signal.SIGINT, signal.SIG_IGN)
    )
    try:
        formats.session_for([described(tmp_path)])
        assert signal.getsignal(signal.SIGINT) is before
    finally:
        signal.signal(signal.SIGINT, before)


def test_ctrl_c_while_the_jvm_starts_waits_until_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[str] = []

    def interrupted(*_: object, **__: object) -> None:
        signal.raise_signal(signal.SIGINT)
        started.append("JVM")

    monkeypatch.setattr(formats, "spark_session", interrupted)
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        formats.session_for([described(tmp_path)])
    assert started == ["JVM"]
    assert signal.getsignal(signal.SIGINT) is before
