"""Every block of docs/spark.md is run, in order, in one Spark session."""

import os
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import pytest

from odradek.testing import Broker
from tests.docs.blocks import Block, blocks_of
from tests.docs.typed_commands import difference, matches, typed_commands

pytestmark = [pytest.mark.spark, pytest.mark.integration, pytest.mark.slow]

ADDRESS: Final = "127.0.0.1:9092"


def with_what_they_print(blocks: list[Block]) -> Iterator[tuple[Block, str]]:
    """The blocks that are run, and the text of the block below where that is of text, else nothing."""
    for block, following in pairwise([*blocks, Block("", 0, "", "")]):
        if block.language != "text":
            yield block, following.text if following.language == "text" else ""


def as_run(block: Block, bootstrap_servers: str, directory: Path) -> str:
    """The block with this broker's address; Spark's JVM does not follow when a test changes its directory."""
    text = block.text.replace(ADDRESS, bootstrap_servers)
    for name in ("table", "streamed", "checkpoint", "sent"):
        text = text.replace(f'"{name}")', f"{str(directory / name)!r})")
    return text


@pytest.mark.filterwarnings("ignore")
def test_the_page_says_what_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspark")
    monkeypatch.chdir(tmp_path)
    wrong: list[str | None] = []
    names: dict[str, Any] = {}
    with Broker(process=True) as broker:
        environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "ODRADEK_BOOTSTRAP_SERVERS": broker.bootstrap_servers,
        }
        try:
            for block, expected in with_what_they_print(list(blocks_of("docs/spark.md"))):
                if block.language == "console":
                    typed = [one for one in typed_commands(block) if one.is_run]
                    wrong += [difference(one, tmp_path, environment) for one in typed]
                    continue
                assert block.language == "python", block.place
                printed = StringIO()
                with redirect_stdout(printed):
                    exec(as_run(block, broker.bootstrap_servers, tmp_path), names)
                if not matches(printed.getvalue().rstrip(), expected):  # show() ends with an empty line
                    wrong.append(f"{block.place} prints\n{printed.getvalue()}")
        finally:
            if "spark" in names:
                names["spark"].stop()
    assert not any(wrong), "\n".join(filter(None, wrong))
