"""The HTML of the page, around the history and the page's own script and style."""

from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Final

from odradek.testing.sim.history.recorder import Recorder
from odradek.testing.sim.page.document import document_of
from odradek.testing.sim.page.embedding import embedded_json

SCRIPTS: Final = ("model.js", "lanes.js", "events.js", "page.js")
"""In the order in which they run: each uses only those before it."""
_NOTHING_FROM_OUTSIDE: Final = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


def write_page(recorder: Recorder, path: str | Path, *, title: str, outcome: str = "") -> None:
    """Write what was recorded as one page; `outcome` says in a sentence how the run ended."""
    Path(path).write_text(render_page(recorder, title=title, outcome=outcome), "utf-8")


def render_page(recorder: Recorder, *, title: str, outcome: str = "") -> str:
    """Returns the page."""
    document = document_of(recorder.history, title=title, outcome=outcome)
    head = f"""\
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{_NOTHING_FROM_OUTSIDE}">
<title>{escape(title)}</title>
<style>
{_part("page.css")}</style>"""
    scripts = "\n".join(_part(name) for name in SCRIPTS)
    return f"""\
<!DOCTYPE html>
<html lang="en">
<head>
{head}
</head>
<body>
{_part("body.html")}<script type="application/json" id="history">{embedded_json(document)}</script>
<script>
{scripts}</script>
</body>
</html>
"""


def _part(name: str) -> str:
    return files("odradek.testing.sim.page").joinpath(name).read_text("utf-8")
