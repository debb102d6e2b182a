"""WordCount.java as a process that may be killed at any moment and started again.

Its arguments: bootstrap, application id, topic of lines, topic of counts, state directory, and for each
count a pause in ms, which makes a small input last long enough to be caught in the middle. A pause for each
line would not: all that waits when the first commit comes late is counted in one transaction.
"""

import contextlib
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

from peers.compiling import compiled
from peers.jars import class_path, jars_of

from compat.clients.java import JavaClient

SOURCES = [Path(__file__).with_name("WordCount.java")]
POM = Path(__file__).with_name("pom.xml")
CLOSE_TIMEOUT_S = 20.0
OUTPUT_SHOWN_BYTES = 4000
FLAGS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx512M", "-Dlog4j2.level=WARN")


class WordCount:
    """The Streams application, one life after the other. `directory` holds its state and what it prints."""

    def __init__(self, bootstrap: str, application: str, lines: str, counts: str, directory: Path) -> None:
        self._arguments = [bootstrap, application, lines, counts]
        self._directory = directory
        self._process: subprocess.Popen[bytes] | None = None

    @classmethod
    def missing(cls) -> str:
        """What is missing on this machine; empty when it can run. It needs what the Java client needs."""
        return JavaClient.missing()

    def start(self, pause_ms: int = 0) -> None:
        """Begin a life. Raises JarsMissing."""
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
        """Within, the process does not go on (SIGSTOP), so what the broker has of it stays as it is seen."""
        process = self._living()
        process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            process.send_signal(signal.SIGCONT)  # no more than a wish for one that was killed

    def kill(self) -> None:
        """End it at once (SIGKILL), frozen or not; when it does not live, nothing happens."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def close(self) -> None:
        """End it in its own way (SIGTERM)."""
        process = self._living()
        process.terminate()
        process.wait(CLOSE_TIMEOUT_S)
        self._process = None

    def wipe(self) -> None:
        """Take its state directory away, as on another machine."""
        assert self._process is None, "it still lives"
        shutil.rmtree(self._state)

    def output(self) -> str:
        """The end of what it printed in all its lives, to be shown when a test fails."""
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
