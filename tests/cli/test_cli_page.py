"""Every block of docs/cli.md is run, and prints what the page says; `...` stands for anything."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from odradek.testing import Broker

pytestmark = [pytest.mark.integration, pytest.mark.slow]

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"


class Typed(NamedTuple):
    """A command of the page, and what it is to print, errors last."""

    line: int
    command: str
    expected: str


def typed_commands() -> Iterator[Typed]:
    text = PAGE.read_text()
    for block in re.finditer(r"^```console\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        first_line = text[: block.start()].count("\n") + 2
        lines = block[1].splitlines()
        starts = [number for number, line in enumerate(lines) if line.startswith("$ ")]
        assert starts[0] == 0, f"the block at line {first_line} begins with no command"
        for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
            expected = "".join(f"{line}\n" for line in lines[start + 1 : end])
            yield Typed(first_line + start, lines[start][2:], expected)


def matches(printed: str, expected: str) -> bool:
    """Whether they are equal but for `...`, and for the number of blanks, which depends on widths."""
    pattern = re.escape(_plain(expected)).replace(re.escape("..."), ".*")
    return re.fullmatch(pattern, _plain(printed), re.DOTALL) is not None


def _plain(text: str) -> str:
    return "\n".join(re.sub(r" +", " ", line).strip() for line in text.splitlines())


def test_the_page_says_what_is_printed(tmp_path: Path, kafka_directory_at: Callable[[Path], Any]) -> None:
    kafka_directory_at(tmp_path / "kafka")
    commands = list(typed_commands())
    assert len(commands) > 40
    with Broker(data_dir=tmp_path / "data", settings={"odradek.admin.port": "0"}) as broker:
        environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "ODRADEK_BOOTSTRAP_SERVERS": broker.bootstrap_servers,
            "ODRADEK_ADMIN": broker.admin_address or "",
            "COLUMNS": "100",
        }
        wrong = []
        for typed in commands:
            done = subprocess.run(
                ["bash", "-c", typed.command], cwd=tmp_path, env=environment, capture_output=True, text=True
            )
            printed = done.stdout + done.stderr
            if not matches(printed, typed.expected):
                wrong.append(f"docs/cli.md:{typed.line}: $ {typed.command}\n{printed}")
    assert not wrong, "\n".join(["these commands print something else:", *wrong])
