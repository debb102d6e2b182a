"""The targets of a page's links on the site, and the repository path of each page and file.

The pages are read in the repository too, so their links are relative paths in it. On the site `docs` is the
root, the pages of the repository's root (README, CONTRIBUTING, ...) are beside those of `docs`, and any
other file that a page links to is copied to `files/` under its path:

    docs/testing.md        ../compat/styles/test_faust.py    ->  files/compat/styles/test_faust.py
    CHANGELOG.md           docs/metrics.md                   ->  metrics.md
    docs/decisions/0001-…  ../architecture.md                ->  ../architecture.md
"""

import posixpath
import re
from collections.abc import Iterator
from typing import Final

ROOT_PAGES: Final = {
    "README.md": "index.md",
    "CHANGELOG.md": "CHANGELOG.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "SECURITY.md": "SECURITY.md",
}
"""Pages at the root of the repository, and what they are called on the site."""

DOCS: Final = "docs/"
FILES: Final = "files/"

# A link to a path, without its anchor: not to a scheme, not to an anchor alone.
_LINK: Final = re.compile(r"(?<=\]\()(?![a-z]+:)([^)#\s]+)")
_SITE_NAMES: Final = {site: repository for repository, site in ROOT_PAGES.items()}


def repository_path(site_path: str) -> str:
    """The path in the repository of a page of the site."""
    return _SITE_NAMES.get(site_path, DOCS + site_path)


def site_path(repository_path: str) -> str:
    """The path on the site of a file of the repository."""
    if repository_path in ROOT_PAGES:
        return ROOT_PAGES[repository_path]
    if repository_path.startswith(DOCS):
        return repository_path.removeprefix(DOCS)
    return FILES + repository_path


def linked_paths(text: str, page: str) -> Iterator[str]:
    """The paths in the repository that the page of that path links to."""
    for link in _LINK.finditer(text):
        yield posixpath.normpath(posixpath.join(posixpath.dirname(page), link[1]))


def with_site_links(text: str, page: str) -> str:
    """The text of the page with the repository path `page`, as it stands on the site."""
    folder = posixpath.dirname(site_path(page))
    paths = linked_paths(text, page)
    return _LINK.sub(lambda _: posixpath.relpath(site_path(next(paths)), folder or "."), text)
