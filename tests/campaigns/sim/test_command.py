"""`./dev sim`: what it prints, what it refuses, and its exit code."""

from pathlib import Path

import pytest
from campaigns.sim.__main__ import main
from campaigns.sim.planted import PLANTED


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
def test_a_clean_seed_says_what_happened(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seed", "0", "--mishaps", "-1"]) == 0
    assert "seed 0: clean" in capsys.readouterr().out


@pytest.mark.slow
def test_a_failing_seed_tells_its_history_and_how_to_replay_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    with PLANTED["HW at append"]():
        assert main(["--seed", "0", "--as-found", "--mishaps", "-1", "--trace", str(page)]) == 1
    said = capsys.readouterr().out
    assert "VIOLATED  what is committed is in every in-sync replica" in said
    assert "replay: ./dev sim --seed 0 --mishaps -1 --as-found" in said
    assert page.read_text().startswith("<!DOCTYPE html>")
