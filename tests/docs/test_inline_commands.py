"""Commands within sentences and tables: the command line takes each of them."""

import re
import shlex
from typing import Final

import pytest

from odradek.cli.command_line import Command, parse
from odradek.cli.main import find
from tests.docs.blocks import PAGES, ROOT

# A command with at least a subcommand; `odradek.admin.host`, `odradek_broker` and the like are none.
_INLINE: Final = re.compile(r"`(odradek [a-z][^`]*)`")
_FENCED: Final = re.compile(r"^```.*?^```$", re.M | re.S)


def commands() -> list[tuple[str, str]]:
    return [
        (page, " ".join(command.split()))
        for page in PAGES
        for command in _INLINE.findall(_FENCED.sub("", (ROOT / page).read_text()))
    ]


@pytest.mark.parametrize(("page", "command"), sorted(set(commands())))
def test_an_inline_command_is_one(page: str, command: str) -> None:
    for piece in command.split(" | "):
        words = shlex.split(piece)[1:]
        path, found, rest = find(words)
        if isinstance(found, Command) and rest:
            parse(path, found, rest)
        else:  # `odradek groups`: only named
            assert not rest
