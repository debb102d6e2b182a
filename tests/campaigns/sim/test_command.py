"""`./dev sim`: what it prints, what it refuses, and its exit code."""

import re
from pathlib import Path
from unittest.mock import patch

import pytest
from campaigns.sim.__main__ import main
from campaigns.sim.planted import PLANTED

from odradek.testing.sim.trial.checkers import Checker

TWO = ("--brokers", "2")
"""A trial of two brokers takes half the time."""
SHORT_MS = {"LOAD_MS": 8_000, "SETTLING_MS": 20_000}
"""The parts of the trials here: what they print is looked at, not what they find."""


@pytest.fixture
def short_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mishaps keep their times; the load goes on until the last of those that happen."""
    for name, lasts_ms in SHORT_MS.items():
        monkeypatch.setattr(f"odradek.testing.sim.trial.trial.{name}", lasts_ms)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "give either --seed or --seeds"),
        (["--seed", "1", "--seeds", "1-2"], "give either --seed or --seeds"),
        (["--seeds", "few"], "no range of seeds"),
        (["--seed", "1", "--brokers", "1"], "at least 2 brokers"),
        (["--seed", "1", "--mishaps", "x"], "no numbers"),
        (["--seeds", "1-2", "--trace", "page.html"], "--trace is for one --seed"),
    ],
)
def test_wrong_input_is_refused(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        main(arguments)
    assert refused.value.code == 2
    assert words in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.usefixtures("short_trials")
def test_a_clean_seed_says_what_happened(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seed", "1", *TWO, "--mishaps", "-1"]) == 0
    assert "seed 1: clean" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.usefixtures("short_trials")
def test_the_numbers_that_are_printed_choose_mishaps(capsys: pytest.CaptureFixture[str]) -> None:
    def struck(*more: str) -> tuple[dict[str, list[str]], str]:
        """By its number, what happened in a mishap, without the times; and the last line but one."""
        assert main(["--seed", "3", *TWO, *more]) == 0
        lines = capsys.readouterr().out.splitlines()
        found: dict[str, list[str]] = {}
        for line in lines:
            if (match := re.match(r" *[0-9,]+ ms +#([0-9]+)  (.*)", line)) is not None:
                found.setdefault(match[1], []).append(match[2])
        return found, lines[-2]

    every, hint = struck("--mishaps", "0,1,2,3")
    assert set(every) <= set("0123")
    assert len(every) > 1
    assert hint.endswith("./dev sim --seed 3 --brokers 2 --mishaps " + ",".join(every))
    kill = next(
        number for number, told in every.items() if any(words.endswith("is killed") for words in told)
    )
    assert any(words.endswith("starts again") for words in every[kill]), "its end has its number, too"
    some, _ = struck("--mishaps", kill)
    assert set(some) == {kill}


@pytest.mark.slow
@pytest.mark.usefixtures("short_trials")
def test_a_failing_seed_tells_its_history_and_how_to_replay_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    with PLANTED["HW at append"]():
        assert main(["--seed", "0", *TWO, "--as-found", "--mishaps", "-1", "--trace", str(page)]) == 1
    said = capsys.readouterr().out
    assert "VIOLATED  what is committed is in every in-sync replica" in said
    assert "replay: ./dev sim --seed 0 --brokers 2 --mishaps -1 --as-found" in said
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert re.search(r"^1 seed in \d+ s, 1 failed$", said, re.MULTILINE)


@pytest.mark.slow
@pytest.mark.usefixtures("short_trials")
def test_of_a_violation_about_the_controller_the_history_tells_no_partitions(
    capsys: pytest.CaptureFixture[str],
) -> None:
    class Strict(Checker):
        NAME = "brokers do not die"

        def look(self) -> None:
            if len(self.scene.view.living()) < len(self.scene.view.world.nodes):
                self.violated("deaths", "a broker has died")

    with patch("odradek.testing.sim.trial.trial.CHECKERS", (Strict,)):
        assert main(["--seed", "33", "--as-found", "--mishaps", "0"]) == 1
    said = capsys.readouterr().out
    assert "VIOLATED  brokers do not die" in said
    assert re.search(r"metadata store +broker \d is elected controller, epoch 1", said)
    assert "makes the log" not in said
    assert "earlier events" not in said
