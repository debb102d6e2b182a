"""What a command that runs as a process returns when nobody reads what it prints."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from odradek.testing import Broker

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as running:
        yield running


def into_a_closed_pipe(*arguments: str, options: tuple[str, ...] = ()) -> tuple[int, str]:
    """The exit code, and what is printed to the error output."""
    read_end, write_end = os.pipe()
    os.close(read_end)
    command = [sys.executable, *options, "-m", "odradek", *arguments]
    done = subprocess.run(command, stdout=write_end, stderr=subprocess.PIPE, text=True)
    os.close(write_end)
    return done.returncode, done.stderr


@pytest.mark.parametrize("options", [(), ("-u",)], ids=["buffered", "unbuffered"])
def test_a_verdict_does_not_depend_on_who_reads(broker: Broker, options: tuple[str, ...]) -> None:
    servers = f"{broker.bootstrap_servers},127.0.0.1:1"
    code, said = into_a_closed_pipe("cluster", "describe", "--wait", "0.1", "-b", servers, options=options)
    assert code == 1
    assert "odradek: after 0.1 s: cannot connect to 127.0.0.1:1: connection refused" in said
    assert "BrokenPipe" not in said
    one = broker.bootstrap_servers
    assert into_a_closed_pipe("cluster", "describe", "-b", one, options=options) == (0, "")


@pytest.mark.parametrize("options", [(), ("-u",)], ids=["buffered", "unbuffered"])
def test_what_is_repeated_ends_when_nobody_reads(broker: Broker, options: tuple[str, ...]) -> None:
    command = ("cluster", "describe", "--watch", "0.01", "-b", broker.bootstrap_servers)
    assert into_a_closed_pipe(*command, options=options) == (0, "")


@pytest.mark.parametrize("options", [(), ("-u",)], ids=["buffered", "unbuffered"])
def test_help_and_an_error_keep_their_codes(options: tuple[str, ...]) -> None:
    assert into_a_closed_pipe("--help", options=options) == (0, "")
    code, said = into_a_closed_pipe("topics", "list", "--nonsense", options=options)
    assert (code, said.startswith("odradek topics list has no option --nonsense")) == (2, True)
