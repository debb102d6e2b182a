"""WordCount.java as a process that may be killed at any moment and started again.

Its arguments: bootstrap, application id, topic of lines, topic of counts, state directory, and for each
count a pause in ms, so that a small input takes long enough to be interrupted. A pause for each line would
not do that: all lines that wait while the first commit is late are counted in one transaction.
"""

import contextlib
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

from peers.compiling import compiled
from peers.jars import class_path, jars_of
from peers.waiting import WAIT_S_MAX

from compat.clients.java import JavaClient

SOURCES = [Path(__file__).with_name("WordCount.java")]
POM = Path(__file__).with_name("pom.xml")
OUTPUT_SHOWN_BYTES = 4000
FLAGS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx512M", "-Dlog4j2.level=WARN")


class WordCount:
    """The Streams application, which may be killed and restarted. `directory` holds its state and output."""

    def __init__(self, bootstrap: str, application: str, lines: str, counts: str, directory: Path) -> None:
        self._arguments = [bootstrap, application, lines, counts]
        self._directory = directory
        self._process: subprocess.Popen[bytes] | None = None

    @classmethod
    def missing(cls) -> str:
        """What is missing on this machine; empty if it can run. It needs what the Java client needs."""
        return JavaClient.missing()

    def start(self, pause_ms: int = 0) -> None:
        """Start the process. Raises JarsMissing."""
        assert self._process is None, "it lives already"
        jars = f"{jars_of(POM, 'streams')}/*:{class_path()}"
        classes = compiled("compat-streams", SOURCES, jars)
        # RocksDB unpacks its library here, and a killed process leaves it behind.
        scratch = self._directory / "scratch"
        scratch.mkdir(parents=True, exist_ok=True)
        command = ["java", *FLAGS, f"-Djava.io.tmpdir={scratch}", "-cp", f"{classes}:{jars}", "WordCount"]
        command += [*self._arguments, str(self._state), str(pause_ms)]
        with self._output.open("ab") as output:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=self._directory
            )

    @contextlib.contextmanager
    def frozen(self) -> Iterator[None]:
        """Stop the process during the block (SIGSTOP), so that its state at the broker does not change."""
        process = self._living()
        process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            process.send_signal(signal.SIGCONT)  # a killed process does not need it

    def kill(self) -> None:
        """Kill it at once (SIGKILL), frozen or not; does nothing if it does not run."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def close(self) -> None:
        """Stop it cleanly (SIGTERM)."""
        process = self._living()
        process.terminate()
        process.wait(WAIT_S_MAX)
        self._process = None

    def wipe(self) -> None:
        """Delete its state directory, as if it started on another machine."""
        assert self._process is None, "it still lives"
        shutil.rmtree(self._state)

    def output(self) -> str:
        """The end of its output over all starts, to be shown when a test fails."""
        return self._output.read_bytes()[-OUTPUT_SHOWN_BYTES:].decode(errors="replace")

    def _living(self) -> subprocess.Popen[bytes]:
        assert self._process is not None, "not started"
        assert self._process.poll() is None, f"it ended by itself: {self.output()}"
        return self._process

    @property
    def _state(self) -> Path:
        return self._directory / "state"

    @property
    def _output(self) -> Path:
        return self._directory / "output.log"
