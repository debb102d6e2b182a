"""The script `dev`, with an environment whose Python only notes what it was asked."""

import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_compiled_modules_are_kept_also_where_the_caller_wants_none_beside_sources(tmp_path: Path) -> None:
    shutil.copy(ROOT / "dev", tmp_path)
    for name in ("pyproject.toml", "constraints.txt"):
        (tmp_path / name).touch()
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    for program in (programs / "python", programs / "uv"):
        program.write_text('#!/bin/sh\necho "${PYTHONDONTWRITEBYTECODE-unset} $PYTHONPYCACHEPREFIX"\n')
        program.chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPYCACHEPREFIX"}
    environment |= {"PYTHONDONTWRITEBYTECODE": "1", "ODRADEK_PYTHON": "/usr/bin/env"}
    environment["PATH"] = f"{programs}{os.pathsep}{environment['PATH']}"
    command = ["sh", str(tmp_path / "dev"), "fuzz"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == f"unset {tmp_path / '.venv' / 'pycache'}", done.stderr


def test_what_was_installed_with_more_is_not_installed_again(tmp_path: Path) -> None:
    for name in ("dev", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    asked = tmp_path / "asked"
    for program in (programs / "python", programs / "uv"):
        program.write_text(f'#!/bin/sh\necho "$*" >>"{asked}"\n')
        program.chmod(0o755)
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    for command in ("test", "fuzz", "crash", "run"):
        arguments = ["true"] if command == "run" else []
        environment = {**os.environ, "PATH": path, "ODRADEK_PYTHON": "/usr/bin/env"}
        done = subprocess.run(
            ["sh", str(tmp_path / "dev"), command, *arguments],
            env=environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
    lines = asked.read_text().splitlines()
    assert ["pip install" in line for line in lines] == [True, False, False, False], lines
