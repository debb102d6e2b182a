"""Apache Kafka as a peer; the tool that formats its storage is replaced here."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
from peers import kafka


def test_a_format_that_was_cut_off_is_done_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    outcomes: list[Exception | None] = [subprocess.TimeoutExpired("java", 1), None]

    def run(command: list[str], **_: Any) -> "subprocess.CompletedProcess[str]":
        assert Path(command[command.index("--config") + 1]).exists()
        outcome = outcomes.pop(0)
        if outcome is not None:
            raise outcome
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(kafka, "class_path", lambda release: "")
    monkeypatch.setattr(subprocess, "run", run)
    broker = kafka.KafkaBroker(tmp_path)
    with pytest.raises(subprocess.TimeoutExpired):
        broker.prepare()
    broker.prepare()
    assert (tmp_path / "server.properties").exists()
    broker.prepare()
    assert outcomes == []
