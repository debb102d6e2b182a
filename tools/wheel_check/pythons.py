"""Finds the Pythons of this machine."""

import os
import shutil
import subprocess
from pathlib import Path

VERSIONS = ("3.11", "3.12", "3.13", "3.14")


def pythons_here() -> dict[str, Path]:
    """One interpreter for each version that is found: on PATH, or below pyenv's folder of versions."""
    found: dict[str, Path] = {}
    for version in VERSIONS:
        for candidate in _candidates(version):
            if _is(candidate, version):
                found[version] = candidate
                break
    return found


def _candidates(version: str) -> list[Path]:
    on_path = shutil.which(f"python{version}")
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    return [
        *sorted(pyenv.glob(f"versions/{version}.*/bin/python{version}"), reverse=True),
        *([Path(on_path)] if on_path else []),
    ]


def _is(python: Path, version: str) -> bool:
    # pyenv puts shims on PATH also for versions that are not active; those fail when they are called.
    program = "import ensurepip, sys, venv; print('%d.%d' % sys.version_info[:2])"
    told = subprocess.run([python, "-c", program], capture_output=True, text=True, check=False)
    return told.returncode == 0 and told.stdout.strip() == version
