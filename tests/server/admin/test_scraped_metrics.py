"""What a scrape of /metrics gets from a running broker: lags, and the times of requests."""

import urllib.request
from collections.abc import Iterator

import pytest
from prometheus_client.parser import text_string_to_metric_families

from odradek import Admin
from odradek.base.ids import TopicPartition
from odradek.testing import Broker

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(settings={"odradek.admin.port": "0"}) as running:
        yield running


def samples(broker: Broker, family: str) -> dict[tuple[str, ...], float]:
    """The values of a family by those of their labels, which come in the order of their names."""
    with urllib.request.urlopen(f"http://{broker.admin_address}/metrics", timeout=20) as answer:
        text = answer.read().decode()
    return {
        (*one.labels.values(),) if one.name == family else (one.name, *one.labels.values()): one.value
        for found in text_string_to_metric_families(text)
        if found.name == family
        for one in found.samples
    }


def test_the_lag_of_a_group_is_what_it_has_not_committed(broker: Broker) -> None:
    topic = broker.create_topic(partitions=3)
    for partition, count in enumerate((5, 2, 1)):
        broker.produce(topic, *["v"] * count, partition=partition)
    with Admin(broker.bootstrap_servers) as admin:
        admin.alter_group_offsets("readers", {TopicPartition(topic, 0): 1, TopicPartition(topic, 1): 2})
    assert samples(broker, "odradek_group_lag") == {("readers", "0", topic): 4, ("readers", "1", topic): 0}
    broker.produce(topic, "v", partition=1)
    assert samples(broker, "odradek_group_lag")["readers", "1", topic] == 1
    assert samples(broker, "odradek_group_lags_left_out") == {(): 0}


def test_a_name_that_a_client_chose_shows_its_control_characters(broker: Broker) -> None:
    topic = broker.create_topic()
    with Admin(broker.bootstrap_servers) as admin:
        admin.alter_group_offsets("red\x1b[31m\r\u202e", {TopicPartition(topic, 0): 0})
    groups = {labels[0] for labels in samples(broker, "odradek_group_lag")}
    assert r"red\x1b[31m\r\u202e" in groups


def test_every_phase_of_a_request_is_a_histogram(broker: Broker) -> None:
    broker.create_topic()
    for phase in ("", "_queue", "_remote", "_send"):
        name = f"odradek_request{phase}_seconds"
        counted = samples(broker, name)
        assert counted[f"{name}_count", "CreateTopics"] >= 1
        assert counted[f"{name}_bucket", "CreateTopics", "+Inf"] == counted[f"{name}_count", "CreateTopics"]


def test_an_answer_from_files_has_a_time_to_send(broker: Broker) -> None:
    topic = broker.create_topic(partitions=4)
    broker.produce(topic, *["x" * 900_000] * 4)  # one in each: one answer is more than a socket takes at once
    assert len(broker.records(topic)) == 4
    sums = samples(broker, "odradek_request_send_seconds")
    assert sums["odradek_request_send_seconds_sum", "Fetch"] > 0
    assert sums["odradek_request_send_seconds_sum", "CreateTopics"] == 0
