"""A history as one web page that needs nothing but itself: no network, no other file.

    write_page(recorder, "seed-17.html", title="seed 17", outcome="no acknowledged record is lost")

- `page`: the page's HTML around its parts.
- `document`: a history as the JSON that the page's scripts read.
- `embedding`: puts JSON into HTML so that nothing in it can end the script element.
- `model.js`, `lanes.js`, `events.js`, `page.js`, `page.css`: what the reader sees.

Invariant: the same history gives the same bytes, in every process.
"""

from odradek.testing.sim.page.page import render_page, write_page

__all__ = ["render_page", "write_page"]
