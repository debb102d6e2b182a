import re
from html.parser import HTMLParser

from odradek.server.admin.index_page import FAULTS, OFFERS, index_page


class Read(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str | None] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name == "href"]


def read(*, takes_faults: bool = False, cluster_id: str = "abc") -> tuple[Read, str]:
    page = index_page(1, cluster_id, is_ready=True, takes_faults=takes_faults)
    found = Read()
    found.feed(page)
    return found, page


def test_it_links_to_all_that_is_offered_and_runs_nothing() -> None:
    found, page = read()
    assert found.links == [path for path, _ in OFFERS]
    assert "script" not in found.tags
    assert not re.search(r"\son[a-z]+=", page)


def test_faults_are_offered_where_they_are_taken() -> None:
    found, _ = read(takes_faults=True)
    assert found.links[-1] == FAULTS[0]


def test_what_stands_in_files_is_escaped() -> None:
    _, page = read(cluster_id="<b>")
    assert "<b>" not in page
    assert "&lt;b&gt;" in page


def test_it_says_whether_clients_are_served() -> None:
    assert "It serves clients." in index_page(1, "c", is_ready=True, takes_faults=False)
    assert "It does not serve clients now." in index_page(1, "c", is_ready=False, takes_faults=False)
