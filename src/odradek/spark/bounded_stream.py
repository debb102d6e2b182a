"""A stream whose batches are bounded, on PySpark 4.2 and later (SPARK-55304); not to be imported before.

Spark hands each batch's limit to `latestOffset`: that of the options, or none at all for Trigger.Once. With
Trigger.AvailableNow the stream ends where its topics ended when the query began.
"""

import time
from collections.abc import Callable, Mapping

from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)

from odradek.spark.first_sentence import sentence_first
from odradek.spark.stream_planning import Position, bounded_position, latest_position, offsets_between
from odradek.spark.stream_reader import OdradekStreamReader
from odradek.spark.trigger_limits import TriggerLimits


class BoundedStreamReader(OdradekStreamReader, SupportsTriggerAvailableNow):  # type: ignore[misc]
    """See the module."""

    def __init__(
        self, options: Mapping[str, str], *, monotonic_s: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(options)
        self._monotonic_s = monotonic_s
        # Where the query of Trigger.AvailableNow ends.
        self._target: Position | None = None
        self._latest: Position | None = None
        # When the last batch began; None before the first one, which waits for nothing.
        self._begun_s: float | None = None

    @sentence_first
    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """The limit of the options."""
        limits = self._options().limits
        if limits.offsets_max is not None:
            return ReadMaxRows(limits.offsets_max)
        return ReadAllAvailable() if limits.offsets_min is None else ReadMinRows(limits.offsets_min)

    @sentence_first
    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """Called when a query with Trigger.AvailableNow begins: what comes later is left to the next one."""
        self._target = latest_position(self._options())

    @sentence_first
    def latestOffset(self, start: Position, limit: ReadLimit) -> Position:  # type: ignore[override] # noqa: N802
        """How far the batch from `start` on goes; `start` while it is to wait for more."""
        options = self._options()
        latest = self._latest = latest_position(options) if self._target is None else self._target
        self._first_latest = self._first_latest or latest
        if isinstance(limit, ReadAllAvailable):
            return latest
        if self._target is None and self._waits(options.limits, start, latest):
            return start
        if isinstance(limit, ReadMaxRows):
            return bounded_position(options, start, latest, limit.max_rows)
        return latest

    def reportLatestOffset(self) -> Position | None:  # noqa: N802 - Spark's name
        """Where the topics ended when a batch was last planned; None before the first."""
        return self._latest

    def _waits(self, limits: TriggerLimits, start: Position, latest: Position) -> bool:
        if limits.offsets_min is None:
            return False
        now_s, begun_s = self._monotonic_s(), self._begun_s
        is_late = begun_s is None or now_s - begun_s >= limits.delay_max_ms / 1000
        if not is_late and offsets_between(start, latest) < limits.offsets_min:
            return True
        self._begun_s = now_s
        return False
