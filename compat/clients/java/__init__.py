"""Apache Kafka's own Java client, in the version of `benchmarks/peer/pom.xml`."""

import hashlib
import shutil
import subprocess
from pathlib import Path
from typing import ClassVar

from benchmarks.peer.jars import cache_directory, class_path

from compat.clients.program import ProgramClient

SOURCES = sorted(Path(__file__).parent.glob("*.java"))
COMPILE_TIMEOUT_S = 120


class JavaClient(ProgramClient):
    """KafkaProducer and KafkaConsumer of kafka-clients."""

    name: ClassVar[str] = "java"

    @classmethod
    def missing(cls) -> str:
        """It needs Maven for the jars and a compiler."""
        there = shutil.which("mvn") and shutil.which("javac")
        return (
            ""
            if there
            else "a Java compiler or Maven is missing (apt-get install maven default-jdk-headless)"
        )

    def command(self) -> list[str]:
        """Compile once for each state of the sources and class path."""
        state = b"".join(source.read_bytes() for source in SOURCES) + class_path().encode()
        digest = hashlib.sha256(state).hexdigest()[:12]
        classes = cache_directory() / f"compat-java-{digest}"
        if not classes.is_dir():
            subprocess.run(
                ["javac", "-cp", class_path(), "-d", str(classes), *map(str, SOURCES)],
                check=True,
                timeout=COMPILE_TIMEOUT_S,
            )
        flags = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx512M"]
        return ["java", *flags, "-cp", f"{classes}:{class_path()}", "CompatClient", self.bootstrap]
