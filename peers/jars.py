"""Apache Kafka's jars, and those of other poms, fetched once for each state of a pom into the user's cache.

Maven fetches them from the repository of its own settings, or of `ODRADEK_MAVEN_REPOSITORY`.
"""

import functools
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from peers.cache import adding, cache_directory

POM = Path(__file__).with_name("pom.xml")
FETCH_TIMEOUT_S = 600

MIRROR_SETTINGS = """\
<settings>
  <mirrors>
    <mirror><id>odradek</id><mirrorOf>*</mirrorOf><url>{url}</url></mirror>
  </mirrors>
</settings>
"""


class JarsMissing(Exception):
    """Apache Kafka could not be fetched; the message says what to install or what Maven said."""


def kafka_version() -> str:
    """The version of Apache Kafka that `pom.xml` names."""
    found = re.search(r"<kafka\.version>(.+?)</kafka\.version>", POM.read_text())
    assert found, "pom.xml names no kafka.version"
    return found.group(1)


@functools.cache
def class_path(version: str | None = None) -> str:
    """The class path of Apache Kafka's broker and tools; fetches missing jars.

    `version` is a release other than that of `pom.xml`. Raises JarsMissing.
    """
    return f"{jars_of(POM, 'kafka', version)}/*"


def jars_of(pom: Path, name: str, version: str | None = None) -> Path:
    """The directory of the jars that a pom names, with Apache Kafka in our version; fetched when not there.

    `version` is a release other than that of `pom.xml`. Raises JarsMissing.
    """
    digest = hashlib.sha256(pom.read_bytes()).hexdigest()[:12]
    jars = cache_directory() / f"{name}-{version or kafka_version()}-{digest}"
    with adding(jars) as is_missing:
        if is_missing:
            _fetch(pom, jars, version or kafka_version())
    return jars


def _fetch(pom: Path, jars: Path, version: str) -> None:
    if shutil.which("mvn") is None or shutil.which("java") is None:
        raise JarsMissing("Apache Kafka needs Maven and Java: apt-get install maven")
    # Fetched aside and renamed, so that an interrupted fetch never looks like a whole one.
    with tempfile.TemporaryDirectory(dir=jars.parent) as scratch:
        command = ["mvn", "-q", "-B", "-ntp", "-f", str(pom), "dependency:copy-dependencies"]
        command += [f"-DoutputDirectory={scratch}/jars", f"-Dkafka.version={version}"]
        mirror = os.environ.get("ODRADEK_MAVEN_REPOSITORY")
        if mirror:
            settings = Path(scratch, "settings.xml")
            settings.write_text(MIRROR_SETTINGS.format(url=mirror))
            command += ["-s", str(settings)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=FETCH_TIMEOUT_S)
        if done.returncode != 0:
            raise JarsMissing(f"Maven could not fetch {jars.name}: {(done.stdout + done.stderr)[-2000:]}")
        Path(scratch, "jars").rename(jars)
