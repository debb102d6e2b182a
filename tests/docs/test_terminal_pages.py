"""Pages whose commands start brokers of their own: what a reader types prints what the page says.

`odradek serve` goes on in the background until the page ends or starts another one. Ports of the page are
replaced by free ones.
"""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import pytest

from tests.docs.blocks import ROOT, Runner, blocks_run_by
from tests.docs.typed_commands import Typed, difference, matches, typed_commands

pytestmark = [pytest.mark.integration, pytest.mark.slow]

PORTS: Final = ("9092", "8080")
SERVE: Final = "odradek serve"
DESCRIBE: Final = "odradek describe"
SETTLES_S: Final = 10.0
"""How long a description is asked for again: a fetch of the command before still waits half a second."""
ERRORS: Final = "errors"
"""The file for what the broker that runs writes to its standard error output."""
BROKERS_MAX: Final = 3
"""How many brokers a page starts on ports that follow each other."""


def pages() -> dict[str, list[Typed]]:
    found: dict[str, list[Typed]] = {}
    for block in blocks_run_by(Runner.TERMINAL):
        found.setdefault(block.page, []).extend(one for one in typed_commands(block) if one.is_run)
    return found


def free_ports() -> list[str]:
    """The ports for PORTS; those behind the first one are free, too, for a cluster's other brokers."""
    while True:
        with ExitStack() as held:
            first, other = (held.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in PORTS)
            port = first.getsockname()[1]
            try:
                for following in range(port + 1, port + BROKERS_MAX):
                    held.enter_context(socket.create_server(("127.0.0.1", following)))
            except OSError:
                continue  # another process has it
            return [str(port), str(other.getsockname()[1])]


class Terminal:
    """A directory, an environment whose brokers are at `port`, and the broker that runs, if any."""

    def __init__(self, directory: Path, port: str) -> None:
        self.directory = directory
        self.port = port
        self.environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "ODRADEK_BOOTSTRAP_SERVERS": f"127.0.0.1:{port}",
            "COLUMNS": "100",
        }
        self._serving: subprocess.Popen[str] | None = None

    def type(self, typed: Typed) -> str | None:
        """Run a command; returns what it printed instead of what the page says, or None."""
        if typed.command.startswith(SERVE):
            return self._serve(typed)
        asked_until_s = time.monotonic() + (SETTLES_S if typed.command.startswith(DESCRIBE) else 0)
        while found := difference(typed, self.directory, self.environment):
            if time.monotonic() > asked_until_s:
                break
        return found

    def _serve(self, typed: Typed) -> str | None:
        self.end()
        command = typed.command if self.port in typed.command else f"{typed.command} --port {self.port}"
        with (self.directory / ERRORS).open("w") as errors_file:
            self._serving = subprocess.Popen(
                ["bash", "-c", f"exec {command}"],
                cwd=self.directory,
                env=self.environment,
                stdout=subprocess.PIPE,
                stderr=errors_file,
                text=True,
            )
        assert self._serving.stdout is not None
        line = self._serving.stdout.readline()
        if matches(line, typed.expected):
            return None
        errors = (self.directory / ERRORS).read_text()
        return f"{typed.place}: $ {typed.command}\n{line}{errors}"

    def end(self) -> None:
        """End the broker, if there is one."""
        if self._serving is not None:
            self._serving.send_signal(signal.SIGTERM)
            self._serving.communicate(timeout=60)
            assert self._serving.returncode == 0
            self._serving = None


@contextmanager
def terminal(directory: Path, port: str) -> Iterator[Terminal]:
    opened = Terminal(directory, port)
    try:
        yield opened
    finally:
        opened.end()


PAGES: Final = pages()


@pytest.mark.parametrize("page", PAGES)
def test_the_page_says_what_is_printed(page: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "deploy", tmp_path / "deploy")
    ports = dict(zip(PORTS, free_ports(), strict=True))

    def replaced(text: str) -> str:
        return re.sub(r"\b\d{4}\b", lambda number: ports.get(number[0], number[0]), text)

    with terminal(tmp_path, ports["9092"]) as opened:
        wrong = [
            opened.type(Typed(one.place, replaced(one.command), replaced(one.expected)))
            for one in PAGES[page]
        ]
    assert not any(wrong), "\n".join(["these commands print something else:", *filter(None, wrong)])
