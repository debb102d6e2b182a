"""How results are shown: tables and sentences to people, JSON to scripts.

The first rows set the width of a table's columns; later rows are printed as they arrive, so a table may be
larger than memory. Colours appear only in a terminal, and not where NO_COLOR is set.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from itertools import chain, islice
from typing import Any, TextIO

from odradek.base.values import value
from odradek.base.visible import visible, visible_json

ROWS_MEASURED = 200
COLUMN_WIDTH_MIN = 16
_GAP = "  "
_JOINTS = ".-_,/"
"""After these a long name is broken."""

# The streams whose readers are gone.
_UNREAD: set[TextIO] = set()

Row = Mapping[str, Any]


# --- cells


def plain(value: object) -> str:
    """Text, an id, a small number; a dash for None."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(plain, value)) or "-"
    if isinstance(value, dict):
        return ", ".join(f"{visible(str(key))}={plain(part)}" for key, part in value.items()) or "-"
    return visible(str(value))


def sentences(value: object) -> str:
    """Several sentences in one cell; a dash for none."""
    return "; ".join(map(plain, value)) or "-" if isinstance(value, list) else plain(value)


def counted(value: object) -> str:
    """A number that may be large: 498,000."""
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else plain(value)


def spans(value: object) -> str:
    """Sorted whole numbers, runs of them as first and last: 0-3, 7."""
    if not isinstance(value, list):
        return plain(value)
    runs: list[list[int]] = []
    for number in value:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs) or "-"


def sized(value: object) -> str:
    """Bytes: 1.2 MB."""
    if not isinstance(value, int) or value < 0:
        return "-"
    amount = float(value)
    for unit in ("B", "KB", "MB", "GB"):
        if amount < 1000:
            return f"{value} B" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:,.1f} TB"


def timed(value: object) -> str:
    """Milliseconds since 1970 as a time in UTC: 2026-03-01 12:00:00.000Z."""
    if not isinstance(value, int) or value < 0:
        return "-"
    second = _second(value // 1000)
    return f"{second}.{value % 1000:03d}Z" if second else str(value)


@lru_cache(1024)
def _second(seconds: int) -> str:
    """A second since 1970 as text; "" if it is out of range. Cached: many records share a second."""
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S}"
    except (ValueError, OverflowError, OSError):
        return ""


@value
class Column:
    """One column of a table."""

    name: str
    """The key of its values, and its title with blanks for underscores."""
    cell: Callable[[object], str] = plain
    title: str = ""
    always: bool = False
    """Whether it is shown even when it is empty in all rows."""
    colour: Callable[[object], str] | None = None
    """The colour of a value, one of COLOURS, or "" for none."""

    @property
    def heading(self) -> str:
        """The column's title."""
        return self.title or visible(self.name.replace("_", " "))


COLOURS = {"red": "31", "green": "32", "yellow": "33", "bold": "1", "": ""}


def colour_of_state(value: object) -> str:
    """Green for a stable state, yellow for a changing one, red for a failed one."""
    return {
        "Stable": "green",
        "Ongoing": "green",
        "CompleteCommit": "green",
        "PreparingRebalance": "yellow",
        "CompletingRebalance": "yellow",
        "Assigning": "yellow",
        "Reconciling": "yellow",
        "PrepareCommit": "yellow",
        "PrepareAbort": "yellow",
        "PrepareEpochFence": "yellow",
        "Dead": "red",
    }.get(str(value), "")


def colour_of_replica(value: object) -> str:
    """Green for a replica in sync, yellow for one that others can replace, red for the rest."""
    return {"in sync": "green", "under-replicated": "yellow", "out of sync": "yellow"}.get(str(value), "red")


def colour_of_lag(value: object) -> str:
    """Green for no lag, yellow for some."""
    return "" if not isinstance(value, int) else "yellow" if value else "green"


def colour_of_leader(value: object) -> str:
    """Red for no leader."""
    return "red" if value in (None, -1) else ""


# --- printing


def say(sentence: str, *, as_error: bool = False) -> None:
    """Print one line of text; control characters are escaped, so a name cannot control the terminal."""
    _print(visible(sentence), sys.stderr if as_error else sys.stdout)


def is_read(stream: TextIO) -> bool:
    """Whether the reader of a pipe was there when something was printed to it last."""
    return stream not in _UNREAD


