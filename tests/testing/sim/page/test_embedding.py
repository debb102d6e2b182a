"""JSON inside HTML: whatever it holds, it stays data."""

import json
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.testing.sim.page.embedding import embedded_json

HOSTILE = [
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "]]>",
    "&lt;/script&gt;",
    "\u2028 \u2029 \x00 \x1b \x7f",
    "\ud800",
    "'\"\\`${}",
]


class Scripts(HTMLParser):
    """The text of each script element."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self._is_inside = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._is_inside = tag == "script"
        if self._is_inside:
            self.found.append("")

    def handle_endtag(self, tag: str) -> None:
        self._is_inside = False

    def handle_data(self, data: str) -> None:
        if self._is_inside:
            self.found[-1] += data


def check(value: object) -> None:
    text = embedded_json(value)
    assert text.isascii()
    assert text.isprintable()
    assert not set(text) & set("<>&")
    assert json.loads(text) == value
    assert Scripts(f"<p><script>{text}</script><p>").found == [text]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_stays_data(text: str) -> None:
    check({text: [text]})


@given(st.recursive(st.text() | st.integers() | st.none(), lambda held: st.dictionaries(st.text(), held)))
def test_any_text_stays_data(value: object) -> None:
    check(value)
