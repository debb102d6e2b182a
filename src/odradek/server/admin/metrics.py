"""The broker's metrics for Prometheus: formats the plain counters of its parts when /metrics is read.

The text is made in steps: a broker may host ten thousand partitions and coordinate as many groups, and other
requests are served between two steps. A step makes and renders one part of a metric family, of
SAMPLES_PER_STEP samples; each family of fixed size is one part.

    odradek_connections          one part
    odradek_log_size_bytes       10,000 partitions: 157 parts; HELP and TYPE come before the first

Invariant: no code that serves a client's request depends on Prometheus. Each sample has the value of the step
that made it; values may change between two steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from odradek import __version__
from odradek.base.durations import BOUNDS_MS
from odradek.base.execution import Steps
from odradek.base.visible import visible
from odradek.server.admin.metric_parts import SAMPLES_PER_STEP, Family, parts
from odradek.server.admin.replication_metrics import replication_families
from odradek.server.admin.view import BrokerView
from odradek.server.edge.latencies import PHASES
from odradek.storage import Log
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
    "send": ("odradek_request_send_seconds", "After that: until the client had taken the answer"),
}
"""The metric and its meaning for each of `latencies.PHASES`."""
GROUP_LAGS_MAX: Final = 1_000
"""Lag is shown for this many committed offsets at most: Prometheus keeps a series for each it ever saw."""
OFFSETS_PER_STEP: Final = 512
"""How many committed offsets that are not shown one step passes over."""


def metrics_in_steps(broker: BrokerView) -> Steps[str]:
    """Returns all metrics in Prometheus's text format."""
    from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest

    registry = CollectorRegistry()
    ProcessCollector(registry=registry)  # CPU, memory, open files, start; on Linux
    texts = [generate_latest(registry).decode()]
    last_name = ""
    for family in _families(broker):
        if family is not None:
            lines = generate_latest(_Only(family)).decode().splitlines(keepends=True)
            if family.name == last_name:
                lines = [line for line in lines if not line.startswith("#")]
            last_name = family.name
            texts += lines
        yield
    return "".join(texts)


class _Only:
    """A collector of one family, for `generate_latest`."""

    def __init__(self, family: Family) -> None:
        self._family = family

    def collect(self) -> Iterator[Family]:
        yield self._family


def _families(broker: BrokerView) -> Iterator[Family | None]:
    """Returns all families in parts; None where a step ends without a part."""
    from prometheus_client.core import InfoMetricFamily

    yield from _requests(broker)
    yield from _latencies(broker)
    yield from _connections(broker)
    yield from _loop(broker)
    yield from _waiting(broker)
    yield from _logs(broker)
    yield from _topics(broker)
    yield from _store(broker)
    yield from replication_families(broker.node.core)
    yield from _groups(broker)
    yield InfoMetricFamily("odradek_build", "What runs here", {"version": __version__})


def _requests(broker: BrokerView) -> Iterator[Family]:
    from prometheus_client.core import CounterMetricFamily

    requests = CounterMetricFamily("odradek_requests", "Requests handled", labels=["api"])
    for api_key, count in sorted(broker.node.core.request_counts.items()):
        requests.add_metric([APIS[api_key].name], count)
    yield requests


def _latencies(broker: BrokerView) -> Iterator[Family]:
    """How long requests took; see `edge.latencies`."""
    from prometheus_client.core import HistogramMetricFamily

    by_api = sorted(broker.node.requests.latencies.items())
    bounds = [*(repr(bound / 1000) for bound in BOUNDS_MS), "+Inf"]
    for phase in PHASES:
        name, meaning = _PHASES[phase]
        part = HistogramMetricFamily(name, meaning, labels=["api"])
        for api_key, latencies in by_api:
            if len(part.samples) >= SAMPLES_PER_STEP:
                yield part
                part = HistogramMetricFamily(name, meaning, labels=["api"])
            counts, sum_s = latencies.phase(phase)
            part.add_metric([APIS[api_key].name], list(zip(bounds, counts, strict=True)), sum_s)
        yield part


def _connections(broker: BrokerView) -> Iterator[Family]:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    table = broker.connections
    _, bytes_in, bytes_out = table.totals()
    yield CounterMetricFamily("odradek_received_bytes", "Bytes received from clients", bytes_in)
    yield CounterMetricFamily("odradek_sent_bytes", "Bytes sent to clients", bytes_out)
    yield GaugeMetricFamily("odradek_connections", "Open connections of clients", len(table))
    yield CounterMetricFamily("odradek_connections_opened", "Connections taken in", table.opened)
    yield CounterMetricFamily("odradek_connections_refused", "Connections over a limit", table.refused)
    yield CounterMetricFamily("odradek_connections_closed_idle", "Closed for idleness", table.closed_idle)


