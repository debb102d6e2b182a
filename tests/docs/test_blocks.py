"""Every block of every page is run, or parsed as what it says it is."""

import configparser
import json
import re
import subprocess
import tomllib
from collections.abc import Callable
from typing import Final

import pytest

from odradek.base.settings import BROKER_SETTINGS
from odradek.base.settings.properties import parse_properties
from tests.docs.blocks import PAGES, ROOT, RUN_BY, Block, blocks_of
from tests.docs.typed_commands import NOT_RUN, typed_commands

yaml = pytest.importorskip("yaml")

BLOCKS: Final = [block for page in PAGES for block in blocks_of(page)]


def parse_ini(text: str) -> object:
    parser = configparser.ConfigParser(allow_no_value=False)
    parser.read_string(text)
    assert parser.sections(), "no section"
    return parser


def parse_broker_settings(text: str) -> object:
    properties = parse_properties(text)
    assert properties.keys() <= BROKER_SETTINGS.keys()
    return properties


PARSED: Final[dict[str, Callable[[str], object]]] = {
    "ini": parse_ini,
    "json": json.loads,
    "properties": parse_broker_settings,
    "text": str,  # a drawing, or what the block above prints
    "toml": tomllib.loads,
    "yaml": lambda text: list(yaml.safe_load_all(text)),
}


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.place)
def test_a_block_is_run_or_parsed(block: Block) -> None:
    if (block.page, block.language) in RUN_BY:
        return
    assert block.language in PARSED, "nothing runs blocks of this language: name a runner in blocks.RUN_BY"
    assert PARSED[block.language](block.text)


def test_no_entry_is_left_over() -> None:
    assert set(RUN_BY) <= {(block.page, block.language) for block in BLOCKS}


def test_every_runner_is_there() -> None:
    for runner in RUN_BY.values():
        assert (ROOT / runner.value).is_file()


@pytest.mark.parametrize("page", PAGES)
def test_no_block_is_without_a_fence(page: str) -> None:
    """An indented one has no language, so that nothing would run it."""
    text = re.sub(r"^(```+).*?^\1$", "", (ROOT / page).read_text(), flags=re.M | re.S)
    assert re.findall(r"(?:^|\n)\n((?:    |\t)\S.*)", text) == []


def test_commands_that_are_not_run_are_parsed_by_the_shell() -> None:
    typed = [one for block in BLOCKS if block.language == "console" for one in typed_commands(block)]
    left_out = [one for one in typed if not one.is_run]
    for one in left_out:
        done = subprocess.run(["bash", "-n", "-c", one.command], capture_output=True, text=True)
        assert not done.returncode, f"{one.place}: {done.stderr}"
        for path in re.findall(r"\bdeploy/[\w./-]+", one.command):
            assert (ROOT / path).exists(), f"{one.place}: there is no {path}"
    assert {one.command.split()[0] for one in left_out} == set(NOT_RUN), "a reason without a command"
