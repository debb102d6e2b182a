"""Where Spark finds the source `odradek.segments`, as it finds `odradek` in `pyspark_odradek`."""

from contextlib import suppress

with suppress(ImportError):
    from odradek.spark.segment_source import SegmentsDataSource as DefaultSource

    __all__ = ["DefaultSource"]
