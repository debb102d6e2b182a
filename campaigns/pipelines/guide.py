"""Starts a process of `guided_run`, orders its runs, and is told each step that a run reaches."""

import contextlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Timer

RUN_TIMEOUT_S = 600.0


class Guide:
    """One process that runs a pipeline again and again."""

    def __init__(self, file: Path, log: Path) -> None:
        """`log` gets its errors."""
        with log.open("ab") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "campaigns.pipelines.guided_run", file],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )

    def run(self, reached: Callable[[str], None]) -> str:
        """Have it run once; `reached` is called with the name of each step. Returns why it failed, or ""."""
        assert self._process.stdout is not None
        watchdog = Timer(RUN_TIMEOUT_S, self._process.kill)
        watchdog.daemon = True
        watchdog.start()
        try:
            self._tell("run")
            for line in self._process.stdout:
                said, _, what = line.strip().partition(" ")
                if said == "step":
                    reached(what)
                    self._tell("go")
                elif said == "ended":
                    return ""
                elif said == "failed":
                    return what
        except BaseException:  # nobody guides it any more
            self._process.kill()
            raise
        finally:
            watchdog.cancel()
        return f"the process ended with {self._process.wait()}"

    def close(self) -> None:
        """Let the process end."""
        self._process.communicate()

    def _tell(self, word: str) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it has ended, and has said why
            self._process.stdin.write(f"{word}\n")
            self._process.stdin.flush()
