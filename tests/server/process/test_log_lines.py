import io
import json
import logging
from collections.abc import Iterator

import pytest

from odradek.base.errors import SettingError
from odradek.server.process.log_lines import (
    LogOptions,
    VisibleFormatter,
    json_formatter,
    log_to,
    read_level,
)


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


@pytest.fixture
def json_written() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(json_formatter())
    log = logging.getLogger("odradek.test")
    log.addHandler(handler)
    log.propagate = False
    yield stream
    log.removeHandler(handler)
    log.propagate = True


def test_a_line_of_json_has_the_event_and_what_it_names(json_written: io.StringIO) -> None:
    fields = {"address": "10.0.0.5:4000", "client_id": "me\n\x1b[2J\x7f"}
    logging.getLogger("odradek.test").warning("closing the connection of %s", "10.0.0.5", extra=fields)
    (line,) = json_written.getvalue().splitlines()
    found = json.loads(line)
    assert found.pop("timestamp").endswith("Z")
    assert found == {
        "event": "closing the connection of 10.0.0.5",
        "level": "warning",
        "logger": "odradek.test",
        **fields,
    }
    assert line.isascii()
    assert line.isprintable()


def test_a_trace_stands_in_its_event_s_line(json_written: io.StringIO) -> None:
    try:
        raise ValueError("bad group a\nb")
    except ValueError:
        logging.getLogger("odradek.test").exception("JoinGroup failed")
    (line,) = json_written.getvalue().splitlines()
    assert json.loads(line)["exception"].endswith("ValueError: bad group a\nb")


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("debug", ("odradek", logging.DEBUG)),
        ("WARNING", ("odradek", logging.WARNING)),
        ("odradek.server.edge=error", ("odradek.server.edge", logging.ERROR)),
        ("root=info", ("root", logging.INFO)),
    ],
)
def test_a_level_is_of_all_that_is_ours_or_of_one_logger(text: str, level: tuple[str, int]) -> None:
    assert read_level(text) == level


@pytest.mark.parametrize("text", ["loud", "", "=debug", "odradek=", "odradek=loud", "10"])
def test_what_is_no_level_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="one of debug, info, "):
        read_level(text)


def test_a_level_for_a_logger_of_ours_that_there_is_not_is_refused() -> None:
    for name in ("odradek.no_such", "odradek.server.edge.no_such", "odradek..edge"):
        with pytest.raises(SettingError, match="there is no logger"):
            log_to(io.StringIO(), LogOptions(levels=((name, logging.DEBUG),)))


def line_of(formatter: logging.Formatter) -> str:
    record = logging.LogRecord("odradek.test", logging.INFO, "", 0, "topics created: %s", ("a",), None)
    record.broker = 3
    return formatter.format(record)


@pytest.mark.parametrize("process", ["broker 12", "supervisor"])
def test_of_several_processes_each_is_named_in_a_column(process: str) -> None:
    line = line_of(VisibleFormatter(process))
    assert line[24:] == f"{process:<10} INFO odradek.test: topics created: a"
    assert line_of(VisibleFormatter())[24:] == "INFO odradek.test: topics created: a"


def test_of_several_processes_each_is_named_in_a_field() -> None:
    found = json.loads(line_of(json_formatter("broker 2")))
    assert (found["process"], found["broker"]) == ("broker 2", 3), "whose line it is, and what it is about"
    assert "process" not in json.loads(line_of(json_formatter()))
