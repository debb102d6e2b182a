"""Tables, cells and colours."""

import itertools
import sys
from collections.abc import Iterator

import pytest

from odradek.cli.output import (
    Column,
    colour_of_lag,
    counted,
    merged,
    show,
    sized,
    spans,
    table_lines,
    timed,
    width,
    wrapped,
)


@pytest.mark.parametrize(
    ("value", "shown"), [(0, "0 B"), (999, "999 B"), (1200, "1.2 KB"), (5 * 10**9, "5.0 GB"), (None, "-")]
)
def test_sizes_have_units(value: int | None, shown: str) -> None:
    assert sized(value) == shown


def test_numbers_and_times_are_for_people() -> None:
    assert counted(498000) == "498,000"
    assert timed(1_772_366_400_123) == "2026-03-01 12:00:00.123Z"
    assert timed(-1) == timed(None) == "-"
    assert timed(1 << 62) == str(1 << 62)


def test_numbers_in_a_row_are_shown_as_spans() -> None:
    assert spans([0, 1, 2, 5, 7, 8]) == "0-2, 5, 7-8"
    assert (spans([4]), spans([]), spans(4), spans(None)) == ("4", "-", "4", "-")


def test_rows_that_differ_in_a_number_that_is_shown_are_merged() -> None:
    rows = [
        {"topic": "a", "partition": 2, "leader": 1, "epoch": 3},
        {"topic": "a", "partition": 0, "leader": 2, "epoch": 3},
        {"topic": "a", "partition": 1, "leader": 1, "epoch": 4},
        {"topic": "b", "partition": 1, "leader": 1, "epoch": 4},
    ]
    assert merged(rows, [Column("topic"), Column("partition"), Column("leader")], "partition") == [
        {"topic": "a", "leader": 1, "partition": [1, 2]},
        {"topic": "a", "leader": 2, "partition": 0},
        {"topic": "b", "leader": 1, "partition": 1},
    ]


def test_a_table_is_printed_while_its_rows_come() -> None:
    """Of an endless row of rows the first ones are shown; nothing waits for the last."""
    taken = []

    def rows() -> Iterator[dict[str, int]]:
        for value in itertools.count():
            taken.append(value)
            yield {"offset": value}

    lines = table_lines(rows(), [Column("offset", counted)])
    assert list(itertools.islice(lines, 1000))[-1].strip() == "998"
    assert len(taken) <= 1000


def test_a_column_that_is_never_filled_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    show([{"a": 1, "b": None}], [Column("a"), Column("b"), Column("c")], as_json=False, empty="")
    assert capsys.readouterr().out == "a\n1\n"


def test_colours_are_for_terminals_whose_people_want_them(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = [Column("lag", counted, colour=colour_of_lag)]
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b" not in "".join(table_lines([{"lag": 5}], columns))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert "\x1b[33m5\x1b[0m" in "".join(table_lines([{"lag": 5}], columns))
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in "".join(table_lines([{"lag": 5}], columns))


def test_text_that_is_wider_than_the_terminal_is_folded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "40")
    lines = list(table_lines([{"name": "n", "text": "word " * 30}], [Column("name"), Column("text")]))
    assert len(lines) > 3
    assert max(map(len, lines)) <= 40


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", [""]),
        ("   ", [""]),
        ("one two three", ["one two", "three"]),
        ("abcdefghijk", ["abcdefgh", "ijk"]),
        ("a abcdefghijk", ["a", "abcdefgh", "ijk"]),
        ("航空機の遅延", ["航空機の", "遅延"]),
    ],
)
def test_text_is_folded_by_the_places_that_it_takes(text: str, lines: list[str]) -> None:
    assert wrapped(text, 8) == lines
    assert all(width(line) <= 8 for line in lines)


SETTING = "transaction.abort.timed.out.transaction.cleanup.interval.ms"


@pytest.mark.parametrize(
    ("columns", "is_whole"), [(200, True), (len(SETTING) + len("  static  ") + 16, True), (60, False)]
)
def test_a_name_is_broken_only_where_it_cannot_be_whole(
    monkeypatch: pytest.MonkeyPatch, columns: int, is_whole: bool
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", str(columns))
    row = {
        "name": SETTING,
        "from": "static broker",
        "meaning": "How often open transactions are checked. " * 3,
    }
    lines = list(table_lines([row], [Column("name"), Column("from"), Column("meaning")]))
    assert max(map(len, lines)) <= columns
    assert any(SETTING in line for line in lines) == is_whole
    parts = [line.split()[0] for line in lines[1:] if not line.startswith(" ")]
    assert "".join(parts) == SETTING
    assert all(part.endswith(".") for part in parts[:-1])


def test_a_row_of_blanks_stays_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "20")
    assert len(list(table_lines([{"text": " " * 50}], [Column("text")]))) >= 2
