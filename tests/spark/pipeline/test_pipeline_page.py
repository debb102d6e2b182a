"""Every command of docs/pipeline.md is run, in order, beside a broker; the page's `clean.toml` is there."""

import os
import sys
from pathlib import Path

import pytest

from odradek.testing import Broker
from tests.docs.blocks import Runner, blocks_of, blocks_run_by
from tests.docs.typed_commands import difference, typed_commands

pytestmark = [
    pytest.mark.spark,
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.timeout(900),  # several commands start a JVM
]


PAGE = "docs/pipeline.md"


def test_the_page_says_what_is_printed(tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    typed = [one for block in blocks_run_by(Runner.PIPELINE) for one in typed_commands(block) if one.is_run]
    assert len(typed) >= 15
    (example,) = (one.text for one in blocks_of(PAGE) if one.text.startswith('name = "clean"'))
    with Broker(process=True) as broker:
        (tmp_path / "clean.toml").write_text(example.replace("127.0.0.1:9092", broker.bootstrap_servers))
        environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "ODRADEK_BOOTSTRAP_SERVERS": broker.bootstrap_servers,
            "COLUMNS": "100",
        }
        wrong = [difference(one, tmp_path, environment) for one in typed]
    assert not any(wrong), "\n".join(["these commands print something else:", *filter(None, wrong)])
