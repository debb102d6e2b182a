"""What Spark hands to a task of a read: the range that it reads."""

from pyspark.sql.datasource import InputPartition

from odradek.spark.offset_ranges import OffsetRange


class RangePartition(InputPartition):
    """One Spark task: the range that it reads."""

    def __init__(self, wanted: OffsetRange) -> None:
        super().__init__(wanted)
        self.wanted = wanted
