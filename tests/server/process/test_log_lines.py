import io
import logging
from collections.abc import Iterator

import pytest

from odradek.server.process.log_lines import VisibleFormatter


@pytest.fixture
def written() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(VisibleFormatter())
    log = logging.getLogger("odradek.test")
    log.addHandler(handler)
    log.propagate = False
    yield stream
    log.removeHandler(handler)
    log.propagate = True


def test_a_client_forges_no_line_and_steers_no_terminal(written: io.StringIO) -> None:
    logging.getLogger("odradek.test").warning(
        "closing the connection of %s", "me\n2026-01-01 00:00:00,000 ERROR odradek: all is lost\x1b[2J"
    )
    (line,) = written.getvalue().splitlines()
    assert line.endswith("me\\n2026-01-01 00:00:00,000 ERROR odradek: all is lost\\x1b[2J")


def test_a_trace_keeps_its_lines_which_look_like_no_events(written: io.StringIO) -> None:
    try:
        raise ValueError("bad group a\n2026-01-01 00:00:00,000 ERROR odradek: all is lost\x9b")
    except ValueError:
        logging.getLogger("odradek.test").exception("JoinGroup v9 of %s failed", "\u202ecba")
    first, *trace = written.getvalue().splitlines()
    assert first.endswith("JoinGroup v9 of \\u202ecba failed")
    assert trace[0] == "    Traceback (most recent call last):"
    assert all(line.startswith("    ") for line in trace)
    assert "\x9b" not in written.getvalue()
