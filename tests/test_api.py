"""The public interface is what docs/api.md says."""

import re
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import pytest

import odradek

PAGE = Path(__file__).parent.parent / "docs" / "api.md"
ROWS = {
    module: re.findall(r"`([\w.]+)`", names)
    for module, names in re.findall(r"^\| `([\w.]+)` \| (.+) \|$", PAGE.read_text(), re.MULTILINE)
}


@pytest.mark.parametrize("module", ROWS)
def test_every_public_name_can_be_imported_and_says_what_it_is(module: str) -> None:
    found = import_module(module)
    for name in ROWS[module]:
        assert name == "__version__" or (getattr(found, name).__doc__ or "").strip(), name


@pytest.mark.parametrize("module", ROWS)
def test_a_module_exports_what_the_page_names(module: str) -> None:
    assert sorted(getattr(import_module(module), "__all__", [])) == sorted(ROWS[module])


def test_the_version_is_the_distributions() -> None:
    assert odradek.__version__ == version("odradek")


def test_the_package_carries_its_types() -> None:
    assert Path(odradek.__file__).with_name("py.typed").exists()
