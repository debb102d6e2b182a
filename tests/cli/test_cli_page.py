"""Every block of commands on the pages about the command line is run, and prints what the page says."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from odradek.testing import Broker
from tests.cli.kafka_directory import KafkaDirectory
from tests.docs.blocks import Runner, blocks_run_by
from tests.docs.typed_commands import difference, typed_commands

pytestmark = [pytest.mark.integration, pytest.mark.slow]

BLOCKS = blocks_run_by(Runner.COMMANDS)


@pytest.mark.parametrize("page", sorted({block.page for block in BLOCKS}))
def test_the_page_says_what_is_printed(
    page: str, tmp_path: Path, kafka_directory_at: Callable[[Path], KafkaDirectory]
) -> None:
    kafka_directory_at(tmp_path / "kafka")
    typed = [one for block in BLOCKS if block.page == page for one in typed_commands(block) if one.is_run]
    assert len(typed) > (40 if page == "docs/cli.md" else 0)
    with Broker(data_dir=tmp_path / "data", settings={"odradek.admin.port": "0"}) as broker:
        environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "ODRADEK_BOOTSTRAP_SERVERS": broker.bootstrap_servers,
            "ODRADEK_ADMIN": broker.admin_address or "",
            "COLUMNS": "100",
        }
        wrong = [difference(one, tmp_path, environment) for one in typed]
    assert not any(wrong), "\n".join(["these commands print something else:", *filter(None, wrong)])
