"""A run of a pipeline in a process of its own, which says each step, and goes on when it is told to.

`python -m campaigns.pipelines.guided_run FILE`. Each line `run` that it reads lets it read up to the ends of
the topics, as `odradek pipeline run` does. Before each step of a batch it writes `step NAME` and waits for
a line. In the end it writes `ended`, or `failed` and why, and then it is over.
"""

import os
import sys
import threading
from pathlib import Path
from typing import TextIO

from campaigns.pipelines.driver import Silent
from odradek.base.errors import OdradekError
from odradek.spark.pipeline.assembly import opened, run_until
from odradek.spark.pipeline.description import read_description
from odradek.spark.pipeline.engine import Engine, Step


class UntilNothingIsLeft:
    """Batches of an engine; tells when one finds nothing to read."""

    def __init__(self, engine: Engine, ended: threading.Event) -> None:
        self._engine = engine
        self._ended = ended

    def run_batch(self) -> bool:
        """Run one, if there is anything to read."""
        has_read = self._engine.run_batch()
        if not has_read:
            self._ended.set()
        return has_read


def own_output() -> TextIO:
    """What this process alone writes to: Spark's Java gets its errors in the place of its output."""
    mine = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return os.fdopen(mine, "w", buffering=1)


def main(file: str) -> int:
    """Run as often as asked; exits with 1 when a run has failed."""
    said = own_output()

    def reached(at: Step) -> None:
        print(f"step {at.name}", file=said)
        if not sys.stdin.readline():
            os._exit(1)  # nobody is there any more

    silent = Silent()
    try:
        with opened(read_description(Path(file)), silent, reached) as engine:
            while sys.stdin.readline():
                ended = threading.Event()
                run_until([(UntilNothingIsLeft(engine, ended), 0.0)], ended, silent.warned)
                print("ended", file=said)
    except OdradekError as error:
        print("failed", " ".join(str(error).split()), file=said)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
