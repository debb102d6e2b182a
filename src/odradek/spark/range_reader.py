"""Reads one offset range from its leader as Arrow record batches.

It sends the next fetch before it decodes an answer.
"""

import time
from collections.abc import Iterator
from typing import Any

from odradek.base.error_codes import ErrorCode, known_code
from odradek.base.errors import ApiError, OdradekError
from odradek.base.offset_timestamps import EARLIEST
from odradek.client.choices import ISOLATION_LEVELS
from odradek.client.cluster import fetch_leaders, list_offsets_of_leader
from odradek.net.blocking_connection import BrokerConnection
from odradek.net.request_pipeline import ConnectionFailed
from odradek.records.columnar.record_sets import RecordSet, record_batches
from odradek.records.isolation import AbortedTransactions
from odradek.spark.offset_ranges import OffsetRange
from odradek.spark.source_options import ReadOptions
from odradek.wire.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)

FETCH_VERSION_MAX = 11
# A range's first answer; each following one may be twice as large, up to `fetch_bytes_max`. Reads of a few
# rows (`show`, `limit`) end after the first answers.
FIRST_FETCH_BYTES = 256 << 10
# The pauses behind consecutive failures, as while a leader is elected or its broker restarts; one more, and
# the task fails. A local Spark does not try it again.
PAUSES_S = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0)
# How many consecutive answers may be empty, for each of which the broker has waited.
EMPTY_MAX = 5


class DataLost(OdradekError):
    """Records that a range covers are no longer there."""


def read_range(wanted: OffsetRange, options: ReadOptions) -> Iterator[Any]:
    """Yield the rows of `wanted` as pyarrow record batches in the schema of the source.

    Raises OdradekError when the range cannot be read, DataLost when part of it is gone unless allowed.
    """
    position = wanted.start
    aborted = AbortedTransactions()
    failures, pause_s = 0, 0.0
    while position < wanted.end:
        connection: BrokerConnection | None = None
        try:
            connection = _connect_to_leader(wanted, options)
            for next_position, rows in _fetch_all(connection, wanted, position, aborted, options):
                failures = 0
                position = next_position
                if rows is not None:
                    yield rows
        except (ConnectionFailed, _Retry) as failure:
            is_empty = isinstance(failure, _Empty)
            if failures >= (EMPTY_MAX - 1 if is_empty else len(PAUSES_S)):
                raise OdradekError(
                    f"cannot read {wanted.topic_partition} at {position}: {failure}"
                ) from failure
            pause_s = 0.0 if is_empty else PAUSES_S[failures]
            failures += 1
        finally:
            if connection is not None:
                connection.close()
        if failures:
            time.sleep(pause_s)


class _Retry(OdradekError):
    """The leader moved or is not ready: look it up again."""


class _Empty(_Retry):
    """An answer without records."""


def _connect_to_leader(wanted: OffsetRange, options: ReadOptions) -> BrokerConnection:
    with options.connect_any() as connection:
        leaders = fetch_leaders(connection, [wanted.topic_partition.topic])
    address = leaders.addresses.get(wanted.topic_partition)
    if address is None:
        raise _Retry(f"{wanted.topic_partition} has no leader")
    return options.connect(address)


def _fetch_all(
    connection: BrokerConnection,
    wanted: OffsetRange,
    position: int,
    aborted: AbortedTransactions,
    options: ReadOptions,
) -> Iterator[tuple[int, Any]]:
    version = connection.version_of(FetchRequest, FETCH_VERSION_MAX)
    bytes_max = min(FIRST_FETCH_BYTES, options.fetch_bytes_max)
    connection.send(_request(wanted, position, bytes_max, options), version)
    while position < wanted.end:
        answer = _answer(connection.receive(FetchResponse), wanted)
        if answer is None:
            position = _after_loss(connection, wanted, position, options)
            yield position, None
            connection.send(_request(wanted, position, bytes_max, options), version)
            continue
        if options.isolation == "read_committed":
            aborted.learn(answer.aborted_transactions or [])
        records = RecordSet(
            wanted.topic_partition,
            answer.records or b"",
            position,
            wanted.end,
            aborted if options.isolation == "read_committed" else None,
        )
        if not len(records.headers):
            raise _Empty(
                f"nothing came although the range goes on; the high watermark is {answer.high_watermark}"
            )
        following = records.next_offset
        bytes_max = min(2 * bytes_max, options.fetch_bytes_max)
        if following < wanted.end:
            connection.send(_request(wanted, following, bytes_max, options), version)
        yield from ((position, rows) for rows in record_batches([records], with_headers=options.with_headers))
        position = following
        yield position, None


def _after_loss(
    connection: BrokerConnection, wanted: OffsetRange, position: int, options: ReadOptions
) -> int:
    """Returns the start of a log that no longer has `position`; raises DataLost unless loss is allowed."""
    partition = wanted.topic_partition
    start = list_offsets_of_leader(connection, EARLIEST, [partition], options.isolation)[partition]
    if start <= position:
        raise DataLost(f"{partition} ends before offset {position}: it is not the log that was planned for")
    if options.fail_on_data_loss:
        lost = f"{partition} no longer has offset {position}; it starts at {start}"
        raise DataLost(f"{lost} (failOnDataLoss=false goes on from there)")
    return start


def _request(wanted: OffsetRange, position: int, bytes_max: int, options: ReadOptions) -> FetchRequest:
    topic, number = wanted.topic_partition
    partition = FetchPartition(partition=number, fetch_offset=position, partition_max_bytes=bytes_max)
    return FetchRequest(
        max_wait_ms=options.fetch_wait_max_ms,
        min_bytes=1,
        max_bytes=bytes_max,
        isolation_level=ISOLATION_LEVELS[options.isolation],
        session_id=0,
        session_epoch=-1,
        topics=[FetchTopic(topic=topic, partitions=[partition])],
    )


def _answer(response: FetchResponse, wanted: OffsetRange) -> PartitionData | None:
    """The partition's part of an answer, None when the offset is out of range."""
    topic, number = wanted.topic_partition
    parts = [part for one in response.responses if one.topic == topic for part in one.partitions]
    found = next((part for part in parts if part.partition_index == number), None)
    if found is None:
        raise _Retry("the answer does not hold the partition that was asked for")
    code = known_code(found.error_code)
    if code is ErrorCode.OFFSET_OUT_OF_RANGE:
        return None
    if code.is_retriable:
        raise _Retry(code.name)
    if code is not ErrorCode.NONE:
        raise ApiError(code, f"cannot fetch {wanted.topic_partition}: {code.name}")
    return found
