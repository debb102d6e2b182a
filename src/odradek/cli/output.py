"""What all commands share: the options for where and how, and how rows are shown to people and to scripts."""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

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


def show(
    rows: Sequence[Mapping[str, Any]], *, as_json: bool, empty: str, columns: Sequence[str] | None = None
) -> None:
    """Print rows as a table, or as JSON; `empty` is what a person reads when there are none.

    A table shows `columns`, or all of them; JSON always has everything.
    """
    if as_json:
        print(json.dumps(list(rows), indent=2, default=str))
        return
    if not rows:
        print(empty)
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    names = [name for name in columns or rows[0] if name in rows[0]]
    for name in names:
        value = next((row[name] for row in rows if row.get(name) is not None), None)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        table.add_column(name.replace("_", " "), justify="right" if is_number else "left", overflow="fold")
    for row in rows:
        table.add_row(*(_cell(row.get(name)) for name in names))
    # What is piped elsewhere is read by lines: there a row is one, however long. Names are clients' own, and
    # say what they say, also when it looks like markup.
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
        return ", ".join(f"{key}={_cell(part)}" for key, part in value.items())
    return str(value)
