"""The environments in which the wheel is tried: their other packages, and the tests that must pass there."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

TRIED = Path(__file__).parent / "tried"
ROOT = Path(__file__).parents[2]
PYPROJECT = ROOT / "pyproject.toml"
INSTALL_TIMEOUT_S = 600
TRY_TIMEOUT_S = 600


class EnvironmentFailed(Exception):
    """A command failed; the message is the command and the end of what it printed."""


@dataclass(frozen=True, slots=True)
class Environment:
    """Packages beside the wheel, and the pytest files of `folder` that are run away from the checkout."""

    name: str
    extras: str
    beside: tuple[str, ...]
    tried: tuple[str, ...]
    lowest: bool = False
    """Every dependency at the lowest version of its range; only the oldest Python has wheels of all."""
    folder: Path = TRIED

    def tried_on(self, version: str, *, oldest: str) -> bool:
        """Whether it is tried on a version of Python."""
        return version == oldest or not self.lowest

    def check(self, python: Path, wheel: Path, directory: Path) -> str:
        """Install everything and run the files; returns pytest's last line. Raises EnvironmentFailed."""
        self.install(python, wheel, directory)
        return self.run(directory, *self.tried)

    def install(self, python: Path, wheel: Path, directory: Path) -> None:
        """Make the environment, with one call for everything in it. Raises EnvironmentFailed."""
        _run([python, "-m", "venv", directory], INSTALL_TIMEOUT_S)
        inside = directory / "bin" / "python"
        pip = (inside, "-m", "pip", "--disable-pip-version-check")
        lowest = lowest_versions(self.extras) if self.lowest else []
        _run(
            [
                *pip,
                "install",
                "--quiet",
                "--no-compile",  # few of the files are ever imported, and those are compiled then
                "--only-binary=:all:",
                f"{wheel}{self.extras}",
                *self.beside,
                *lowest,
            ],
            INSTALL_TIMEOUT_S,
        )
        _run([*pip, "check"], INSTALL_TIMEOUT_S)

    def run(self, directory: Path, *names: str) -> str:
        """Run some of the files where it is installed; returns pytest's last line.

        Raises EnvironmentFailed.
        """
        project = directory / "project"
        project.mkdir(exist_ok=True)
        # pytest's root is here, and not where it finds the settings of some other project above.
        (project / "pytest.ini").write_text("[pytest]\n")
        for name in names:
            shutil.copy(self.folder / name, project)
        pytest = (directory / "bin" / "python", "-m", "pytest", "-q", "--strict-markers")
        return _run([*pytest, *names], TRY_TIMEOUT_S, project).strip().splitlines()[-1]


def build_wheel(directory: Path) -> Path:
    """The wheel of this checkout. Raises EnvironmentFailed."""
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
    _run([*pip, "wheel", "--quiet", "--no-deps", "-w", directory, ROOT], INSTALL_TIMEOUT_S)
    (wheel,) = directory.glob("odradek-*.whl")
    return wheel


def lowest_versions(extras: str) -> list[str]:
    """Each dependency of the package and of its extras (`[admin,spark]`) at the lowest of its range."""
    project = tomllib.loads(PYPROJECT.read_text())["project"]
    lines = list(project["dependencies"])
    for extra in re.findall(r"[a-z]+", extras):
        lines += project["optional-dependencies"][extra]
    found = [re.match(r"([A-Za-z0-9_.-]+)>=([0-9.]+)", line) for line in lines]
    assert all(found), f"a dependency without a lower bound among {lines}"
    return [f"{each[1]}=={each[2]}" for each in found if each]


def _run(command: Sequence[str | Path], timeout_s: float, directory: Path | None = None) -> str:
    # Nothing of this checkout or of its environment, so that the wheel itself is tested.
    clean = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))
    }
    try:
        done = subprocess.run(
            command, cwd=directory, env=clean, capture_output=True, text=True, timeout=timeout_s, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise EnvironmentFailed(f"not over after {timeout_s} s: {_shown(command)}") from error
    if done.returncode:
        raise EnvironmentFailed(f"{_shown(command)}\n{(done.stdout + done.stderr)[-6000:]}")
    return done.stdout


def _shown(command: Sequence[str | Path]) -> str:
    return " ".join(str(part) for part in command)


ENVIRONMENTS = (
    Environment(
        "base",
        extras="",
        beside=("pytest", "pytest-xdist", "kafka-python"),
        tried=("test_base_install.py", "test_fixture.py", "test_same_history.py"),
    ),
    Environment(
        "web application",
        extras="[admin]",
        beside=("pytest", "kafka-python", "fastapi==0.115.*", "httpx", "typer==0.15.4"),
        tried=("test_fixture.py", "test_extras_install.py", "test_fastapi.py"),
    ),
    Environment(
        "lowest versions",
        extras="[admin]",
        beside=("pytest==7.4.0", "kafka-python"),
        tried=("test_fixture.py", "test_extras_install.py"),
        lowest=True,
    ),
)
