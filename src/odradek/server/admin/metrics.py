"""What Prometheus reads of a broker: plain counters that the parts keep anyway, put into its words on demand.

Invariant: nothing on the way of a client's request knows of Prometheus; text is made when /metrics is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from odradek import __version__
from odradek.server.admin.view import BrokerView
from odradek.server.edge.latencies import BOUNDS_MS, PHASES
from odradek.wire.apis import APIS

# The fields of a `TopicMeter`, with what each counts.
_TOPIC_COUNTS: Final = {
    "produce_requests": "Appends asked for, one per partition of a request",
    "fetch_requests": "Reads asked for, one per partition of a request",
    "failed_produce_requests": "Appends that failed unexpectedly",
    "failed_fetch_requests": "Reads that failed unexpectedly",
    "bytes_in": "Bytes appended",
    "bytes_out": "Bytes given to consumers",
    "replication_bytes_out": "Bytes given to followers",
    "messages_in": "Records appended",
}


_PHASES: Final = {
    "total": ("odradek_request_seconds", "From when a request could be served until it was answered"),
    "queue": ("odradek_request_queue_seconds", "Of that: until its turn came"),
    "remote": ("odradek_request_remote_seconds", "Of that: from the end of its first turn until its answer"),
}
"""Metric and meaning of each of `latencies.PHASES`."""
GROUP_LAGS_MAX: Final = 1_000
"""Of more committed offsets the lag is not shown: a text of many more lines would hold the loop."""


def render_metrics(broker: BrokerView) -> str:
    """All metrics in Prometheus's text format."""
    from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest

    registry = CollectorRegistry()
    registry.register(_Collector(broker))
    ProcessCollector(registry=registry)  # CPU, memory, open files, start; on Linux
    return generate_latest(registry).decode()


