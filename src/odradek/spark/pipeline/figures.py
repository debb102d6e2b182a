"""The figures of a run for Prometheus. What the run does is heard; the text is made when it is asked for.

The figures of the table (records, dead letters, late rows, batches, last commit) are those of its last
commit, so they go on where an earlier run ended. The lag is that of the last look at the topics; its time is
a figure, too.

Prometheus reads from a thread of its own: every value here is replaced as a whole, and never changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from odradek.base.clock import Clock
from odradek.base.errors import SettingError
from odradek.base.extras import missing_extra
from odradek.client.cluster import Offsets
from odradek.spark.offset_ranges import OffsetRange
from odradek.spark.pipeline.engine import Tell, Topics
from odradek.spark.pipeline.fields import Fields
from odradek.spark.pipeline.ledger import Commit
from odradek.spark.pipeline.planning import View, lag, partition_offsets

if TYPE_CHECKING:
    from prometheus_client.core import Metric

BATCH_BOUNDS_S: Final = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000)
_LABEL: Final = ["pipeline"]


class Figures:
    """What Prometheus reads of one run. Raises SettingError where its library is not installed."""

    def __init__(self, pipeline: str, clock: Clock) -> None:
        if find_spec("prometheus_client") is None:
            raise SettingError(missing_extra("admin", "odradek pipeline run --admin-port"))
        from prometheus_client import CollectorRegistry, Histogram

        self._pipeline = pipeline
        self._clock = clock
        # The table's last commit; None while it has none.
        self._last: Commit | None = None
        # The topics at the last look, and the time of the look in ms; None before the first.
        self._looked: tuple[View, int] | None = None
        self._registry = CollectorRegistry()
        self._batch_seconds = Histogram(
            "odradek_pipeline_batch_seconds",
            "How long batches of this run took, from their plan to their commit",
            _LABEL,
            buckets=BATCH_BOUNDS_S,
            registry=self._registry,
        ).labels(pipeline)
        self._registry.register(_Collector(self))

    def started(self, last: Commit | None) -> None:
        """Called with the last commit of the table, before the first batch."""
        self._last = last

    def committed(self, commit: Commit) -> None:
        """Called after each commit of this run."""
        self._last = commit
        self._batch_seconds.observe(commit.took_ms / 1000)

    def looked(self, view: View) -> None:
        """Called after each look at the topics."""
        self._looked = (view, self._clock.wall_ms())

    def text(self) -> str:
        """All figures in Prometheus's text format."""
        from prometheus_client import generate_latest

        return generate_latest(self._registry).decode()

    def families(self) -> Iterator[Metric]:
        """The figures but for the durations."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        def counter(name: str, meaning: str, value: float) -> Metric:
            family = CounterMetricFamily(f"odradek_pipeline_{name}", meaning, labels=_LABEL)
            family.add_metric([self._pipeline], value)
            return family

        def gauge(name: str, meaning: str, value: float) -> Metric:
            family = GaugeMetricFamily(f"odradek_pipeline_{name}", meaning, labels=_LABEL)
            family.add_metric([self._pipeline], value)
            return family

        last, looked = self._last, self._looked
        records, letters = (last.records_total, last.dead_letters_total) if last else (0, 0)
        yield counter("records", "Records of the topics that all batches have read", records)
        yield counter("batches", "Batches, replays among them", last.batch if last else 0)
        yield gauge(
            "dead_letters", "Records that are dead letters, and that no replay has taken back", letters
        )
        yield counter("late_rows", "Rows that came too late for a stage", last.late_total if last else 0)
        if last is not None:
            at = last.committed_at_ms / 1000
            yield gauge("last_commit_timestamp_seconds", "When the last batch was committed", at)
        if looked is not None:
            view, at_ms = looked
            yield gauge("last_look_timestamp_seconds", "When the topics were last asked", at_ms / 1000)
            family = GaugeMetricFamily(
                "odradek_pipeline_lag",
                "Offsets that are not committed yet, as of the last look at the topics",
                labels=[*_LABEL, "topic", "partition"],
            )
            position = partition_offsets(last.following) if last else {}
            for partition, behind in sorted(lag(position, view).items()):
                family.add_metric([self._pipeline, partition.topic, str(partition.partition)], behind)
            yield family


class _Collector:
    """What prometheus-client calls for the families of `Figures`."""

    def __init__(self, figures: Figures) -> None:
        self._figures = figures

    def collect(self) -> Iterator[Metric]:
        yield from self._figures.families()

    def describe(self) -> Sequence[Any]:
        """Nothing: the names are known to be different, and are not asked for before there are figures."""
        return ()


class MeasuredTell:
    """The port `Tell`, with figures."""

    def __init__(self, tell: Tell, figures: Figures) -> None:
        self._tell = tell
        self._figures = figures

    def committed(self, commit: Commit, records_behind: int) -> None:
        """Count the commit, and tell it."""
        self._figures.committed(commit)
        self._tell.committed(commit, records_behind)

    def warned(self, sentence: str) -> None:
        """Tell it."""
        self._tell.warned(sentence)


class MeasuredTopics:
    """The port `Topics`, with figures."""

    def __init__(self, topics: Topics, figures: Figures) -> None:
        self._topics = topics
        self._figures = figures

    def view(self) -> View:
        """The ends of all partitions now."""
        view = self._topics.view()
        self._figures.looked(view)
        return view

    def sample(self, ranges: Sequence[OffsetRange]) -> Fields:
        """The fields of the first records of these ranges."""
        return self._topics.sample(ranges)

    def commit_to_group(self, offsets: Offsets) -> None:
        """Write the offsets to the consumer group."""
        self._topics.commit_to_group(offsets)