def _loop(broker: BrokerView) -> Iterator[Family]:
    """Stalls of the event loop, and what waits for it."""
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    core = broker.node.core
    stalls = broker.stalls
    yield GaugeMetricFamily(
        "odradek_loop_stall_ms_max",
        "How long one piece of work held the event loop at most, in ms, since the start",
        stalls.longest_ns / 1_000_000,
    )
    yield GaugeMetricFamily(
        "odradek_loop_starved_ms_max",
        "How long the loop's thread waited for a processor at most within one piece of work, in ms",
        stalls.starved_ns / 1_000_000,
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
    spin = broker.spin
    yield CounterMetricFamily(
        "odradek_loop_spin_seconds",
        "Time for which the event loop polled after requests instead of sleeping",
        spin.polled_ns / 1e9 if spin else 0.0,
    )
    yield CounterMetricFamily(
        "odradek_loop_spin_requests", "Requests that came meanwhile", spin.requests_met if spin else 0
    )


def _waiting(broker: BrokerView) -> Iterator[Family]:
    """Operations and tasks that wait for an event or a deadline."""
    from prometheus_client.core import GaugeMetricFamily

    core = broker.node.core
    watched = GaugeMetricFamily("odradek_purgatory_size", "Entries in purgatory lists", labels=["purgatory"])
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


def _logs(broker: BrokerView) -> Iterator[Family]:
    from prometheus_client.core import GaugeMetricFamily

    core = broker.node.core
    cleaning, damaged = broker.node.cleaner.counts()
    yield GaugeMetricFamily("odradek_logs_cleaning", "Logs that are being compacted", cleaning)
    yield GaugeMetricFamily(
        "odradek_logs_uncleanable", "Logs that are damaged and not compacted any more", damaged
    )
    logs = list(core.logs.logs())

    def labels_of(log: Log) -> list[str]:
        return [log.topic_partition.topic, str(log.topic_partition.partition)]

    yield from parts(
        lambda: GaugeMetricFamily(
            "odradek_log_size_bytes", "Bytes of a partition's log", labels=["topic", "partition"]
        ),
        ((labels_of(log), log.size_bytes) for log in logs),
    )
    yield from parts(
        lambda: GaugeMetricFamily(
            "odradek_log_end_offset", "End offset of a log", labels=["topic", "partition"]
        ),
        ((labels_of(log), log.end_offset) for log in logs),
    )


def _topics(broker: BrokerView) -> Iterator[Family]:
    """R8: per topic; readers sum the topics to get totals."""
    from prometheus_client.core import CounterMetricFamily

    meters = broker.node.core.replicas.meters
    topics = list(meters.topics())
    for field, meaning in _TOPIC_COUNTS.items():
        name = f"odradek_topic_{field}"
        yield from parts(
            lambda name=name, meaning=meaning: CounterMetricFamily(name, meaning, labels=["topic"]),  # type: ignore[misc]
            (([topic], getattr(meter, field)) for topic, meter in topics),
        )
    yield from parts(
        lambda: CounterMetricFamily(
            "odradek_produce_expirations",
            "Acks that did not come in time (P4)",
            labels=["topic", "partition"],
        ),
        (
            ([topic, str(partition)], count)
            for (topic, partition), count in list(meters.produce_expirations.items())
        ),
    )
    for kind, count in (
        ("consumer", meters.consumer_fetch_expirations),
        ("follower", meters.follower_fetch_expirations),
    ):
        meaning = f"Fetches of a {kind} answered at their deadline"
        yield CounterMetricFamily(f"odradek_{kind}_fetch_expirations", meaning, count)


def _store(broker: BrokerView) -> Iterator[Family]:
    """The session with the metadata store."""
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    session = broker.node.core.store_session
    yield GaugeMetricFamily(
        "odradek_metadata_store_connected",
        "1 while the broker has a session with its metadata store and a connection to it, else 0",
        int(session.is_connected),
    )
    yield CounterMetricFamily(
        "odradek_metadata_store_sessions_ended",
        "Sessions with the metadata store that ended before the broker closed them",
        session.ended,
    )


def _groups(broker: BrokerView) -> Iterator[Family | None]:
    """The lag of the groups coordinated here, in partitions that are led here."""
    from prometheus_client.core import GaugeMetricFamily

    core = broker.node.core

    def new_part() -> Family:
        return GaugeMetricFamily(
            "odradek_group_lag",
            "Records between a group's committed offset and the high watermark",
            labels=["group", "topic", "partition"],
        )

    part, shown, left_out = new_part(), 0, 0
    for number, (group, named, offset) in enumerate(core.groups.committed(), 1):
        if number % OFFSETS_PER_STEP == 0:
            yield None
        partition = core.replicas.partition(named)
        if partition is None:
            continue
        if shown >= GROUP_LAGS_MAX:
            left_out += 1
            continue
        if len(part.samples) >= SAMPLES_PER_STEP:
            yield part
            part = new_part()
        behind = max(0, partition.log.high_watermark.offset - offset)
        part.add_metric([visible(group), named.topic, str(named.partition)], behind)
        shown += 1
    yield part
    yield GaugeMetricFamily(
        "odradek_group_lags_left_out", f"Lags beyond the first {GROUP_LAGS_MAX}, not shown", left_out
    )
