"""The driver of the pipelines: `odradek pipeline run`, in a process of its own, so that it can be killed."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Self

# A batch that has begun ends within this time, and Spark after it.
_STOPPED_S = 120


class DriverFailed(Exception):
    """The driver ended by itself; the message is its last words."""


class Driver:
    """A run of these descriptions, as a `with` block, whose end kills what still runs."""

    def __init__(self, descriptions: Sequence[Path], log: Path) -> None:
        """The brokers are those of $ODRADEK_BOOTSTRAP_SERVERS; the directory is that of the descriptions."""
        self._log = log
        names = [one.name for one in descriptions]
        with log.open("w") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "odradek", "pipeline", "run", *names],
                cwd=descriptions[0].parent,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    @property
    def pid(self) -> int:
        """The number of its process."""
        return self._process.pid

    def check(self) -> None:
        """Raises DriverFailed if it has ended."""
        if self._process.poll() is not None:
            raise DriverFailed(f"the pipeline ended with {self._process.returncode}:\n{self.last_words()}")

    def kill(self) -> None:
        """`kill -9`, which no process can answer."""
        self._process.kill()
        self._process.wait()

    def wait(self) -> None:
        """Wait until it ends by itself."""
        self._process.wait(_STOPPED_S)

    def stop(self) -> None:
        """Let it end the batch that it is in, and wait for that. Raises DriverFailed if it fails there."""
        self._process.terminate()
        if self._process.wait(_STOPPED_S) != 0:
            raise DriverFailed(f"the pipeline did not stop well:\n{self.last_words()}")

    def last_words(self) -> str:
        """The end of what it printed."""
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-20:])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.kill()
