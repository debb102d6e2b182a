"""docs/replication.md shows what the simulator gives, and its code runs."""

import re
from pathlib import Path

import pytest
from tools.replication_page import PAGE, WIDTH_MAX, blocks, filled

from tools import replication_history


@pytest.fixture(scope="module")
def parts() -> dict[str, str]:
    return blocks(replication_history.run().history)


@pytest.mark.slow  # it runs the history
def test_the_page_is_what_the_simulator_gives(parts: dict[str, str]) -> None:
    page = PAGE.read_text("utf-8")
    assert filled(page, parts) == page, "run ./dev docs"
    assert all(parts.values())


@pytest.mark.slow
def test_the_history_shows_what_the_page_says(parts: dict[str, str]) -> None:
    """X4, R5b, R7: the election comes before the truncation, and the logs are equal afterwards."""
    assert "Produce: acks=all" in parts["record"]
    assert parts["record"].index("HW 1\n") < parts["record"].index("Produce answer: orders-0: offset 0")
    assert "elected leader 2 (was 1), epoch 1" in parts["election"]
    assert "truncates from 3 to 1, because broker 2 answered: epoch 0 ends at 1" in parts["truncation"]
    logs = {
        re.sub(r"^broker \d +\w+ +", "", line) for line in parts["logs after the truncation"].splitlines()
    }
    assert len(logs) == 1


@pytest.mark.slow
def test_lines_are_not_longer_than_a_page_shows(parts: dict[str, str]) -> None:
    assert max(len(line) for text in parts.values() for line in text.splitlines()) <= WIDTH_MAX


def test_a_part_without_a_place_is_found() -> None:
    with pytest.raises(AssertionError, match="has places for"):
        filled("no place\n", {"election": "..."})


def test_a_place_is_filled() -> None:
    page = "a\n<!-- history: election -->\n```text\nold\n```\nb\n"
    assert filled(page, {"election": "new\n"}) == page.replace("old", "new")


@pytest.mark.slow
def test_the_code_of_the_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(compile(code, str(PAGE), "exec"), {})
    assert "is elected controller, epoch 2" in capsys.readouterr().out
    assert (tmp_path / "history.html").read_text("utf-8").startswith("<!DOCTYPE html>")
