from pathlib import Path

import pytest

from odradek.server.process.processor_wait import SCHEDSTAT, processor_wait_ns


def test_the_second_number_is_the_wait(tmp_path: Path) -> None:
    said = tmp_path / "schedstat"
    said.write_text("64454756 94536225 32\n")
    assert processor_wait_ns(str(said)) == 94_536_225


@pytest.mark.parametrize("words", ["", "1 2", "1 two 3", "0 -1 0"])
def test_what_is_not_understood_is_no_wait(tmp_path: Path, words: str) -> None:
    said = tmp_path / "schedstat"
    said.write_text(words)
    assert processor_wait_ns(str(said)) == 0


def test_a_system_that_does_not_say_it_is_no_wait(tmp_path: Path) -> None:
    assert processor_wait_ns(str(tmp_path / "absent")) == 0


@pytest.mark.skipif(not Path(SCHEDSTAT).exists(), reason="this kernel does not count waits")
def test_it_never_falls() -> None:
    before_ns = processor_wait_ns()
    assert processor_wait_ns() >= before_ns >= 0
