"""Programs that scenarios start as separate processes, each a client as its users write it.

A Java program is compiled once for each state of its source and of the client's version.
"""

import sys
from pathlib import Path

from peers.compiling import compiled
from peers.jars import class_path

HERE = Path(__file__).parent
# What kafka-clients needs to run, instead of the broker's hundred jars: a JVM opens its whole class path.
CLIENT_JARS = (
    "kafka-clients-*.jar",
    "slf4j-api-*.jar",
    "lz4-java-*.jar",
    "snappy-java-*.jar",
    "zstd-jni-*.jar",
)


def python_program(name: str, *arguments: str) -> list[str]:
    """The command that runs a program of this folder with this interpreter."""
    return [sys.executable, str(HERE / f"{name}.py"), *arguments]


def java_program(name: str, *arguments: str) -> list[str]:
    """The command that runs a Java program of this folder, compiled if necessary. Raises JarsMissing.

    The JVM runs without any flags.
    """
    source = HERE / f"{name}.java"
    jars = Path(class_path()).parent
    client = [str(found) for pattern in CLIENT_JARS for found in sorted(jars.glob(pattern))]
    classes = compiled(f"bench-{name}", [source], ":".join(client))
    return ["java", "-cp", ":".join([str(classes), *client]), name, *arguments]
