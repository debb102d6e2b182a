"""The page /describe/replicas: its query, its JSON, and what it says of three brokers that replicate."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from odradek.base.execution import exhaust
from odradek.base.ids import BrokerId
from odradek.replication.replica_report import ROWS_MAX, WantedReplicas
from odradek.server.admin.replicas import replicas_in_steps, wanted_replicas
from odradek.testing.sim import SimNode
from tests.server.admin.test_metrics import make_topic
from tests.server.node.test_replica_fetchers import LAG_MAX_MS, LEADER, Cluster


def described(node: SimNode, **query: str) -> Mapping[str, Any]:
    wanted = wanted_replicas({name.replace("_", "-"): value for name, value in query.items()})
    found: Mapping[str, Any] = json.loads(exhaust(replicas_in_steps(node.core, wanted)))
    return found


def sentences(cluster: Cluster, broker_id: BrokerId) -> list[str]:
    (row,) = described(cluster[broker_id])["replicas"]
    behind: list[str] = row["behind"]
    return behind


def test_a_query_says_what_is_wanted() -> None:
    assert wanted_replicas({}) == WantedReplicas("*", False, ROWS_MAX)
    full = {"topic": "o*", "under-replicated": "", "limit": "7"}
    assert wanted_replicas(full) == WantedReplicas("o*", True, 7)
    assert not wanted_replicas({"under-replicated": "false"}).in_trouble_only


@pytest.mark.parametrize(
    ("query", "refusal"),
    [
        ({"limit": "0"}, "limit is a number from 1 to 1000"),
        ({"limit": "1001"}, "limit is"),
        ({"limit": "0000010001"}, "limit is"),
        ({"limit": "٣"}, "limit is"),
        ({"limit": ""}, "limit is"),
        ({"under-replicated": "maybe"}, "under-replicated is true or false"),
        ({"partition": "3"}, "partition is not one of topic, under-replicated, limit"),
    ],
)
def test_a_query_that_is_not_understood_is_refused(query: dict[str, str], refusal: str) -> None:
    with pytest.raises(ValueError, match=refusal):
        wanted_replicas(query)


def test_a_broker_that_is_alone_is_in_sync_with_itself(node: SimNode) -> None:
    assert described(node) == {"broker_id": 0, "fetchers": [], "left_out": 0, "replicas": []}
    make_topic(node, 3)
    found = described(node, limit="2")
    assert (found["left_out"], len(found["replicas"])) == (1, 2)
    for row in found["replicas"]:
        assert (row["role"], row["state"], row["isr"], row["behind"]) == ("leader", "in sync", [0], [])
    assert described(node, under_replicated="")["replicas"] == []
    assert described(node, topic="wid?")["left_out"] == 0


def test_a_cluster_says_who_is_behind_from_both_sides() -> None:
    """R2, X1: the leader of its follower, and the follower of its leader."""
    cluster = Cluster(replica_socket_timeout_ms="3000")
    cluster.produce(3)
    cluster.world.advance(1_000)
    assert [sentences(cluster, broker_id) for broker_id in (1, 2, 3)] == [[], [], []]
    (fetcher,) = described(cluster[3])["fetchers"]
    assert (fetcher["source"], fetcher["fetching"], fetcher["failed"]) == (1, 1, 0)
    cluster.world.cut(1, 3)
    cluster.produce(2, acks=LEADER)
    cluster.world.advance(2 * LAG_MAX_MS)
    (by_leader,) = sentences(cluster, 1)
    assert by_leader == "broker 3: last fetch 20 s ago, LEO 3 of 5, last caught up 20 s ago, out of the ISR"
    (by_follower,) = sentences(cluster, 3)
    assert by_follower.startswith("no answer of broker 1 for 17 s: ")
    assert described(cluster[3], under_replicated="true")["replicas"][0]["state"] == "stalled"
    cluster.world.heal()
    cluster.world.advance(10_000)
    assert [sentences(cluster, broker_id) for broker_id in (1, 2, 3)] == [[], [], []]
    assert described(cluster[3], under_replicated="true")["replicas"] == []
