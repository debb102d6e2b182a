import io
import logging
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import pytest

from odradek.server.process.log_lines import LogOptions, log_to
from odradek.server.process.log_pipe import PipeHandler, open_unblocked

PIPE_BYTES = 1 << 16


class Pipe:
    """A pipe whose other end the test reads."""

    def __init__(self) -> None:
        self.read_end, write_end = os.pipe()
        self.stream: TextIO = os.fdopen(write_end, "w")
        descriptor = open_unblocked(self.stream)
        assert descriptor is not None
        self.handler = PipeHandler(descriptor, room_wait_ms=0)
        self.handler.setFormatter(logging.Formatter("%(levelname)s %(message)s"))

    def log(self, message: str) -> None:
        self.handler.emit(logging.LogRecord("odradek.test", logging.INFO, "", 0, message, (), None))

    def read(self) -> list[str]:
        """What is in it: it is never more than a pipe holds."""
        return os.read(self.read_end, 2 * PIPE_BYTES).decode().split("\n")

    def close(self) -> None:
        self.handler.close()
        self.handler.close()  # once is enough
        self.stream.close()
        os.close(self.read_end)


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    found = Pipe()
    yield found
    found.close()


def test_a_line_is_written_at_once(pipe: Pipe) -> None:
    pipe.log("one")
    pipe.log("zwö\udce4")
    assert pipe.read() == ["INFO one", "INFO zwö\\udce4", ""]
    assert os.get_blocking(pipe.stream.fileno()), "other processes share the stream as it was"


def test_what_has_no_room_is_left_out_and_counted(pipe: Pipe) -> None:
    for number in range(PIPE_BYTES // 1_000 + 10):
        pipe.log(f"{number} {'x' * 1_000}")
    before = pipe.read()
    pipe.log("read again")
    pipe.log("and again")
    whole = before[:-1]
    assert [line.split()[1] for line in whole] == [str(number) for number in range(len(whole))]
    left_out = PIPE_BYTES // 1_000 + 10 - len(whole)
    assert left_out >= 10
    assert pipe.read() == [
        f"WARNING {left_out} lines are left out: nobody read this output",
        "INFO read again",
        "INFO and again",
        "",
    ]


def test_a_count_that_has_no_room_is_written_later(pipe: Pipe) -> None:
    pipe.log("x" * (PIPE_BYTES - len("INFO \n")))
    pipe.log("left out")
    pipe.log("left out, too")
    assert len(pipe.read()) == 2
    pipe.log("x" * PIPE_BYTES)  # the count fits, the line does not
    first, cut, *more = pipe.read()
    assert (first, cut[:10], more) == (
        "WARNING 2 lines are left out: nobody read this output",
        "INFO xxxxx",
        [],
    )
    pipe.log("whole")
    assert pipe.read() == ["", "WARNING 3 lines are left out: nobody read this output", "INFO whole", ""]


def test_a_reader_that_has_gone_is_an_error_of_logging(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    failed: list[logging.LogRecord] = []
    monkeypatch.setattr(pipe.handler, "handleError", failed.append)
    other, pipe.read_end = pipe.read_end, os.open(os.devnull, os.O_RDONLY)
    os.close(other)
    pipe.log("one")
    assert [record.getMessage() for record in failed] == ["one"]


def test_only_pipes_and_terminals_are_opened_again(tmp_path: Path) -> None:
    assert open_unblocked(io.StringIO()) is None
    with (tmp_path / "log").open("w") as file:
        assert open_unblocked(file) is None
    main, other = pty.openpty()
    with os.fdopen(other, "w") as terminal:
        descriptor = open_unblocked(terminal)
        assert descriptor is not None
        assert not os.get_blocking(descriptor)
        os.close(descriptor)
    os.close(main)


@pytest.mark.slow
def test_a_process_whose_log_nobody_reads_goes_on() -> None:
    """It logs ten times what the pipe holds, and ends."""
    program = f"""
import logging, sys
from {log_to.__module__} import {LogOptions.__name__}, {log_to.__name__}
log_to(sys.stderr, LogOptions())
for number in range(6_600):
    logging.getLogger("odradek.test").info("%d %s", number, "x" * 60)
"""
    with subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE) as child:
        assert child.wait(60) == 0
        assert child.stderr is not None
        first, *_ = child.stderr.read().decode().splitlines()
    assert first.endswith(f"INFO odradek.test: 0 {'x' * 60}")
