"""What shells offer: the words, and the scripts in the shells themselves."""

import os
import pty
import select
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek import Consumer
from odradek.cli.completion import SCRIPTS, candidates, words_of
from odradek.cli.main import run
from odradek.testing import Broker

pytestmark = pytest.mark.integration

WAIT_S = 30.0
GROUP = "the tower's readers"


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as running:
        running.create_topic("flights")
        running.create_topic("flowers")
        with Consumer("flights", bootstrap_servers=running.bootstrap_servers, group_id=GROUP) as reader:
            while not reader.assignment():
                reader.poll(0.1)
        yield running


@pytest.fixture
def environment(broker: Broker, tmp_path: Path) -> dict[str, str]:
    """Of a shell in an empty directory that has a file and a directory like a topic."""
    (tmp_path / "client.properties").touch()
    (tmp_path / "flights").mkdir()
    return {
        "HOME": str(tmp_path),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "ODRADEK_BOOTSTRAP_SERVERS": broker.bootstrap_servers,
        "TERM": "dumb",
    }


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("odradek", ["odradek"]),
        ("odradek ", ["odradek", ""]),
        ("odradek topics de", ["odradek", "topics", "de"]),
        ("odradek groups describe 'the t", ["odradek", "groups", "describe", "the t"]),
        ("odradek groups describe the\\ ", ["odradek", "groups", "describe", "the "]),
        ("odradek topics list -b=a:1 ", ["odradek", "topics", "list", "-b=a:1", ""]),
    ],
)
def test_a_line_is_cut_as_a_shell_does(line: str, words: list[str]) -> None:
    assert words_of(line) == words


