"""What all commands share: the options for where and how, and how rows are shown to people and to scripts."""

import sys
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import typer
from rich.console import Console
from rich.table import Table

from odradek.base.visible import visible, visible_json

Bootstrap = Annotated[
    str,
    typer.Option(
        "--bootstrap-server",
        "-b",
        envvar="ODRADEK_BOOTSTRAP_SERVERS",
        help="host:port of a broker, or several",
    ),
]
BOOTSTRAP = "127.0.0.1:9092"
PIPED_WIDTH = 400
AsJson = Annotated[bool, typer.Option("--json", help="one JSON document, for scripts")]


def say(sentence: str, *, as_error: bool = False) -> None:
    """Print one line for a person; whatever names stand in it cannot steer the terminal."""
    print(visible(sentence), file=sys.stderr if as_error else sys.stdout)


def say_json(value: object, *, indent: int | None = None) -> None:
    """Print a JSON document in ASCII."""
    print(visible_json(value, indent=indent, default=str))


def show(
    rows: Sequence[Mapping[str, Any]], *, as_json: bool, empty: str, columns: Sequence[str] | None = None
) -> None:
    """Print rows as a table, or as JSON; `empty` is what a person reads when there are none.

    A table shows `columns`, or all of them; JSON always has everything.
    """
    if as_json:
        say_json(list(rows), indent=2)
        return
    if not rows:
        say(empty)
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    names = [name for name in columns or rows[0] if name in rows[0]]
    for name in names:
        value = next((row[name] for row in rows if row.get(name) is not None), None)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        justify: Literal["right", "left"] = "right" if is_number else "left"
        table.add_column(visible(name.replace("_", " ")), justify=justify, overflow="fold")
    for row in rows:
        table.add_row(*(_cell(row.get(name)) for name in names))
    # What is piped elsewhere is read by lines: there a row is one, however long. Names are clients' own: they
    # are no markup when they look like it, and `_cell` lets none of them steer the terminal.
    width = None if sys.stdout.isatty() else PIPED_WIDTH
    Console(width=width, markup=False, emoji=False).print(table)


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(_cell(part) for part in value)
    if isinstance(value, dict):
        return ", ".join(f"{visible(str(key))}={_cell(part)}" for key, part in value.items())
    return visible(str(value))
