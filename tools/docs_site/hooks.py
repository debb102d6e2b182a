"""Functions that mkdocs calls, by their names, while it builds the site."""

from pathlib import Path
from typing import Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from tools.docs_site.breaks import with_breaks_in_tables
from tools.docs_site.links import FILES, ROOT_PAGES, linked_paths, repository_path, site_path, with_site_links

_ROOT: Final = Path(__file__).parents[2]
_OURS: Final = ("iframe-worker.js", "site.css")
"""What lies beside this file and goes to the folder `site` of the site."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages of the repository's root, our style and script, and every file that a page links to."""
    for path in ROOT_PAGES:
        files.append(_added(config, site_path(path), _ROOT / path))
    for name in _OURS:
        files.append(_added(config, f"site/{name}", Path(__file__).with_name(name)))
    linked: set[str] = set()
    for page in files.documentation_pages():
        path = repository_path(page.src_uri)
        linked.update(linked_paths((_ROOT / path).read_text(), path))
    for path in sorted(linked):
        if site_path(path).startswith(FILES) and (_ROOT / path).is_file():
            files.append(_added(config, site_path(path), _ROOT / path))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """The page with its links as they are on the site; the first page has no list of pages beside it."""
    if page.is_homepage:
        page.meta["hide"] = ["navigation"]
    return with_site_links(markdown, repository_path(page.file.src_uri))


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """The page with a place to break a line behind each part of the names in its tables."""
    return with_breaks_in_tables(html)


def _added(config: MkDocsConfig, path: str, source: Path) -> File:
    return File.generated(config, path, abs_src_path=str(source))
