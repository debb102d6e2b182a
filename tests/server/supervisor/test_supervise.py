"""The supervisor as a process, with small programs in the place of brokers."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from odradek.server.supervisor.cluster_states import Exited
from odradek.server.supervisor.processes import find_processes
from odradek.server.supervisor.supervise import in_words, joined_line

ROOT = Path(__file__).parents[3]
WAIT_S = 60
IDS = (1, 2, 3)


class Supervisor:
    """A supervisor of three stand-ins; its log is read line by line."""

    def __init__(self, directory: Path, count: int = 3) -> None:
        self.data = directory / "data"
        self.orders = directory / "orders"
        self.orders.mkdir(exist_ok=True)
        command = [sys.executable, "-m", "tests.server.supervisor.supervised_stand_ins"]
        self.process = subprocess.Popen(
            [*command, str(self.orders), str(self.data), str(count)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "TMPDIR": "/tmp"},
        )
        self.said: list[str] = []

    def until(self, text: str) -> str:
        """Returns the next line that has this text."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said.append(line)
            if text in line:
                return line
        raise AssertionError(f"it never said '{text}': {''.join(self.said)}")

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def crash(self) -> None:
        """Kill it, but not its brokers, which have its output, too."""
        self.process.kill()
        self.process.wait(WAIT_S)

    def end(self) -> int:
        """Returns the exit code, after its end."""
        assert self.process.stdout is not None
        self.said += self.process.stdout.readlines()
        code = self.process.wait(WAIT_S)
        sys.stderr.write("".join(self.said))  # shown if the test fails
        return code

    @property
    def sockets(self) -> Path:
        """The directory of the sockets."""
        return Path(json.loads((self.data / "cluster.json").read_text())["sockets"])

    def living(self) -> dict[int, int]:
        """The processes of the brokers that live."""
        found = find_processes(self.data, IDS, former=self.sockets if self.has_started else None)
        return {one: process.pid for one, (process, _) in found.items()}

    @property
    def has_started(self) -> bool:
        """Whether it, or one before it, has written down what the cluster is."""
        return (self.data / "cluster.json").exists()

    def order(self, name: object, text: str) -> None:
        (self.orders / str(name)).write_text(text)


