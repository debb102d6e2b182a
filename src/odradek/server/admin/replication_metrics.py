"""Metrics of replication: what this broker leads, what it follows, and what it decides as the controller.

Invariant: all that grows with the partitions is counted in steps. The numbers of the cluster are those of the
controller: every other broker shows 0, so that a sum over the brokers is the cluster's number.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from odradek.base.durations import BOUNDS_MS
from odradek.metadata.controller.cluster_counts import ClusterCounts, count_cluster
from odradek.replication.fetcher import FetcherManager, State
from odradek.replication.partition_counts import count_partitions
from odradek.server.admin.metric_parts import SAMPLES_PER_STEP, Family, parts
from odradek.server.node.core import BrokerCore

PARTITIONS_PER_STEP: Final = 512
"""How many followed partitions one step passes over."""

_LED_COUNTS: Final = {
    "hosted": ("odradek_partitions", "Partitions hosted here"),
    "led": ("odradek_partitions_led", "Partitions led here"),
    "under_replicated": (
        "odradek_under_replicated_partitions",
        "Partitions led here of which not all replicas are in sync",
    ),
    "under_min_isr": (
        "odradek_under_min_isr_partitions",
        "Partitions led here with fewer replicas in sync than min.insync.replicas: acks=all is refused",
    ),
    "at_min_isr": (
        "odradek_at_min_isr_partitions",
        "Partitions led here whose ISR is just large enough for acks=all",
    ),
}
"""The fields of a `PartitionCounts`, with the metric and its meaning."""

_CONTROLLER_COUNTS: Final = {
    "topics": "Topics of the cluster",
    "partitions": "Partitions of the cluster",
    "offline_partitions": "Partitions of the cluster without a live leader",
    "not_preferred_leaders": "Partitions of the cluster that another broker leads than the first replica",
}
"""The fields of a `ClusterCounts`, with what each counts."""

_STATES: Final = {
    State.TRUNCATING: "truncating",
    State.FETCHING: "fetching",
    State.LOCATING: "locating",
    State.SETTLING: "settling",
    State.THROTTLED: "throttled",
    State.DELAYED: "delayed",
    State.FAILED: "failed",
}


def replication_families(core: BrokerCore) -> Iterator[Family | None]:
    """Returns the families in parts; None where a step ends without a part."""
    yield from _led(core)
    yield from _isr_changes(core)
    yield from _followed(core)
    yield _throttled(core)
    yield from _lags(core.fetchers.manager)
    yield from _controller(core)


def _led(core: BrokerCore) -> Iterator[Family | None]:
    from prometheus_client.core import GaugeMetricFamily

    counts = yield from count_partitions(core.replicas.partitions())
    for field, (name, meaning) in _LED_COUNTS.items():
        yield GaugeMetricFamily(name, meaning, getattr(counts, field))
    yield GaugeMetricFamily(
        "odradek_partitions_offline",
        "Partitions assigned to this broker whose log directory is offline or missing",
        len(core.logs.offline_logs()),
    )


def _isr_changes(core: BrokerCore) -> Iterator[Family]:
    from prometheus_client.core import CounterMetricFamily

    meters = core.replicas.meters
    yield CounterMetricFamily(
        "odradek_isr_shrinks", "Times a partition led here lost replicas from its ISR", meters.isr_shrinks
    )
    yield CounterMetricFamily(
        "odradek_isr_expansions",
        "Times a partition led here let a replica into its ISR",
        meters.isr_expansions,
    )
    yield CounterMetricFamily(
        "odradek_isr_update_failures",
        "ISR changes that the metadata store refused or did not answer",
        meters.isr_update_failures,
    )


def _followed(core: BrokerCore) -> Iterator[Family]:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    manager = core.fetchers.manager
    followed = GaugeMetricFamily(
        "odradek_followed_partitions",
        "Partitions followed here, by what their fetcher does",
        labels=["state"],
    )
    for state, name in _STATES.items():
        followed.add_metric([name], manager.count(state))
    followed.add_metric(["leaderless"], manager.leaderless_count)
    yield followed
    fetchers = [(fetcher, [str(fetcher.source), str(fetcher.number)]) for fetcher in manager.fetchers()]
    labels = ["source", "fetcher"]
    yield from parts(
        lambda: CounterMetricFamily(
            "odradek_fetcher_requests", "Fetch requests to the broker that leads", labels=labels
        ),
        [(names, fetcher.fetches) for fetcher, names in fetchers],
    )
    yield from parts(
        lambda: CounterMetricFamily(
            "odradek_fetcher_bytes", "Bytes of records appended from the broker that leads", labels=labels
        ),
        [(names, fetcher.fetched_bytes) for fetcher, names in fetchers],
    )
    yield GaugeMetricFamily(
        "odradek_fetchers_unanswered",
        "Fetchers whose last request got no answer",
        sum(1 for fetcher, _ in fetchers if fetcher.unreachable_because),
    )
    yield CounterMetricFamily(
        "odradek_replication_bytes_in", "Bytes of records appended from leaders", manager.fetched_bytes
    )
    events = CounterMetricFamily(
        "odradek_fetcher_events", "What happened to followed partitions and their fetchers", labels=["kind"]
    )
    for kind, count in sorted((kind.value, count) for kind, count in core.fetchers.noted.items()):
        events.add_metric([kind], count)
    yield events


def _throttled(core: BrokerCore) -> Family:
    """F8."""
    from prometheus_client.core import CounterMetricFamily

    throttled = CounterMetricFamily(
        "odradek_throttled_replication_bytes",
        "Bytes of throttled replicas that were sent as the leader, and fetched as the follower",
        labels=["side"],
    )
    quotas = core.replication_quotas
    throttled.add_metric(["leader"], quotas.leader.throttled_bytes)
    throttled.add_metric(["follower"], quotas.follower.throttled_bytes)
    return throttled


def _lags(manager: FetcherManager) -> Iterator[Family | None]:
    """X2: how far each followed partition is behind."""
    from prometheus_client.core import GaugeMetricFamily

    def new_part() -> Family:
        return GaugeMetricFamily(
            "odradek_fetcher_lag",
            "Records between the leader's high watermark and what is fetched",
            labels=["topic", "partition"],
        )

    part, lag_max = new_part(), 0
    for number, named in enumerate(manager.names(), 1):
        if number % PARTITIONS_PER_STEP == 0:
            yield None
        followed = manager.partition(named)
        if followed is None or followed.lag is None:
            continue
        if len(part.samples) >= SAMPLES_PER_STEP:
            yield part
            part = new_part()
        part.add_metric([named.topic, str(named.partition)], followed.lag)
        lag_max = max(lag_max, followed.lag)
    yield part
    yield GaugeMetricFamily(
        "odradek_fetcher_lag_max", "The greatest lag of a partition followed here", lag_max
    )


def _controller(core: BrokerCore) -> Iterator[Family | None]:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

    controller = core.controller
    image = controller.controlled
    counts = ClusterCounts() if image is None else (yield from count_cluster(image))
    yield GaugeMetricFamily(
        "odradek_active_controller", "1 where the broker is the controller, else 0", int(image is not None)
    )
    for field, meaning in _CONTROLLER_COUNTS.items():
        yield GaugeMetricFamily(
            f"odradek_controller_{field}", f"{meaning}; 0 if not the controller", getattr(counts, field)
        )
    yield GaugeMetricFamily(
        "odradek_controller_live_brokers",
        "Brokers registered in the cluster; 0 if not the controller",
        0 if image is None else len(image.brokers),
    )
    yield CounterMetricFamily(
        "odradek_controller_unclean_elections",
        "Leaders elected by this broker as the controller that may lack acknowledged records",
        controller.unclean_elections.count,
    )
    yield GaugeMetricFamily(
        "odradek_controller_events_waiting",
        "Events that wait for this broker's controller",
        len(controller.events),
    )
    bounds = [*(repr(bound / 1000) for bound in BOUNDS_MS), "+Inf"]
    waits, sum_s = controller.events.waits.cumulative()
    waited = HistogramMetricFamily(
        "odradek_controller_event_queue_seconds", "From when an event came until the controller began with it"
    )
    waited.add_metric([], list(zip(bounds, waits, strict=True)), sum_s)
    yield waited
