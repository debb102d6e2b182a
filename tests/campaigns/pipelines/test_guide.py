"""A run in a process of its own tells why it failed."""

from pathlib import Path

from campaigns.pipelines.guide import Guide


def test_a_run_that_cannot_begin_says_why(tmp_path: Path) -> None:
    file = tmp_path / "kills.toml"
    file.write_text("[sink]\npath = 1\n")
    guide = Guide(file, tmp_path / "log")
    fault = guide.run(lambda step: None)
    guide.close()
    assert "decode.format is missing" in fault, (fault, (tmp_path / "log").read_text())
