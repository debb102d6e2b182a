"""Where Spark finds the source `odradek`: it imports modules named `pyspark_*`, for their `DefaultSource`.

An exception from here would keep Spark from finding any data source written in Python, so that without the
packages of the extra `spark` this module has no `DefaultSource`.
"""

from contextlib import suppress

with suppress(ImportError):
    from odradek.spark.source import OdradekDataSource as DefaultSource

    __all__ = ["DefaultSource"]
