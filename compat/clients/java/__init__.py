"""Apache Kafka's own Java client, in the version of the `pom.xml` beside this file."""

import shutil
from pathlib import Path
from typing import ClassVar

from peers.compiling import compiled
from peers.jars import jars_of

from compat.clients.program import ProgramClient

HERE = Path(__file__).parent
SOURCES = sorted(HERE.glob("*.java"))


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
        jars = f"{jars_of(HERE / 'pom.xml', 'java-client')}/*"
        classes = compiled("compat-java", SOURCES, jars)
        flags = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx512M"]
        return ["java", *flags, "-cp", f"{classes}:{jars}", "CompatClient", self.bootstrap]
