"""Rows that a task sends by itself: at least once, for a task that is tried again sends them again."""

from collections import deque
from collections.abc import Iterable

import pyarrow as pa

from odradek.client.blocking.delivery import TableDelivery
from odradek.client.blocking.producer import Producer
from odradek.spark.sink_columns import records_of
from odradek.spark.sink_options import SinkOptions


def send_rows(options: SinkOptions, rows: Iterable[pa.RecordBatch]) -> int:
    """Returns how many rows were sent when all are acknowledged. Raises OdradekError for the first fault."""
    with Producer(settings=options.settings) as producer:
        return send_tables(producer, records_of(rows, options.topic), options.topic)


def send_tables(producer: Producer, tables: Iterable[pa.RecordBatch], topic: str | None) -> int:
    """Send the rows of the tables; returns how many, when all are acknowledged. Raises ApiError.

    `topic` is None where they have a column of that name.
    """
    under_way: deque[TableDelivery] = deque()
    count = 0
    for table in tables:
        under_way.append(producer.produce_batch(table, topic=topic))
        count += table.num_rows
        while under_way and under_way[0].done():
            under_way.popleft().result()
    producer.flush()
    for delivery in under_way:
        delivery.result()
    return count
