"""Apache Kafka's own Java client, in the version of `benchmarks/peer/pom.xml`."""

import shutil
from pathlib import Path
from typing import ClassVar

from benchmarks.peer.compiling import compiled
from benchmarks.peer.jars import class_path

from compat.clients.program import ProgramClient

SOURCES = sorted(Path(__file__).parent.glob("*.java"))


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
        classes = compiled("compat-java", SOURCES, class_path())
        flags = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx512M"]
        return ["java", *flags, "-cp", f"{classes}:{class_path()}", "CompatClient", self.bootstrap]
