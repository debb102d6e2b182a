"""The folder of the demo's pipelines, and how far each table is, asked of the tables themselves."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow.parquet as pq

from demo.flights import JOINED, read_joined
from odradek.spark.pipeline.description import Description, read_description
from odradek.spark.pipeline.formats import table_of

PIPELINES: Final = Path(__file__).parent / "pipelines"
TABLES: Final = ("raw", "flights", "delays")
WITHOUT_DELTA: Final = ("raw", "flights")
"""What can be had without the jars of Delta: rows of Parquet files cannot be replaced."""
_DELTA: Final = 'format = "delta"'


@dataclass(frozen=True, slots=True)
class Reached:
    """How far a table is."""

    batch: int = 0
    """The last batch that it has; 0 for none."""
    records: int = 0
    """The records of the topic that are in it."""
    is_writing: bool = False
    """Whether rows of the next batch are on disk, and not part of the table yet."""


def prepare(folder: Path, *, has_delta: bool) -> list[Description]:
    """Copy the pipelines into the folder, with the tables to join; the descriptions, in their order.

    Without Delta there is no table of delays, and the one of flights is made of Parquet files.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name in JOINED:
        pq.write_table(read_joined(name), folder / f"{name}.parquet")
    shutil.copy(PIPELINES / "hourly.py", folder)
    descriptions = []
    for name in TABLES if has_delta else WITHOUT_DELTA:
        text = (PIPELINES / f"{name}.toml").read_text()
        file = folder / f"{name}.toml"
        file.write_text(text if has_delta else text.replace(_DELTA, 'format = "parquet"'))
        descriptions.append(read_description(file))
    return descriptions


def reached(description: Description) -> Reached:
    """How far the table is now. Raises TableRefused for one that is not the pipeline's."""
    table = table_of(description)
    last = table.last()
    is_writing = any(any(one.glob("*.parquet")) for one in table.ledger.staged())
    if last is None:
        return Reached(is_writing=is_writing)
    return Reached(last.batch, last.records_total, is_writing)
