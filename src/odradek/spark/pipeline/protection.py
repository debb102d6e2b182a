"""TLS and SASL in the description of a pipeline: `[source.kafka]` and `[sink.kafka]`."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from odradek.base.errors import SettingError
from odradek.client.protection import read_protection

_FROM_VARIABLE: Final = ".env"


def protection_of(file: Path, table: str, given: Mapping[str, Any]) -> dict[str, str]:
    """What `[<table>.kafka]` says, by Kafka's names. Raises SettingError.

    `{ env = "NAME" }` stands for the value of a variable, so that no secret need be in the file.
    """
    found = {}
    for name, value in _dotted("", given):
        where = f"{file}: {table}.kafka.{name}"
        if not isinstance(value, str):
            raise SettingError(f"{where} must be text")
        if name.endswith(_FROM_VARIABLE):
            name = name.removesuffix(_FROM_VARIABLE)
            if value not in os.environ:
                raise SettingError(f"{where}: there is no variable {value} in the environment")
            value = os.environ[value]
        if name.endswith(".location"):
            value = str(file.parent / value)
        found[name] = value
    try:
        read_protection(found)
    except SettingError as error:
        raise SettingError(f"{file}: {table}.kafka: {error}") from None
    return found


def _dotted(path: str, table: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The values of a table and those in it: in TOML `sasl.mechanism = "PLAIN"` makes a table of its own."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _dotted(f"{path}{key}.", value)
        else:
            yield f"{path}{key}", value