class _Collector:
    """A collector for `prometheus_client`."""

    def __init__(self, broker: BrokerView) -> None:
        self._broker = broker

    def collect(self) -> Iterator[Any]:
        """The metric families of one moment."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily

        core, table = self._broker.node.core, self._broker.connections
        requests = CounterMetricFamily("odradek_requests", "Requests handled", labels=["api"])
        for api_key, count in sorted(core.request_counts.items()):
            requests.add_metric([APIS[api_key].name], count)
        yield requests
        yield from self._latencies()
        _, bytes_in, bytes_out = table.totals()
        yield CounterMetricFamily("odradek_received_bytes", "Bytes received from clients", bytes_in)
        yield CounterMetricFamily("odradek_sent_bytes", "Bytes sent to clients", bytes_out)
        yield GaugeMetricFamily("odradek_connections", "Open connections", len(table))
        yield CounterMetricFamily("odradek_connections_opened", "Connections taken in", table.opened)
        yield CounterMetricFamily("odradek_connections_refused", "Connections over a limit", table.refused)
        yield CounterMetricFamily("odradek_connections_closed_idle", "Closed for idleness", table.closed_idle)
        yield from self._loop()
        watched = GaugeMetricFamily(
            "odradek_purgatory_size", "Entries in purgatory lists", labels=["purgatory"]
        )
        delayed = GaugeMetricFamily(
            "odradek_delayed_operations",
            "Operations waiting for an event or their deadline",
            labels=["purgatory"],
        )
        for purgatory in core.purgatories():
            watched.add_metric([purgatory.name], purgatory.watched)
            delayed.add_metric([purgatory.name], purgatory.delayed)
        yield watched
        yield delayed
        yield GaugeMetricFamily("odradek_timer_tasks", "Tasks in the timer", core.timer.size)
        yield GaugeMetricFamily(
            "odradek_partitions", "Partitions hosted here", sum(1 for _ in core.replicas.partitions())
        )
        cleaning, damaged = self._broker.node.cleaner.counts()
        yield GaugeMetricFamily("odradek_logs_cleaning", "Logs that are being compacted", cleaning)
        yield GaugeMetricFamily(
            "odradek_logs_uncleanable", "Logs that are damaged and not compacted any more", damaged
        )
        size = GaugeMetricFamily(
            "odradek_log_size_bytes", "Bytes of a partition's log", labels=["topic", "partition"]
        )
        end = GaugeMetricFamily(
            "odradek_log_end_offset", "End offset of a log", labels=["topic", "partition"]
        )
        yield from self._replication()
        for log in core.logs.logs():
            labels = [log.topic_partition.topic, str(log.topic_partition.partition)]
            size.add_metric(labels, log.size_bytes)
            end.add_metric(labels, log.end_offset)
        yield size
        yield end
        yield from self._groups()
        yield InfoMetricFamily("odradek_build", "What runs here", {"version": __version__})

    def _latencies(self) -> Iterator[Any]:
        """How long requests took; see `edge.latencies`."""
        from prometheus_client.core import HistogramMetricFamily

        by_api = sorted(self._broker.node.requests.latencies.items())
        bounds = [*(repr(bound / 1000) for bound in BOUNDS_MS), "+Inf"]
        for phase in PHASES:
            name, meaning = _PHASES[phase]
            family = HistogramMetricFamily(name, meaning, labels=["api"])
            for api_key, latencies in by_api:
                counts, sum_s = latencies.phase(phase)
                family.add_metric([APIS[api_key].name], list(zip(bounds, counts, strict=True)), sum_s)
            yield family

    def _groups(self) -> Iterator[Any]:
        """How far the groups coordinated here are behind, in partitions that are led here."""
        from prometheus_client.core import GaugeMetricFamily

        core = self._broker.node.core
        lag = GaugeMetricFamily(
            "odradek_group_lag",
            "Records between a group's committed offset and the high watermark",
            labels=["group", "topic", "partition"],
        )
        left_out = 0
        for number, (group, named, offset) in enumerate(core.groups.committed()):
            partition = core.replicas.partition(named)
            if partition is None:
                continue
            if number >= GROUP_LAGS_MAX:
                left_out += 1
                continue
            behind = max(0, partition.log.high_watermark.offset - offset)
            lag.add_metric([group, named.topic, str(named.partition)], behind)
        yield lag
        yield GaugeMetricFamily(
            "odradek_group_lags_left_out", f"Lags beyond the first {GROUP_LAGS_MAX}, not shown", left_out
        )

    def _loop(self) -> Iterator[Any]:
        """What holds the event loop, or waits for it."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        core = self._broker.node.core
        stalls = self._broker.stalls
        yield GaugeMetricFamily(
            "odradek_loop_stall_ms_max",
            "How long one piece of work held the event loop at most, in ms, since the start",
            stalls.longest_ns / 1_000_000,
        )
        yield CounterMetricFamily(
            "odradek_loop_stalls", "Times the event loop was held for 100 ms or longer", stalls.count
        )
        yield GaugeMetricFamily(
            "odradek_steps_waiting", "Work in steps that has begun and is not done", core.slices.waiting
        )
        yield GaugeMetricFamily(
            "odradek_record_work_waiting",
            "Checks of records and lookups by time that have a next step or wait for a thread",
            core.record_work.waiting,
        )
        spin = self._broker.spin
        yield CounterMetricFamily(
            "odradek_loop_spin_seconds",
            "Time for which the event loop polled after requests instead of sleeping",
            spin.polled_ns / 1e9 if spin else 0.0,
        )
        yield CounterMetricFamily(
            "odradek_loop_spin_requests", "Requests that came meanwhile", spin.requests_met if spin else 0
        )

    def _replication(self) -> Iterator[Any]:
        """R8: per topic; totals are sums, which the reader makes of them."""
        from prometheus_client.core import CounterMetricFamily

        meters = self._broker.node.core.replicas.meters
        for name, meaning in _TOPIC_COUNTS.items():
            family = CounterMetricFamily(f"odradek_topic_{name}", meaning, labels=["topic"])
            for topic, meter in meters.topics():
                family.add_metric([topic], getattr(meter, name))
            yield family
        expired = CounterMetricFamily(
            "odradek_produce_expirations",
            "Acks that did not come in time (P4)",
            labels=["topic", "partition"],
        )
        for (topic, partition), count in meters.produce_expirations.items():
            expired.add_metric([topic, str(partition)], count)
        yield expired
        for kind, count in (
            ("consumer", meters.consumer_fetch_expirations),
            ("follower", meters.follower_fetch_expirations),
        ):
            meaning = f"Fetches of a {kind} answered at their deadline"
            yield CounterMetricFamily(f"odradek_{kind}_fetch_expirations", meaning, count)
        yield CounterMetricFamily("odradek_isr_shrinks", "Replicas taken out of ISRs", meters.isr_shrinks)
        yield CounterMetricFamily("odradek_isr_expansions", "Replicas let into ISRs", meters.isr_expansions)
