"""What a batch's decoded records are counted by, in one pass over them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as f

from odradek.spark.pipeline.fields import Fields, joined_type
from odradek.spark.pipeline.keys import IGNORE


@dataclass(frozen=True, slots=True)
class BatchCounts:
    """The records of a batch, by what becomes of them."""

    records: int
    dead: int
    ignored: int
    new_fields: Fields
    """Fields that records have and the table lacks, each with the type that holds all its values."""


def count_columns() -> list[Column]:
    """The aggregates of decoded records of which `counts_of` makes the counts."""
    return [
        f.count(f.lit(1)).alias("records"),
        f.count("_error").alias("dead"),
        f.count_if(f.col("_change") == IGNORE).alias("ignored"),
        # As text, since an observation gives no lists.
        f.to_json(f.collect_set("_new_fields")).alias("new_fields"),
    ]


def counts_of(found: Mapping[str, Any]) -> BatchCounts:
    """The counts from the values of `count_columns`, by their names."""
    fields = _merged(json.loads(found["new_fields"]))
    return BatchCounts(int(found["records"]), int(found["dead"]), int(found["ignored"]), fields)


def _merged(texts: list[str]) -> Fields:
    """New fields of all records, each with the type that holds all its values."""
    found: Fields = {}
    for text in sorted(texts):
        for name, kind in json.loads(text).items():
            found[name] = joined_type(found.get(name, kind), kind)
    return found
