"""The site is built without a warning, holds every page, and asks nothing of another host."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mkdocs")

ROOT = Path(__file__).parents[3]

# What a browser fetches by itself, and not only when the reader follows a link.
FETCHED = re.compile(
    r"""<(?:script|img|iframe|source)\b[^>]*\bsrc="([^"]+)|<link\b[^>]*\bhref="([^"]+)|url\(["']?([^)"']+)"""
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.slow
def test_every_page_is_on_the_site(site: Path) -> None:
    pages = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}
    for page in {*pages, "index.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"}:
        assert (site / page).with_suffix(".html").is_file(), page


@pytest.mark.slow
def test_the_files_that_pages_link_to_are_copied(site: Path) -> None:
    assert (site / "files/deploy/odradek.service").read_bytes() == (
        ROOT / "deploy/odradek.service"
    ).read_bytes()


@pytest.mark.slow
def test_a_reader_without_a_network_sees_it_whole(site: Path) -> None:
    found = [
        f"{page.relative_to(site)}: {address}"
        for page in [*site.rglob("*.html"), *site.rglob("*.css")]
        for addresses in FETCHED.findall(page.read_text())
        for address in addresses
        if re.match(r"(https?:)?//", address)
    ]
    assert found == []
