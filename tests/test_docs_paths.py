"""The map shows what stands: every path that docs/architecture.md names is there."""

import re
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parent.parent
PAGE: Final = (ROOT / "docs" / "architecture.md").read_text()
SOURCE: Final = ROOT / "src" / "odradek"
BASES: Final = (ROOT, SOURCE, SOURCE / "server", SOURCE / "coordinator", SOURCE / "client")
"""Where a path of the page may begin: it names the rooms within these three by themselves."""

# In backticks and with a slash, up to the first blank; one that begins with a slash is a URL's.
PATHS: Final = sorted(set(re.findall(r"`([\w.*][\w.*-]*/[^`\s]*)[^`\n]*`", PAGE)))


def is_there(path: str) -> bool:
    """Whether there are such files, or a module that has the name behind the dot."""
    for base in BASES:
        if any(base.glob(path)) or (base / f"{path}.py").is_file():
            return True
        module, _, name = path.rpartition(".")
        file = base / f"{module}.py"
        if module and file.is_file():
            return re.search(rf"\b(class|def) {re.escape(name)}\b", file.read_text()) is not None
    return False


def test_the_page_names_paths() -> None:
    assert len(PATHS) > 100


@pytest.mark.parametrize("path", PATHS)
def test_what_the_map_names_is_there(path: str) -> None:
    assert is_there(path)


@pytest.mark.parametrize(
    "path", ["replication/ports", "storage/log.NoSuchName", "server/node/gone.Node", "wire/*.none"]
)
def test_what_is_gone_is_found(path: str) -> None:
    assert not is_there(path)