def test_words_are_completed(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    def offered(*words: str) -> list[str]:
        return candidates(list(words))

    monkeypatch.setenv("ODRADEK_BOOTSTRAP_SERVERS", broker.bootstrap_servers)
    assert offered("to") == ["topics"]
    assert offered("topics", "delete-") == ["delete-records"]
    assert "--partitions" in offered("topics", "create", "--")
    assert offered("topics", "describe", "fli") == ["flights"]
    assert offered("topics", "delete", "flights", "fl") == ["flowers"]
    assert offered("cluster", "elect", "flights", "fl") == ["flowers"]
    assert offered("cluster", "describe", "--wait", "--js") == ["--json"]
    assert offered("consume", "flights", "") == []
    assert offered("consume", "flights", "--group", "") == [GROUP]
    assert offered("consume", "t", "--isolation-level", "read_c") == ["read_committed"]
    assert offered("consume", "t", "--isolation-level=read_c") == ["--isolation-level=read_committed"]
    assert offered("configs", "describe", "t") == ["topic"]
    assert offered("configs", "describe", "topic", "fl") == ["flights", "flowers"]
    assert offered("configs", "describe", "group", "the") == [GROUP]
    assert offered("configs", "describe", "broker", "") == []
    assert offered("log", "dump", "") == ["<file>"]
    assert offered("nonsense", "") == []


def test_names_are_those_of_the_cluster_that_the_line_names(
    broker: Broker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("ODRADEK_BOOTSTRAP_SERVERS", raising=False)
    address = broker.bootstrap_servers
    properties = tmp_path / "client.properties"
    properties.write_text(f"bootstrap.servers={address}\n")
    for given in (["-b", address], [f"--bootstrap-server={address}"], ["--config", str(properties)]):
        assert candidates(["topics", "describe", *given, "fli"]) == ["flights"]
    assert candidates(["topics", "describe", "-b", "127.0.0.1:1", "fli"]) == []
    assert candidates(["topics", "describe", "-b", "nonsense", "fli"]) == []


def test_settings_are_completed_with_the_sign_before_their_value() -> None:
    assert candidates(["configs", "set", "topic", "t", "retention."]) == ["retention.bytes=", "retention.ms="]
    assert candidates(["configs", "set", "topic", "t", "retention.ms=5", "retention.m"]) == ["retention.ms="]
    assert candidates(["configs", "set", "topic", "t", "retention.ms=5"]) == []
    assert candidates(["configs", "reset", "topic", "t", "retention.ms", "retention."]) == ["retention.bytes"]
    assert candidates(["configs", "set", "group", "g", "consumer.session"]) == [
        "consumer.session.timeout.ms="
    ]
    assert candidates(["topics", "create", "t", "--set", "retention.m"]) == ["retention.ms="]
    assert candidates(["topics", "create", "t", "--set=retention.m"]) == ["--set=retention.ms="]
    assert candidates(["serve", "--set", "log.retention.h"]) == ["log.retention.hours="]


def test_only_what_bash_replaces_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    for line, tail, printed in (
        ("odradek consume t --isolation-level=read_c", "read_c", "read_committed\n"),
        ("odradek consume t --isolation-level=", "", "read_uncommitted\nread_committed\n"),
        ("odradek consume t --isolation-level=", "=", "=read_uncommitted\n=read_committed\n"),
    ):
        assert run(["completion", "words", f"--line={line}", f"--tail={tail}"]) == 0
        assert capsys.readouterr().out == printed


TYPED = [
    ("odradek top", ["odradek", "topics"]),
    ("odradek topics delete-r", ["odradek", "topics", "delete-records"]),
    ("odradek topics create --part", ["odradek", "topics", "create", "--partitions"]),
    ("odradek topics describe fli", ["odradek", "topics", "describe", "flights"]),
    ("odradek topics describe -b $ODRADEK_BOOTSTRAP_SERVERS flo", ["flowers"]),
    ("odradek groups describe the", ["odradek", "groups", "describe", GROUP]),
    ("odradek configs reset topic x retention.m", ["topic", "x", "retention.ms"]),
    ("odradek configs set topic x retention.m", ["topic", "x", "retention.ms="]),
    ("odradek topics list --config cl", ["odradek", "topics", "list", "--config", "client.properties"]),
]
LOADED = {
    "bash": ["bash", "--noprofile", "--norc", "-i"],
    "zsh": ["zsh", "-f", "-i"],
}


@pytest.mark.slow
@pytest.mark.parametrize("shell", list(LOADED))
def test_a_shell_completes_what_is_typed(shell: str, environment: dict[str, str]) -> None:
    """At a terminal, with the tab key."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed (apt-get install {shell})")
    with Terminal(LOADED[shell], environment) as terminal:
        if shell == "zsh":
            terminal.type("bindkey -e; autoload -Uz compinit && compinit -D -u\n")
        terminal.type(f'eval "$(odradek completion {shell})"\n')
        for line, expected in TYPED:
            line = line.replace("$ODRADEK_BOOTSTRAP_SERVERS", environment["ODRADEK_BOOTSTRAP_SERVERS"])
            # What stands in the line after the tab is printed word by word.
            terminal.type(f"{line}\t\x01printf '<%s>' \x05; printf 'END\\n'\n")
            shown = terminal.read_until("END\r\n").replace("\r", "").rpartition("\n<")[2]
            words = f"<{shown}".removesuffix("END\n").removeprefix("<").removesuffix(">").split("><")
            assert words[-len(expected) :] == expected, line


@pytest.mark.slow
def test_fish_completes_what_is_typed(environment: dict[str, str], tmp_path: Path) -> None:
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed (apt-get install fish)")
    script = tmp_path / "odradek.fish"
    script.write_text(SCRIPTS["fish"])
    for line, expected in (*TYPED, ("odradek ver", []), ("odradek ", ["serve"])):
        line = line.replace("$ODRADEK_BOOTSTRAP_SERVERS", environment["ODRADEK_BOOTSTRAP_SERVERS"])
        ask = f"source {script}; cd {tmp_path}; complete -C {shlex.quote(line)}"
        done = subprocess.run(
            ["fish", "--no-config", "-c", ask], env=environment, capture_output=True, text=True, check=True
        )
        found = [one.partition("\t")[0] for one in done.stdout.splitlines()]
        assert expected[-1] in found if expected else not found, (line, done)


class Terminal:
    """A shell at a terminal of its own."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        self._descriptor, shells = pty.openpty()
        self._shell = subprocess.Popen(
            command,
            stdin=shells,
            stdout=shells,
            stderr=shells,
            cwd=environment["HOME"],
            env=environment,
            start_new_session=True,
        )
        os.close(shells)
        self._read = ""

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, *_: object) -> None:
        self._shell.kill()
        self._shell.wait()
        os.close(self._descriptor)

    def type(self, keys: str) -> None:
        os.write(self._descriptor, keys.encode())

    def read_until(self, ending: str) -> str:
        """What was shown up to `ending`, which is taken away with it."""
        while ending not in self._read:
            ready, _, _ = select.select([self._descriptor], [], [], WAIT_S)
            assert ready, self._read
            self._read += os.read(self._descriptor, 65536).decode(errors="replace")
        shown, _, self._read = self._read.partition(ending)
        return shown + ending
