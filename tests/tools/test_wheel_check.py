"""The wheel is tried away from the checkout, and from every other project."""

import sys
from pathlib import Path

import pytest
from tools.wheel_check.environments import Environment

pytestmark = pytest.mark.slow

TRIED = """
from pathlib import Path


def test_the_root(pytestconfig):
    assert pytestconfig.rootpath == Path(__file__).parent
"""


def test_a_project_above_the_environment_has_no_say(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.pytest.ini_options]\naddopts = "--no-such-option"\n')
    folder = tmp_path / "tried"
    folder.mkdir()
    (folder / "test_root.py").write_text(TRIED)
    directory = tmp_path / "environment"
    (directory / "bin").mkdir(parents=True)
    python = directory / "bin" / "python"  # not installed: this one
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o700)
    environment = Environment("tried", extras="", beside=(), tried=("test_root.py",), folder=folder)
    assert environment.run(directory, *environment.tried).startswith("1 passed")
