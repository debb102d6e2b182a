"""A program of Apache Kafka Connect as a process that a properties file describes."""

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from peers.jars import jars_of
from peers.tools import SHORT_JVM
from peers.waiting import WAIT_S_MAX

from compat.clients.java import JavaClient

POM = Path(__file__).with_name("pom.xml")
OUTPUT_SHOWN_BYTES = 4000


class JavaProcess:
    """Runs `main_class` with a properties file as its argument; killed at the end of a `with` block."""

    def __init__(self, main_class: str, name: str, properties: Mapping[str, str], directory: Path) -> None:
        """`directory` gets `name`.properties, and `name`.log with the output. Raises JarsMissing."""
        self._log = directory / f"{name}.log"
        file = directory / f"{name}.properties"
        file.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
        class_path = f"{jars_of(POM, 'connect')}/*"
        command = ["java", *SHORT_JVM, "-Dlog4j2.level=WARN", "-cp", class_path, main_class, str(file)]
        with self._log.open("wb") as output:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=directory
            )

    @staticmethod
    def missing() -> str:
        """What is missing on this machine; empty if it can run. It needs what the Java client needs."""
        return JavaClient.missing()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.kill()

    def kill(self) -> None:
        """Kill it at once (SIGKILL)."""
        self._process.kill()
        self._process.wait(WAIT_S_MAX)

    def output(self) -> str:
        """The end of its output, to be shown when a test fails."""
        return self._log.read_bytes()[-OUTPUT_SHOWN_BYTES:].decode(errors="replace")

    def check_alive(self) -> None:
        """Fail with its output if it has ended by itself."""
        assert self._process.poll() is None, f"it ended by itself: {self.output()}"
