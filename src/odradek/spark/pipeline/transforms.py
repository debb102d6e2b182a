"""The stages between decoding and the sink, `[[transform]]`: what each of them may say.

    sql, python      code of the user's, over the rows of one batch
    join             rows of one batch with a table, which each batch reads anew
    window_s         aggregates over windows of time         } keep state from batch to batch;
    deduplicate      the first row of each key               } see `stage_state`

A stage that keeps state has a watermark: the newest time that it has seen, less `watermark_s`. What is older
is late, and is counted and kept beside the rows of its batch.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from odradek.base.errors import SettingError
from odradek.spark.pipeline.toml_table import MISSING, TomlTable

TABLE_FORMATS: Final = ("parquet", "delta", "iceberg")
JOINS: Final = ("inner", "left")
_TIME: Final = "_timestamp"
# The first setting of a stage says what it is; the others are those that it may have besides.
_SETTINGS: Final = {
    "sql": (),
    "python": (),
    "join": ("format", "on", "how"),
    "window_s": ("slide_s", "time", "watermark_s", "by", "aggregates"),
    "deduplicate": ("time", "watermark_s"),
}


@dataclass(frozen=True, slots=True)
class Code:
    """An SQL query over `records`, or a function of a Python file."""

    sql: str = ""
    python_file: Path | None = None
    function: str = ""


@dataclass(frozen=True, slots=True)
class TableJoin:
    """Rows get the columns of the rows of a table that are equal in `on`."""

    table: Path
    format: str
    """One of TABLE_FORMATS."""
    on: tuple[str, ...]
    how: str
    """One of JOINS."""


@dataclass(frozen=True, slots=True)
class Windows:
    """Aggregates over windows of time, each given once, when the watermark has passed the window's end."""

    window_s: int
    slide_s: int
    """The time from the start of a window to that of the next; at most `window_s`."""
    time: str
    """The column with the time of a row."""
    watermark_s: int
    by: tuple[str, ...]
    """The columns whose values have windows of their own; empty for one window of all rows."""
    aggregates: tuple[str, ...]
    """In SQL, each with a name."""

    @property
    def text(self) -> str:
        """What the state depends on, in words."""
        by = f" by {', '.join(self.by)}" if self.by else ""
        return (
            f"windows of {self.window_s} s every {self.slide_s} s of {self.time}{by}, watermark"
            f" {self.watermark_s} s: {', '.join(self.aggregates)}"
        )


@dataclass(frozen=True, slots=True)
class Deduplication:
    """Of rows that are equal in `key` and not further apart than the watermark allows, the first one."""

    key: tuple[str, ...]
    time: str
    """The column with the time of a row."""
    watermark_s: int

    @property
    def text(self) -> str:
        """What the state depends on, in words."""
        return f"one row of each {', '.join(self.key)} by {self.time}, watermark {self.watermark_s} s"


Stateful = Windows | Deduplication
Transform = Code | TableJoin | Stateful


def has_windows(transforms: Iterable[Transform]) -> bool:
    """Whether rows are of many records, of other batches too: nothing says which."""
    return any(isinstance(one, Windows) for one in transforms)


def read_transform(one: TomlTable) -> Transform:
    """Raises SettingError for the first mistake in it."""
    kinds = [kind for kind in _SETTINGS if one.has(kind)]
    if len(kinds) != 1:
        raise SettingError(f"{one.file}: each [[transform]] has one of {', '.join(_SETTINGS)}")
    (kind,) = kinds
    for key in dict.fromkeys(key for others in _SETTINGS.values() for key in others):
        if one.has(key) and key not in _SETTINGS[kind]:
            raise SettingError(f"{one.file}: transform.{key} has no effect beside {kind}")
    one.refuse_the_rest()
    return _READERS[kind](one)


def _sql(one: TomlTable) -> Transform:
    return Code(sql=one.text("sql", MISSING))


def _python(one: TomlTable) -> Transform:
    python = one.text("python", MISSING)
    path, colon, function = python.rpartition(":")
    if not colon or not path.endswith(".py") or not function.isidentifier():
        raise one.wrong("python", 'a file and a function, as in "clean.py:clean"')
    return Code(python_file=one.file.parent / path, function=function)


def _join(one: TomlTable) -> Transform:
    return TableJoin(
        table=one.file.parent / one.text("join", MISSING),
        format=one.choice("format", TABLE_FORMATS, "parquet"),
        on=_required(one, "on"),
        how=one.choice("how", JOINS, "inner"),
    )


def _windows(one: TomlTable) -> Transform:
    window_s = one.number("window_s", 0, lowest=1)
    slide_s = one.number("slide_s", window_s, lowest=1)
    if slide_s > window_s:
        raise one.wrong("slide_s", f"at most window_s, {window_s}: rows between two windows would be lost")
    aggregates = one.texts("aggregates", MISSING)
    if any(text.rstrip().endswith(")") for text in aggregates):
        raise one.wrong("aggregates", 'a list of aggregates, each with a name, as in "count(*) as flights"')
    return Windows(
        window_s=window_s,
        slide_s=slide_s,
        time=one.text("time", _TIME),
        watermark_s=_watermark(one, lowest=0),
        by=one.columns("by"),
        aggregates=aggregates,
    )


def _deduplication(one: TomlTable) -> Transform:
    return Deduplication(
        key=_required(one, "deduplicate"), time=one.text("time", _TIME), watermark_s=_watermark(one, lowest=1)
    )


def _required(one: TomlTable, key: str) -> tuple[str, ...]:
    """Columns that must be given."""
    found = one.columns(key)
    if not found:
        raise SettingError(f"{one.file}: transform.{key} is missing")
    return found


def _watermark(one: TomlTable, *, lowest: int) -> int:
    if not one.has("watermark_s"):
        raise SettingError(
            f"{one.file}: transform.watermark_s is missing: it says how late a row may come, and for how long"
            " its state is kept"
        )
    return one.number("watermark_s", 0, lowest=lowest)


_READERS: Final = {
    "sql": _sql,
    "python": _python,
    "join": _join,
    "window_s": _windows,
    "deduplicate": _deduplication,
}
