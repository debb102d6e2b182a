"""The extra `admin`: the admin listener."""

import subprocess
import sys
import urllib.request
from pathlib import Path

ODRADEK = Path(sys.executable).parent / "odradek"


def test_the_admin_listener_answers(tmp_path: Path) -> None:
    command = [ODRADEK, "serve", "--port", "0", "--admin-port", "0", "--data-dir", tmp_path]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as broker:
        assert broker.stdout is not None
        address = broker.stdout.readline().rpartition("admin on ")[2].strip()
        with urllib.request.urlopen(f"http://{address}/metrics") as answer:
            assert b"odradek_" in answer.read()
        broker.terminate()
        assert broker.wait(60) == 0
