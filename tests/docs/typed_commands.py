"""Commands as a page shows them: a prompt, the command, what it prints; `...` stands for anything."""

import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from tests.docs.blocks import Block

NOT_RUN: Final = {
    "docker": "a test has no container engine",
    "pip": "./dev wheel installs the package, with each extra",
    "sudo": "a test changes nothing of the machine",
    "./dev": "it runs the tests, or takes as long as they do",
}
"""Programs whose commands are only parsed by the shell, and why."""


class Typed(NamedTuple):
    """A command of a page, and what it is to print, errors last."""

    place: str
    command: str
    expected: str

    @property
    def is_run(self) -> bool:
        """Whether a test runs it."""
        return self.command.split()[0] not in NOT_RUN


def typed_commands(block: Block) -> Iterator[Typed]:
    """The commands of a block; one that ends with a backslash goes on in the next line."""
    lines = block.text.splitlines()
    starts = [number for number, line in enumerate(lines) if line.startswith("$ ")]
    assert starts[:1] == [0], f"{block.place}: the block begins with no command"
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        printed_from = start + 1
        while lines[printed_from - 1].endswith("\\"):
            printed_from += 1
        command = "\n".join(lines[start:printed_from])[2:]
        expected = "".join(f"{line}\n" for line in lines[printed_from:end])
        page, _, first_line = block.place.rpartition(":")
        yield Typed(f"{page}:{int(first_line) + start}", command, expected)


def matches(printed: str, expected: str) -> bool:
    """Whether they are equal but for `...`, and for the number of blanks, which depends on widths."""
    pattern = re.escape(_plain(expected)).replace(re.escape("..."), ".*")
    return re.fullmatch(pattern, _plain(printed), re.DOTALL) is not None


def difference(typed: Typed, directory: Path, environment: Mapping[str, str]) -> str | None:
    """Run the command; returns what it printed instead of what the page says, or None."""
    done = subprocess.run(
        ["bash", "-c", typed.command], cwd=directory, env=environment, capture_output=True, text=True
    )
    printed = done.stdout + done.stderr
    return None if matches(printed, typed.expected) else f"{typed.place}: $ {typed.command}\n{printed}"


def _plain(text: str) -> str:
    return "\n".join(re.sub(r" +", " ", line).strip() for line in text.splitlines())
