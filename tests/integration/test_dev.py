"""`./dev` on machines that lack something: it says what, in a sentence."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent

# A Python whose Debian package for environments is not installed.
WITHOUT_VENV = f"""#!/bin/sh
case "$*" in *ensurepip*) exit 1 ;; esac
exec {sys.executable} "$@"
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with `dev` and a PATH of its own that has neither apt-get nor uv nor any Python."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("sh", "dirname", "id", "cksum", "tr", "sed", "env"):
        (tools / name).symlink_to(str(shutil.which(name)))
    shutil.copy(ROOT / "dev", tmp_path / "dev")
    shutil.copy(ROOT / "pyproject.toml", tmp_path / "pyproject.toml")
    return tmp_path


def dev(checkout: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(checkout / "dev"), *arguments],
        capture_output=True,
        text=True,
        env={"PATH": str(checkout / "bin"), **environment},
        timeout=60,
    )


def test_a_debian_without_the_venv_package_is_told_its_name(checkout: Path) -> None:
    python = checkout / "python-without-venv"
    python.write_text(WITHOUT_VENV)
    python.chmod(0o755)
    done = dev(checkout, "test", ODRADEK_PYTHON=str(python))
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert done.returncode == 2
    assert f"install the package python{version}-venv" in done.stderr
    assert not (checkout / ".venv").exists()


def test_a_machine_without_a_python_is_told_which_it_needs(checkout: Path) -> None:
    done = dev(checkout, "test")
    assert done.returncode == 2
    assert "no Python from 3.11 to 3.13 found" in done.stderr


def test_without_a_command_it_lists_them(checkout: Path) -> None:
    done = dev(checkout)
    for command in ("demo", "test", "lint", "compat", "bench", "docs"):
        assert f"./dev {command}" in done.stdout