Start = Callable[..., Supervisor]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start supervisors; at the end all of them are killed, and what they have started."""
    started: list[Supervisor] = []

    def make(**more: int) -> Supervisor:
        started.append(Supervisor(tmp_path, **more))
        return started[-1]

    yield make
    for one in started:
        one.process.kill()
        one.process.wait()
        assert one.process.stdout is not None
        one.process.stdout.close()
    for pid in started[-1].living().values():
        os.kill(pid, signal.SIGKILL)
    if started[-1].has_started:
        shutil.rmtree(started[-1].sockets, ignore_errors=True)


@pytest.mark.slow
@pytest.mark.integration
class TestProcess:
    """What the supervisor does with its brokers, and with the signals that it gets."""

    def test_it_serves_when_all_serve_and_stops_one_after_another_the_controller_last(
        self, start: Start
    ) -> None:
        tried = start()
        assert tried.until("listening") == (
            "odradek: listening on 127.0.0.1:9001, 127.0.0.1:9002, 127.0.0.1:9003 (3 brokers)\n"
        )
        assert sorted(tried.living()) == [1, 2, 3]
        tried.order("controller", "2")
        tried.send(signal.SIGTERM)
        assert tried.end() == 0
        assert tried.living() == {}
        assert [line for line in tried.said if line.endswith("stand-in ends\n")] == [
            "broker 1 stand-in ends\n",
            "broker 3 stand-in ends\n",
            "broker 2 stand-in ends\n",
        ]
        assert tried.said[-2:][0] == "the store has stopped\n"
        assert not tried.sockets.exists()
        assert sorted(os.listdir(tried.data)) == [".lock", "cluster.json"], (
            "no settings, which have passwords"
        )

    def test_a_broker_that_crashes_is_started_again(self, start: Start) -> None:
        tried = start()
        tried.until("started within")
        before = tried.living()
        os.kill(before[2], signal.SIGKILL)
        line = tried.until("started again")
        assert "supervisor ERROR" in line
        assert line.endswith("broker 2 has ended (SIGKILL): it is started again in 1 s\n")
        tried.until("broker 2 stand-in serves")
        after = tried.living()
        assert after[2] != before[2]
        assert {**after, 2: 0} == {**before, 2: 0}

    def test_a_start_that_fails_ends_with_the_code_of_the_broker(self, start: Start, tmp_path: Path) -> None:
        (tmp_path / "orders").mkdir()
        (tmp_path / "orders" / "2").write_text("exit 2")
        tried = start()
        assert tried.end() == 2
        assert any("cannot start: broker 2 has ended (exit code 2)" in line for line in tried.said)
        assert not any("listening" in line for line in tried.said)
        assert tried.living() == {}

    def test_a_second_signal_kills_all(self, start: Start, tmp_path: Path) -> None:
        (tmp_path / "orders").mkdir()
        for broker_id in IDS:
            (tmp_path / "orders" / str(broker_id)).write_text("deaf")
        tried = start()
        tried.until("started within")
        tried.send(signal.SIGTERM)
        tried.until("stopping: SIGTERM")
        assert len(tried.living()) == 3
        tried.send(signal.SIGINT)
        assert tried.end() == 130
        assert tried.living() == {}

    def test_a_signal_during_the_start_stops_it(self, start: Start, tmp_path: Path) -> None:
        (tmp_path / "orders").mkdir()
        (tmp_path / "orders" / "2").write_text("mute")
        tried = start()
        tried.until("broker 2 stand-in is mute")
        tried.send(signal.SIGTERM)
        assert tried.end() == 0
        assert tried.living() == {}

    def test_the_next_supervisor_goes_on_with_the_same_processes(self, start: Start) -> None:
        first = start()
        first.until("started within")
        before = first.living()
        first.crash()
        assert first.living() == before
        second = start()
        assert second.until("listening").endswith("127.0.0.1:9003 (3 brokers)\n")
        assert second.living() == before
        os.kill(before[3], signal.SIGKILL)
        assert "is not known, because an earlier supervisor" in second.until("started again")
        second.until("broker 3 stand-in serves")
        second.send(signal.SIGTERM)
        assert second.end() == 0
        assert second.living() == {}

    @pytest.mark.parametrize("removes", ["files", "directory"])
    def test_the_next_supervisor_needs_nothing_of_the_sockets(self, start: Start, removes: str) -> None:
        """Those who clean up old files in /tmp remove what is in the directory, or all of it."""
        first = start()
        first.until("started within")
        before = first.living()
        first.crash()
        sockets = first.sockets
        shutil.rmtree(sockets)
        if removes == "files":
            sockets.mkdir(mode=0o700)
        second = start()
        second.until("listening")
        assert second.living() == before
        assert second.sockets == sockets
        assert sockets.stat().st_mode & 0o777 == 0o700
        second.send(signal.SIGTERM)
        assert second.end() == 0

    def test_processes_of_a_version_with_the_files_beside_the_sockets_are_found(self, start: Start) -> None:
        first = start()
        first.until("started within")
        before = first.living()
        first.crash()
        for path in [*first.data.glob("*.process"), *first.data.glob("*.properties")]:
            path.rename(first.sockets / path.name)  # with the lock, which is the file's
        second = start()
        second.until("listening")
        assert second.living() == before
        os.kill(before[3], signal.SIGKILL)
        second.until("broker 3 stand-in serves")
        assert (second.data / "broker-3.process").exists()
        assert {**second.living(), 3: 0} == {**before, 3: 0}
        second.send(signal.SIGTERM)
        assert second.end() == 0
        assert second.living() == {}

    @pytest.mark.parametrize("adopts", [False, True])
    def test_it_stops_also_when_somebody_has_removed_the_sockets(self, start: Start, adopts: bool) -> None:
        tried = start()
        tried.until("started within")
        before = tried.living()
        if adopts:
            tried.crash()
            tried = start()
            tried.until("listening")
        sockets = tried.sockets
        shutil.rmtree(sockets)
        os.kill(before[2], signal.SIGKILL)
        tried.until("broker 2 has ended")
        assert f"somebody has removed {sockets}, which has the sockets: restart the cluster" in tried.until(
            "cannot be started"
        )
        tried.send(signal.SIGTERM)
        assert tried.end() == 0
        assert tried.living() == {}
        assert not any("Traceback" in line for line in tried.said)

    def test_a_process_that_does_not_come_back_is_replaced(self, start: Start) -> None:
        first = start()
        first.until("started within")
        before = first.living()
        first.crash()
        first.order("lost", "2")
        second = start()
        assert f"broker 2 (process {before[2]}) has not come back to the metadata store" in second.until(
            "ERROR"
        )
        second.until("listening")
        after = second.living()
        assert after[2] != before[2]
        assert {**after, 2: 0} == {**before, 2: 0}

    def test_there_is_one_supervisor(self, start: Start) -> None:
        first = start()
        first.until("started within")
        second = start()
        assert second.end() == 2
        assert second.said == [f"odradek: {first.data} is in use: another process serves it\n"]
        assert len(first.living()) == 3

    def test_ports_are_kept_and_more_brokers_get_more(self, start: Start) -> None:
        ports = []
        for count in (3, 3, 4):
            tried = start(count=count)
            tried.until("started within")
            ports.append(json.loads((tried.data / "cluster.json").read_text())["ports"])
            tried.send(signal.SIGTERM)
            assert tried.end() == 0
        assert ports[0] == ports[1]
        assert ports[2].pop("4")
        assert ports[2] == ports[0]


@pytest.mark.slow
def test_a_supervisor_loads_nothing_of_a_broker() -> None:
    found = subprocess.run(
        [
            *(sys.executable, "-c"),
            "import odradek.server.supervisor.supervise, odradek.server.supervisor.serving_store, sys;"
            "print(*sys.modules)",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = found.stdout.split()
    brokers = ("odradek.wire", "odradek.replication", "odradek.coordinator", "odradek.server.node")
    assert not [name for name in loaded if name.startswith(brokers)]
    assert not {"structlog", "uvloop", "uvicorn", "starlette", "prometheus_client"} & set(loaded)


# --- words


@pytest.mark.parametrize(
    ("exited", "words"),
    [
        (Exited(1), "exit code 1"),
        (Exited(-9), "SIGKILL"),
        (Exited(-60), "signal 60"),
        (Exited(None, "it cannot be started: no memory"), "it cannot be started: no memory"),
    ],
)
def test_how_a_process_has_ended_in_words(exited: Exited, words: str) -> None:
    assert in_words(exited) == words


def test_the_lines_of_the_brokers_become_one() -> None:
    assert (
        joined_line(["odradek: listening on 127.0.0.1:1"]) == "odradek: listening on 127.0.0.1:1 (1 broker)"
    )
    lines = [
        "odradek: listening on 0.0.0.0:1 and [::1]:5, advertised as a:1 and b:5, admin on 127.0.0.1:8",
        "odradek: listening on 0.0.0.0:2 and [::1]:6, advertised as a:2 and b:6, admin on 127.0.0.1:9",
    ]
    assert joined_line(lines) == (
        "odradek: listening on 0.0.0.0:1 and [::1]:5, 0.0.0.0:2 and [::1]:6, advertised as a:1 and b:5, "
        "a:2 and b:6, admin on 127.0.0.1:8, 127.0.0.1:9 (2 brokers)"
    )
