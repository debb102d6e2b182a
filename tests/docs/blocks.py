"""The fenced blocks of the documentation, and what runs those of each page."""

import re
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[2]
PAGES: Final = sorted(
    str(path.relative_to(ROOT)) for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
)

_BLOCK: Final = re.compile(r"^(?P<fence>```+)(?P<language>[^\n]*)\n(?P<text>.*?)^(?P=fence)$", re.M | re.S)


class Runner(Enum):
    """Who runs the blocks of a kind on a page."""

    PYTEST = "tests/testing/test_docs.py"
    """Each block is a file of tests, or has a test of its own there."""
    COMMANDS = "tests/cli/test_cli_page.py"
    """All commands of a page, beside a broker and a data directory of Kafka's."""
    TERMINAL = "tests/docs/test_terminal_pages.py"
    """All commands of a page, which start the brokers that they use."""
    HISTORY = "tests/tools/test_replication_page.py"
    """The code that records a history in the simulator."""
    SIMULATION = "tests/testing/test_simulation_page.py"
    """The tests of the page: one that passes, one that fails, the part that mends it, and its replay."""
    CLIENTS = "tests/client/test_clients_page.py"
    """Each program of the pages; the block of text below it is what it prints."""
    PIPELINE = "tests/spark/pipeline/test_pipeline_page.py"
    """All commands of a page, beside a broker."""
    SPARK = "tests/spark/test_spark_page.py"
    """All blocks of a page in one Spark session; a block of text is what the block above it prints."""


RUN_BY: Final[dict[tuple[str, str], Runner]] = {
    ("README.md", "python"): Runner.PYTEST,
    ("README.md", "console"): Runner.TERMINAL,
    ("docs/cli.md", "console"): Runner.COMMANDS,
    ("docs/clients.md", "python"): Runner.CLIENTS,
    ("docs/clients.md", "text"): Runner.CLIENTS,
    ("docs/from-aiokafka.md", "python"): Runner.CLIENTS,
    ("docs/from-aiokafka.md", "text"): Runner.CLIENTS,
    ("docs/from-confluent-kafka.md", "python"): Runner.CLIENTS,
    ("docs/from-confluent-kafka.md", "text"): Runner.CLIENTS,
    ("docs/from-kafka-python.md", "python"): Runner.CLIENTS,
    ("docs/from-kafka-python.md", "text"): Runner.CLIENTS,
    ("docs/metrics.md", "console"): Runner.TERMINAL,
    ("docs/operations.md", "console"): Runner.TERMINAL,
    ("docs/pipeline.md", "console"): Runner.PIPELINE,
    ("docs/replication.md", "python"): Runner.HISTORY,
    ("docs/simulation.md", "console"): Runner.SIMULATION,
    ("docs/simulation.md", "python"): Runner.SIMULATION,
    ("docs/spark.md", "console"): Runner.SPARK,
    ("docs/spark.md", "python"): Runner.SPARK,
    ("docs/testing.md", "console"): Runner.TERMINAL,
    ("docs/testing.md", "ini"): Runner.PYTEST,
    ("docs/testing.md", "python"): Runner.PYTEST,
    ("docs/upgrading.md", "console"): Runner.COMMANDS,
}
"""By page and language of the block; `test_blocks.py` demands an entry for each that is to be run."""


class Block(NamedTuple):
    """A fenced block: the line on which its text begins, its language, its text."""

    page: str
    line: int
    language: str
    text: str

    @property
    def place(self) -> str:
        """Where it stands, as a name for a test."""
        return f"{self.page}:{self.line}"


def blocks_of(page: str) -> Iterator[Block]:
    """The blocks of a page, in their order."""
    text = (ROOT / page).read_text()
    for found in _BLOCK.finditer(text):
        line = text.count("\n", 0, found.start()) + 2
        yield Block(page, line, found["language"].strip(), found["text"])


def blocks_run_by(runner: Runner) -> list[Block]:
    """All blocks that this runner has to run."""
    return [
        block for page in PAGES for block in blocks_of(page) if RUN_BY.get((page, block.language)) is runner
    ]
