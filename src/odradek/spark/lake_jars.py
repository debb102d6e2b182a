"""The jars of table formats: named by exact version and checksum, fetched once, before a JVM starts.

Ivy fetches them; its jar is one of Spark's own. It looks where Spark's `spark.jars.packages` looks, or in the
repository that ODRADEK_MAVEN_REPOSITORY names. A jar that is in the cache has the checksum of its name here;
one with another content never gets there. With all jars in the cache nothing is fetched.
"""

import hashlib
import os
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from odradek.base.errors import OdradekError
from odradek.base.system_errors import reason_of

FETCH_TIMEOUT_S: Final = 600
REPOSITORY_VARIABLE: Final = "ODRADEK_MAVEN_REPOSITORY"

_MODULE: Final = """\
<ivy-module version="2.0">
  <info organisation="odradek" module="jars"/>
  <dependencies>
{dependencies}
  </dependencies>
</ivy-module>
"""
_DEPENDENCY: Final = (
    '    <dependency org="{one.organisation}" name="{one.name}" rev="{one.version}"'
    ' conf="default->master" transitive="false"/>'
)
_SETTINGS: Final = """\
<ivysettings>
  <settings defaultResolver="repository"/>
  <resolvers>
    <ibiblio name="repository" m2compatible="true" root="{root}"/>
  </resolvers>
</ivysettings>
"""


class JarsMissing(OdradekError):
    """Jars could not be fetched; the message says which, and what to do."""


@dataclass(frozen=True, slots=True)
class Jar:
    """One jar, by its coordinates and content."""

    organisation: str
    name: str
    version: str
    sha256: str

    @property
    def file(self) -> str:
        """Its name in the cache."""
        return f"{self.name}-{self.version}.jar"


# For Spark 4.1. Other jars that their poms name are parts of Spark, or of use with catalogs alone.
DELTA: Final = (
    Jar(
        "io.delta",
        "delta-spark_4.1_2.13",
        "4.4.0",
        "75a9400986853c061f5109f012547de2545a5759e5e752e5ef633dabe16a4f10",
    ),
    Jar(
        "io.delta",
        "delta-storage",
        "4.4.0",
        "c46735481fa8e326b0957be02b4420cbcab4b325bb08009b7f2045a95133f1cc",
    ),
)
ICEBERG: Final = (
    Jar(
        "org.apache.iceberg",
        "iceberg-spark-runtime-4.1_2.13",
        "1.12.0",
        "3123c3798af642dd537230923548e013ef41cc28b6626e5225808cf5670a0f82",
    ),
)

Fetch = Callable[[Sequence[Jar], Path], None]
"""Puts jars into a directory, by the names of `Jar.file`. Raises JarsMissing."""


def jars_in(cache: Path, wanted: Sequence[Jar], fetch: Fetch) -> list[Path]:
    """The files of these jars, below `cache`; those that are not there are fetched. Raises JarsMissing."""
    directory = cache / "jars"
    missing = [one for one in wanted if not (directory / one.file).is_file()]
    if missing:
        try:
            directory.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=directory) as scratch:
                fetch(missing, Path(scratch))
                for one in missing:
                    _accept(Path(scratch) / one.file, one, directory)
        except OSError as error:
            reason = reason_of(error)
            raise JarsMissing(f"jars cannot be kept in {directory}: {reason}; set ODRADEK_CACHE") from None
    return [directory / one.file for one in wanted]


def _accept(fetched: Path, jar: Jar, directory: Path) -> None:
    """Move a jar into the cache, if it is the one that was meant."""
    if not fetched.is_file():
        raise JarsMissing(f"{jar.file} was not found where Spark's packages come from")
    digest = hashlib.sha256(fetched.read_bytes()).hexdigest()
    if digest != jar.sha256:
        raise JarsMissing(
            f"{jar.file} was fetched with the SHA-256 {digest}, which is not that of the release:"
            f" check {REPOSITORY_VARIABLE}, or what stands between here and the repository"
        )
    fetched.replace(directory / jar.file)


def ivy_fetch(java_home: Path) -> Fetch:
    """Fetching by the Ivy that Spark brings, run by the Java of `java_home`."""

    def fetch(jars: Sequence[Jar], directory: Path) -> None:
        module = directory / "ivy.xml"
        module.write_text(_MODULE.format(dependencies="\n".join(_DEPENDENCY.format(one=one) for one in jars)))
        command: list[str | Path] = [java_home / "bin" / "java", "-cp", _ivy_jar(), "org.apache.ivy.Main"]
        command += ["-ivy", module, "-cache", directory / "ivy"]
        command += ["-retrieve", f"{directory}/[artifact]-[revision].[ext]"]
        if repository := os.environ.get(REPOSITORY_VARIABLE):
            settings = directory / "ivysettings.xml"
            settings.write_text(_SETTINGS.format(root=repository.replace("&", "&amp;").replace('"', "")))
            command += ["-settings", settings]
        names = ", ".join(one.file for one in jars)
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=FETCH_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            raise JarsMissing(f"{names} could not be fetched within {FETCH_TIMEOUT_S} s") from None
        if done.returncode != 0:
            raise JarsMissing(
                f"{names} could not be fetched; set {REPOSITORY_VARIABLE} to a Maven repository that can"
                f" be reached from here, or put them into the directory jars of ODRADEK_CACHE"
            )

    return fetch


def _ivy_jar() -> Path:
    import pyspark

    found = sorted((Path(pyspark.__file__).parent / "jars").glob("ivy-*.jar"))
    if not found:
        raise JarsMissing("this pyspark brings no Ivy, which fetches jars: install pyspark from PyPI")
    return found[-1]
