"""Commands of `odradek` as a person types them, for the fixture `cli`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Cli = Callable[..., str]
"""`cli("topics", "list", code=0)`: checks the exit code; returns the output, or the error if there is one."""


def rows(cli: Cli, *arguments: str) -> list[dict[str, Any]]:
    """The rows that a command prints as JSON."""
    found: list[dict[str, Any]] = json.loads(cli(*arguments, "--json"))
    return found


def records(cli: Cli, *arguments: str) -> list[dict[str, Any]]:
    """The records that `consume` prints, by partition and offset."""
    printed = cli("consume", *arguments, "--json").splitlines()
    return sorted((json.loads(line) for line in printed), key=lambda one: (one["partition"], one["offset"]))


def send(cli: Cli, tmp_path: Path, topic: str, text: str, *options: str) -> None:
    """Produce the lines of a text."""
    file = tmp_path / "input"
    file.write_text(text)
    cli("produce", topic, "--file", str(file), *options)
