"""Every command of docs/pipeline.md is run, in order, beside a broker; the page's `clean.toml` is there.

The first run of a pipeline is a process with a JVM of its own. The commands of pipelines behind it run in
this process, whose one JVM they share.
"""

import os
import shlex
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from odradek.cli.main import run
from odradek.testing import Broker
from tests.docs.blocks import Runner, blocks_of, blocks_run_by
from tests.docs.typed_commands import Typed, difference, matches, typed_commands

pytestmark = [
    pytest.mark.spark,
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.timeout(900),  # two JVMs are started
    pytest.mark.filterwarnings("ignore"),
]


PAGE = "docs/pipeline.md"
OF_PIPELINES = "odradek pipeline "
FIRST_RUN = f"{OF_PIPELINES}run "


def difference_here(typed: Typed) -> str | None:
    """As `difference`, in this process."""
    printed, errors = StringIO(), StringIO()
    with redirect_stdout(printed), redirect_stderr(errors):
        run(shlex.split(typed.command)[1:])
    text = printed.getvalue() + errors.getvalue()
    return None if matches(text, typed.expected) else f"{typed.place}: $ {typed.command}\n{text}"


def test_the_page_says_what_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspark")
    typed = [one for block in blocks_run_by(Runner.PIPELINE) for one in typed_commands(block) if one.is_run]
    assert len(typed) >= 15
    first_run = next(place for place, one in enumerate(typed) if one.command.startswith(FIRST_RUN))
    (example,) = (one.text for one in blocks_of(PAGE) if one.text.startswith('name = "clean"'))
    monkeypatch.chdir(tmp_path)
    with Broker(process=True) as broker:
        (tmp_path / "clean.toml").write_text(example.replace("127.0.0.1:9092", broker.bootstrap_servers))
        monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
        monkeypatch.setenv("ODRADEK_BOOTSTRAP_SERVERS", broker.bootstrap_servers)
        monkeypatch.setenv("COLUMNS", "100")
        wrong = [
            difference_here(one)
            if place > first_run and one.command.startswith(OF_PIPELINES)
            else difference(one, tmp_path, os.environ)
            for place, one in enumerate(typed)
        ]
    assert not any(wrong), "\n".join(["these commands print something else:", *filter(None, wrong)])
