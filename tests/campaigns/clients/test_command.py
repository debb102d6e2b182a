"""`./dev clients`: what it prints, what it refuses, and its exit code."""

import pytest
from campaigns.clients.__main__ import main
from campaigns.clients.planted import FOUND_BY, PLANTED


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "one of the arguments --seed --planted --seeds is required"),
        (["--seed", "1", "--seeds", "1-2"], "not allowed with argument --seed"),
        (["--seeds", "few"], "no range of seeds"),
        (["--seeds", "5-4"], "the range has no seed"),
    ],
)
def test_wrong_input_is_refused(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        main(arguments)
    assert refused.value.code == 2
    assert words in capsys.readouterr().err


@pytest.mark.slow
def test_a_clean_seed_says_what_happened(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seed", "1"]) == 0
    said = capsys.readouterr().out
    assert "seed 1: no violations" in said
    assert "    mishaps: " in said
    assert "1 seeds in" in said
    assert "failed: none" in said


@pytest.mark.slow
def test_a_seed_that_has_failed_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    bug = "a batch that is sent again goes behind the others"
    seed = FOUND_BY[bug]
    with PLANTED[bug]():
        assert main(["--seeds", f"{seed}-{seed}"]) == 1
    said = capsys.readouterr().out
    assert "    source-0 has writer-" in said
    assert f"failed: [{seed}]" in said
