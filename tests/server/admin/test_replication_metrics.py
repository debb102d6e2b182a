"""What /metrics says of replication, on three brokers that replicate."""

from odradek.base.execution import exhaust
from odradek.base.ids import BrokerId
from odradek.replication.fetcher import NoteKind
from odradek.server.admin.metrics import metrics_in_steps
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from tests.server.admin.test_metrics import samples, view_of
from tests.server.node.test_replica_fetchers import BROKERS, LAG_MAX_MS, LEADER, SESSION_MS, Cluster


def value(cluster: Cluster, broker_id: BrokerId, name: str, **labels: str) -> float:
    (found,) = [
        number
        for have, number in samples(exhaust(metrics_in_steps(view_of(cluster[broker_id]))), name)
        if have == labels
    ]
    return found


def values(cluster: Cluster, name: str, **labels: str) -> list[float]:
    return [value(cluster, broker_id, name, **labels) for broker_id in BROKERS]


def test_a_cluster_in_which_all_are_in_sync() -> None:
    """Only the controller counts the cluster."""
    cluster = Cluster(partitions=2)
    controller = cluster.controller.broker_id
    ones = [float(broker_id == controller) for broker_id in BROKERS]
    assert values(cluster, "odradek_active_controller") == ones
    assert sorted(values(cluster, "odradek_controller_partitions")) == [0, 0, 2]
    assert sorted(values(cluster, "odradek_controller_topics")) == [0, 0, 1]
    assert sorted(values(cluster, "odradek_controller_live_brokers")) == [0, 0, 3]
    assert values(cluster, "odradek_partitions") == [2, 2, 2]
    assert values(cluster, "odradek_partitions_led") == [2, 0, 0]
    for name in ("under_replicated_partitions", "under_min_isr_partitions", "at_min_isr_partitions"):
        assert values(cluster, f"odradek_{name}") == [0, 0, 0]
    assert values(cluster, "odradek_followed_partitions", state="fetching") == [0, 2, 2]
    assert value(cluster, 2, "odradek_fetcher_requests_total", source="1", fetcher="0") > 0


def test_a_follower_that_is_cut_off_is_behind_and_its_partition_under_replicated() -> None:
    """R2, X2: the leader shows the ISR, the follower its own lag and that nobody answers it."""
    cluster = Cluster(replica_socket_timeout_ms="3000")
    cluster.produce()
    cluster.world.advance(1_000)
    assert value(cluster, 3, "odradek_fetcher_lag", topic="orders", partition="0") == 0
    fetched = value(cluster, 3, "odradek_replication_bytes_in_total")
    assert fetched == value(cluster, 3, "odradek_fetcher_bytes_total", source="1", fetcher="0") > 0
    cluster.world.cut(1, 3)
    cluster.produce(acks=LEADER)
    cluster.world.advance(2 * LAG_MAX_MS)
    assert values(cluster, "odradek_under_replicated_partitions") == [1, 0, 0]
    assert values(cluster, "odradek_at_min_isr_partitions") == [0, 0, 0]
    assert values(cluster, "odradek_isr_shrinks_total") == [1, 0, 0]
    assert values(cluster, "odradek_fetchers_unanswered") == [0, 0, 1]
    assert value(cluster, 3, "odradek_fetcher_events_total", kind=NoteKind.SOURCE_LOST.value) == 1
    cluster.world.heal()
    cluster.world.advance(5_000)
    assert values(cluster, "odradek_under_replicated_partitions") == [0, 0, 0]
    assert values(cluster, "odradek_isr_expansions_total") == [1, 0, 0]
    assert values(cluster, "odradek_fetchers_unanswered") == [0, 0, 0]


def test_a_follower_that_catches_up_shows_how_far_it_is_behind() -> None:
    """X2: while it is in the ISR, HW waits for it; out of the ISR, it is behind HW."""
    cluster = Cluster(partitions=2, replica_fetch_max_bytes="1")
    cluster.world.cut(1, 2)
    for _ in range(5):
        cluster.produce(acks=LEADER)
    cluster.world.advance(2 * LAG_MAX_MS)
    cluster.world.heal()
    cluster.world.links.slow(1, 2, 500)
    while value(cluster, 2, "odradek_fetcher_lag_max") == 0:
        cluster.world.advance(100)
    behind_by = cluster[1].log("orders").high_watermark.offset - cluster[2].log("orders").end_offset
    assert value(cluster, 2, "odradek_fetcher_lag_max") == behind_by > 1
    assert value(cluster, 2, "odradek_fetcher_lag", topic="orders", partition="0") == behind_by
    assert value(cluster, 2, "odradek_fetcher_lag", topic="orders", partition="1") == 0
    cluster.world.advance(30_000)
    assert value(cluster, 2, "odradek_fetcher_lag_max") == 0


def test_a_partition_whose_isr_has_died_is_offline_at_the_controller() -> None:
    """The next controller counts it, and counts nothing any more when the broker is back."""
    cluster = Cluster()
    for follower in (2, 3):
        cluster.world.cut(1, follower)
    cluster.produce(acks=LEADER)
    cluster.world.advance(2 * LAG_MAX_MS)
    assert cluster.isr() == (1,)
    assert value(cluster, 1, "odradek_at_min_isr_partitions") == 1
    cluster.world.kill(1)
    cluster.world.heal()
    cluster.world.advance(SESSION_MS)
    controller = cluster.controller.broker_id
    assert value(cluster, controller, "odradek_controller_live_brokers") == 2
    assert value(cluster, controller, "odradek_controller_offline_partitions") == 1
    assert value(cluster, controller, "odradek_controller_not_preferred_leaders") == 1
    for follower in (2, 3):
        assert value(cluster, follower, "odradek_followed_partitions", state="leaderless") == 1
    cluster.world.node(1)
    cluster.world.advance(5_000)
    assert value(cluster, controller, "odradek_controller_offline_partitions") == 0
    assert value(cluster, controller, "odradek_controller_not_preferred_leaders") == 0


def test_events_of_a_controller_are_counted_with_their_waits() -> None:
    cluster = Cluster()
    controller = cluster.controller.broker_id
    assert value(cluster, controller, "odradek_controller_event_queue_seconds_count") > 0
    assert value(cluster, controller, "odradek_controller_events_waiting") == 0
    cluster.world.cut_store(controller)
    for name in ("one", "two", "three"):
        cluster[controller].send(CreateTopicsRequest([CreatableTopic(name, 1, 1)], timeout_ms=60_000))
    cluster.world.settle()
    assert value(cluster, controller, "odradek_controller_events_waiting") == 2
