"""The progress of a command, on the error output: what it prints for scripts stays alone.

In a terminal the line is written over itself; elsewhere a line is printed when it has changed, every 5 s at
most.
"""

import sys
import time
from typing import Final

from odradek.base.visible import visible
from odradek.cli.output import say

LINE_S: Final = 5.0


class ProgressLines:
    """The progress on the error output."""

    def __init__(self) -> None:
        self._is_terminal = sys.stderr.isatty()
        self._last = ""
        self._at_s: float | None = None

    def print(self, line: str) -> None:
        """Show this line instead of the last one."""
        if self._is_terminal:
            print(f"\r\x1b[K{visible(line)}", end="", file=sys.stderr, flush=True)
            self._last = line
            return
        now_s = time.monotonic()
        if line != self._last and (self._at_s is None or now_s - self._at_s >= LINE_S):
            say(line, as_error=True)
            self._last, self._at_s = line, now_s

    def end(self) -> None:
        """Nothing follows."""
        if self._is_terminal and self._last:
            print(file=sys.stderr)
