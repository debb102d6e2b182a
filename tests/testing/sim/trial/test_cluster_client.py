"""What the clients of a trial make of Metadata answers."""

import uuid

import pytest

from odradek.testing.sim.trial.cluster_client import ClusterClient
from odradek.testing.sim.trial.history import Place
from odradek.testing.sim.trial.plan import draw_plan
from odradek.testing.sim.trial.trial import Trial
from odradek.wire.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

ORDERS = Place("orders", uuid.UUID(int=7), 0)


def says(
    client: ClusterClient, leader_id: int, leader_epoch: int, topic_id: uuid.UUID = ORDERS.topic_id
) -> None:
    """A broker answers the client's next Metadata request."""
    partition = MetadataResponsePartition(
        partition_index=0,
        leader_id=leader_id,
        leader_epoch=leader_epoch,
        replica_nodes=[1, 2],
        isr_nodes=[1, 2],
    )
    answer = MetadataResponse(
        brokers=[MetadataResponseBroker(1, "broker-1", 9092)],
        topics=[MetadataResponseTopic(name="orders", topic_id=topic_id, partitions=[partition])],
    )
    script = client.refresh()
    next(script)
    script.send(None)
    with pytest.raises(StopIteration):
        script.send(answer)


def client_of_a_trial(*, heeds_epochs: bool) -> ClusterClient:
    return ClusterClient(Trial(draw_plan(3)).load, "careful", 1_000, heeds_epochs=heeds_epochs)


def test_an_older_leader_epoch_changes_nothing() -> None:
    """KIP-320: a broker that lost its leadership unawares still names itself."""
    client = client_of_a_trial(heeds_epochs=True)
    says(client, leader_id=3, leader_epoch=2)
    says(client, leader_id=2, leader_epoch=1)
    assert (client.leader_of(ORDERS), client.epoch_of(ORDERS)) == (3, 2)
    says(client, leader_id=1, leader_epoch=4)
    assert (client.leader_of(ORDERS), client.epoch_of(ORDERS)) == (1, 4)


def test_a_topic_created_again_begins_with_its_first_epoch() -> None:
    client = client_of_a_trial(heeds_epochs=True)
    says(client, leader_id=3, leader_epoch=2)
    again = Place("orders", uuid.UUID(int=8), 0)
    says(client, leader_id=1, leader_epoch=0, topic_id=again.topic_id)
    assert client.places() == (again,)
    assert client.epoch_of(again) == 0


def test_without_a_leader_now_an_older_epoch_brings_none() -> None:
    client = client_of_a_trial(heeds_epochs=True)
    says(client, leader_id=-1, leader_epoch=5)
    says(client, leader_id=2, leader_epoch=4)
    assert client.places() == ()


def test_other_clients_go_back_to_a_leader_that_was_deposed() -> None:
    client = client_of_a_trial(heeds_epochs=False)
    says(client, leader_id=3, leader_epoch=2)
    says(client, leader_id=2, leader_epoch=1)
    assert client.leader_of(ORDERS) == 2


def test_a_partition_without_a_leader_is_known() -> None:
    """Seed 132: the leader of a group assigned only partitions with a leader; the others had no owner."""
    client = client_of_a_trial(heeds_epochs=True)
    says(client, leader_id=-1, leader_epoch=2)
    assert (list(client.known()), list(client.places())) == ([ORDERS], [])