def let_go(stream: TextIO) -> None:
    """The stream's reader closed the pipe, as `head` does: all that is still to be printed is dropped."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
    _UNREAD.add(stream)


def _print(line: str, stream: TextIO | None = None) -> None:
    """Print a line. A closed pipe ends no command here: what it does, and its exit code, are the same."""
    try:
        print(line, file=stream)
    except BrokenPipeError:
        let_go(stream or sys.stdout)


def say_json(value: object, *, indent: int | None = None) -> None:
    """Print a JSON document in ASCII."""
    _print(visible_json(value, indent=indent, default=str))


def show(rows: Iterable[Row], columns: Sequence[Column], *, as_json: bool, empty: str) -> None:
    """Print rows as a table, or as one JSON array with every field; without rows the text `empty`.

    A column that is empty in all of the first rows is left out.
    """
    if as_json:
        say_json(list(rows), indent=2)
        return
    is_any = False
    for line in table_lines(rows, columns):
        is_any = True
        _print(line)
        if not is_read(sys.stdout):
            return
    if not is_any:
        say(empty)


def merged(rows: Iterable[Row], columns: Sequence[Column], number: str) -> list[Row]:
    """Rows that show the same except for one whole number become one row with all the numbers, sorted.

    Only for people: each row keeps its columns alone. Show that column by `spans`.
    """
    found: dict[str, tuple[dict[str, Any], list[int]]] = {}
    for row in rows:
        others = {one.name: row.get(one.name) for one in columns if one.name != number}
        found.setdefault(repr(others), (others, []))[1].append(row[number])
    return [
        others | {number: sorted(numbers) if len(numbers) > 1 else numbers[0]}
        for others, numbers in found.values()
    ]


def show_lines(rows: Iterable[Row], columns: Sequence[Column], *, as_json: bool, empty: str) -> None:
    """As `show`, for output that may be larger than memory: JSON is one object per line."""
    if not as_json:
        show(rows, columns, as_json=False, empty=empty)
        return
    for row in rows:
        say_json(row)
        if not is_read(sys.stdout):
            return


def table_lines(rows: Iterable[Row], columns: Sequence[Column]) -> Iterator[str]:
    """Yields the lines of a table without holding all rows; no lines without rows."""
    following = iter(rows)
    first = list(islice(following, ROWS_MEASURED))
    if not first:
        return
    used = [one for one in columns if one.always or any(row.get(one.name) is not None for row in first)]
    is_right = [_is_number_column(one, first) for one in used]
    cells = [[one.cell(row.get(one.name)) for one in used] for row in first]
    widths = [
        max(width(one.heading), *(width(line[place]) for line in cells)) for place, one in enumerate(used)
    ]
    is_terminal, paints = sys.stdout.isatty(), has_colour()
    if is_terminal:  # A pipe has no width.
        words = [
            max(width(one.heading), *(width(word) for line in cells for word in line[place].split(" ")))
            for place, one in enumerate(used)
        ]
        _narrow(widths, is_right, words)
    heading = _line([one.heading for one in used], widths, is_right)
    yield f"\x1b[1m{heading}\x1b[0m" if paints else heading
    for row in chain(first, following):
        texts = [one.cell(row.get(one.name)) for one in used]
        colours = [one.colour(row.get(one.name)) if paints and one.colour else "" for one in used]
        if is_terminal:
            yield from _folded(texts, widths, is_right, colours)
        else:
            yield _line(texts, widths, is_right, colours)


def _is_number_column(column: Column, rows: Sequence[Row]) -> bool:
    value = next((row[column.name] for row in rows if row.get(column.name) is not None), None)
    return isinstance(value, int | float) and not isinstance(value, bool) and column.cell is not timed


def _narrow(widths: list[int], is_right: Sequence[bool], words: Sequence[int]) -> None:
    """Make columns of text narrower until the table fits the terminal, the widest first.

    Sentences are folded first, then all text at its blanks. Words are broken last, so that names can be
    copied; `words` are the widths of the longest ones.
    """
    import shutil

    room = shutil.get_terminal_size().columns - len(_GAP) * (len(widths) - 1)
    for floors in (
        [max(word, COLUMN_WIDTH_MIN) for word in words],
        words,
        [COLUMN_WIDTH_MIN] * len(widths),
    ):
        while sum(widths) > room:
            wide = [
                place for place, right in enumerate(is_right) if not right and widths[place] > floors[place]
            ]
            if not wide:
                break
            widest = max(wide, key=lambda place: widths[place])
            widths[widest] = max(floors[widest], widths[widest] - (sum(widths) - room))


def _folded(
    texts: Sequence[str], widths: Sequence[int], is_right: Sequence[bool], colours: Sequence[str]
) -> Iterator[str]:
    """The lines of one row; text wider than its column continues in further lines."""
    if all(width(text) <= size for text, size in zip(texts, widths, strict=True)):
        yield _line(texts, widths, is_right, colours)
        return
    folded = [
        [text] if right else wrapped(text, size)
        for text, size, right in zip(texts, widths, is_right, strict=True)
    ]
    for number in range(max(map(len, folded))):
        parts = [lines[number] if number < len(lines) else "" for lines in folded]
        yield _line(parts, widths, is_right, colours)


def _line(
    texts: Sequence[str], widths: Sequence[int], is_right: Sequence[bool], colours: Sequence[str] = ()
) -> str:
    parts = []
    for place, text in enumerate(texts):
        padding = " " * (widths[place] - width(text))
        colour = COLOURS[colours[place]] if colours[place:] else ""
        shown = f"\x1b[{colour}m{text}\x1b[0m" if colour else text
        parts.append(padding + shown if is_right[place] else shown + padding)
    return _GAP.join(parts).rstrip()


def wrapped(text: str, size: int) -> list[str]:
    """Wrap a text into lines of at most `size` columns, at blanks where possible; at least one line."""
    lines, line = [], ""
    for word in text.split(" "):
        joined = f"{line} {word}" if line else word
        if width(joined) <= size:
            line = joined
            continue
        if line:
            lines.append(line)
        line = word
        while width(line) > size:
            cut = _fitting(line, size)
            cut = max(line.rfind(mark, cut // 2, cut) for mark in _JOINTS) + 1 or cut
            lines.append(line[:cut])
            line = line[cut:]
    return [*lines, line] if line or not lines else lines


def _fitting(text: str, size: int) -> int:
    """How many characters fit into `size` columns; at least one."""
    if text.isascii():
        return size
    places = 0
    for count, character in enumerate(text):
        places += width(character)
        if places > size:
            return max(1, count)
    return len(text)


def width(text: str) -> int:
    """The number of terminal columns that a text takes."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(one) else 2 if east_asian_width(one) in "WF" else 1 for one in text)


def has_colour() -> bool:
    """Whether standard output is a terminal with colours and NO_COLOR is not set."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
