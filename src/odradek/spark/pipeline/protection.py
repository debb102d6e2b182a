"""TLS and SASL in the description of a pipeline: `[source.kafka]` and `[sink.kafka]`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from odradek.base.errors import SettingError
from odradek.client.protection import read_protection
from odradek.spark.pipeline.toml_table import named_values


def protection_of(file: Path, table: str, given: Mapping[str, Any]) -> dict[str, str]:
    """What `[<table>.kafka]` says, by Kafka's names. Raises SettingError.

    `{ env = "NAME" }` stands for the value of a variable, so that no secret need be in the file.
    """
    found = {}
    for name, value in named_values(f"{file}: {table}.kafka", given):
        if not isinstance(value, str):
            raise SettingError(f"{file}: {table}.kafka.{name} must be text")
        if name.endswith(".location"):
            value = str((file.parent / value).absolute())  # tasks run in other directories
        found[name] = value
    try:
        read_protection(found)
    except SettingError as error:
        raise SettingError(f"{file}: {table}.kafka: {error}") from None
    return found
