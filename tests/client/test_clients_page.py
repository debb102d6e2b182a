"""Every program of the clients' pages prints what its page says, beside a broker with the page's topic."""

import subprocess
import sys

import pytest

from odradek.testing import Broker
from tests.docs.blocks import Runner, blocks_run_by

pytestmark = [pytest.mark.integration, pytest.mark.slow]

BLOCKS = list(blocks_run_by(Runner.CLIENTS))
PROGRAMS = [number for number, block in enumerate(BLOCKS) if block.language == "python"]


@pytest.mark.parametrize("number", PROGRAMS, ids=lambda number: BLOCKS[number].place)
def test_a_program_prints_what_the_page_says(number: int) -> None:
    with Broker() as broker:
        broker.create_topic("orders")
        broker.produce("orders", "book", "lamp", "chair")
        program = BLOCKS[number].text.replace("127.0.0.1:9092", broker.bootstrap_servers)
        assert program != BLOCKS[number].text, "it names the page's broker"
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
        )
        assert (done.stderr, done.returncode) == ("", 0)
        assert BLOCKS[number + 1].language == "text", "each program is followed by what it prints"
        assert done.stdout == BLOCKS[number + 1].text
