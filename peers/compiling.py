"""Compiles Java sources once for each state of the sources and class path, into the user's cache."""

import hashlib
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from peers.cache import adding, cache_directory

COMPILE_TIMEOUT_S = 120


def compiled(name: str, sources: Sequence[Path], class_path: str) -> Path:
    """The directory of the classes. Raises subprocess.CalledProcessError after javac printed why."""
    state = b"".join(source.read_bytes() for source in sources) + class_path.encode()
    classes = cache_directory() / f"{name}-{hashlib.sha256(state).hexdigest()[:12]}"
    with adding(classes) as is_missing:
        if is_missing:
            _compile(sources, class_path, classes)
    return classes


def _compile(sources: Sequence[Path], class_path: str, classes: Path) -> None:
    # Compiled aside and renamed, so that an interrupted run never looks like a whole one.
    with tempfile.TemporaryDirectory(dir=classes.parent) as scratch:
        whole = Path(scratch, "whole")
        command = ["javac", "-cp", class_path, "-d", str(whole), *map(str, sources)]
        subprocess.run(command, check=True, timeout=COMPILE_TIMEOUT_S)
        whole.rename(classes)
