"""The extras `cli` and `admin`: the commands, and the admin listener."""

import subprocess
import sys
import urllib.request
from pathlib import Path

from odradek.testing import Broker

ODRADEK = Path(sys.executable).parent / "odradek"


def _odradek(*arguments: str) -> str:
    return subprocess.run([ODRADEK, *arguments], capture_output=True, text=True, check=True).stdout


def test_commands_speak_with_a_broker(odradek_broker: Broker) -> None:
    server = ("--bootstrap-server", odradek_broker.bootstrap_servers)
    _odradek("topics", "create", "payments", "--partitions", "3", *server)
    assert "payments" in _odradek("topics", "list", *server)


def test_every_command_has_help() -> None:
    for command in ("serve", "topics", "groups", "configs", "produce", "consume", "describe", "log"):
        assert "Usage" in _odradek(command, "--help") or "usage" in _odradek(command, "--help")


def test_the_admin_listener_answers(tmp_path: Path) -> None:
    command = [ODRADEK, "serve", "--port", "0", "--admin-port", "0", "--data-dir", tmp_path]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as broker:
        assert broker.stdout is not None
        address = broker.stdout.readline().rpartition("admin on ")[2].strip()
        with urllib.request.urlopen(f"http://{address}/metrics") as answer:
            assert b"odradek_" in answer.read()
        broker.terminate()
        assert broker.wait(60) == 0
