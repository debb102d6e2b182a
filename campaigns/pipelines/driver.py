"""One run of a pipeline that ends itself by `kill -9`, some milliseconds after a step of its first batch.

`python -m campaigns.pipelines.driver FILE STEP MILLISECONDS`. Its Java process is left behind, as by any
kill.
"""

import os
import signal
import sys
import threading
from pathlib import Path

from odradek.spark.pipeline.assembly import opened
from odradek.spark.pipeline.description import read_description
from odradek.spark.pipeline.engine import Step
from odradek.spark.pipeline.ledger import Commit


class Silent:
    """Hears how the run goes, and prints what went wrong."""

    def committed(self, commit: Commit, records_behind: int) -> None:
        """Nothing to say."""

    def warned(self, sentence: str) -> None:
        """Print it, for whoever reads the driver's errors."""
        print(sentence, file=sys.stderr)


def _kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def main(file: str, step: str, after_ms: str) -> None:
    """Run until the kill, or to the end if the batch is committed before it."""

    def reached(at: Step) -> None:
        if at is not Step[step]:
            return
        if after_ms == "0":
            _kill()
        timer = threading.Timer(int(after_ms) / 1000, _kill)
        timer.daemon = True
        timer.start()

    with opened(read_description(Path(file)), Silent(), reached) as engine:
        engine.run_once()


if __name__ == "__main__":
    main(*sys.argv[1:])
