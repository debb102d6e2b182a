"""Programs that scenarios start as processes of their own, each a client as its users write it.

A Java program is compiled once for each state of its source and of the client's version.
"""

import hashlib
import subprocess
import sys
from pathlib import Path

from benchmarks.peer.jars import cache_directory, class_path

HERE = Path(__file__).parent
COMPILE_TIMEOUT_S = 120
# What kafka-clients needs to run, in place of the broker's hundred jars: a JVM opens all that it is given.
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
    """The command that runs a Java program of this folder, compiled if it has to be. Raises JarsMissing.

    The JVM is as it comes, without any flags.
    """
    source = HERE / f"{name}.java"
    jars = Path(class_path()).parent
    client = [str(found) for pattern in CLIENT_JARS for found in sorted(jars.glob(pattern))]
    digest = hashlib.sha256(source.read_bytes() + class_path().encode()).hexdigest()[:12]
    classes = cache_directory() / f"bench-{name}-{digest}"
    if not classes.is_dir():
        command = ["javac", "-cp", ":".join(client), "-d", str(classes), str(source)]
        subprocess.run(command, check=True, timeout=COMPILE_TIMEOUT_S)
    return ["java", "-cp", ":".join([str(classes), *client]), name, *arguments]
