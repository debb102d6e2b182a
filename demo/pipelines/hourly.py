"""The delays of each airport and hour: what the table has, and what a batch adds to it.

Rows and offsets of a batch become visible together. So the table that a batch sees has all flights before it
and none of its own, also when an earlier run was killed over the same batch: nothing is added twice.
"""

from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

TABLE = Path(__file__).parent / "delays"
HOUR = ["origin", "time_hour", "day", "hour"]


def add_to_table(flights: DataFrame) -> DataFrame:
    """The new row of each hour that has a flight in this batch; delays are in minutes."""
    added = flights.groupBy(*HOUR).agg(
        f.count("*").alias("flights"),
        f.count("dep_delay").alias("departed"),
        f.coalesce(f.sum("dep_delay"), f.lit(0)).alias("delay"),
        f.max("dep_delay").alias("worst"),
    )
    if not any((TABLE / "_delta_log").glob("*.json")):
        return added  # the first batch makes the table
    known = flights.sparkSession.read.format("delta").load(str(TABLE))
    replaced = known.join(added.select("origin", "time_hour"), ["origin", "time_hour"], "left_semi")
    return (
        added.unionByName(replaced)
        .groupBy(*HOUR)
        .agg(
            f.sum("flights").alias("flights"),
            f.sum("departed").alias("departed"),
            f.sum("delay").alias("delay"),
            f.max("worst").alias("worst"),
        )
    )
