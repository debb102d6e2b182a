"""Topics are made, described, grown and deleted, and what is wrong is refused with Kafka's error."""

from collections.abc import Callable

import pytest
from peers import BrokerProcess
from peers.waiting import wait_until

from compat.admins import Admin
from compat.clients import Refused
from odradek.base.error_codes import ErrorCode


def refusal(action: Callable[[], object]) -> ErrorCode:
    with pytest.raises(Refused) as refused:
        action()
    return refused.value.error


def wait_until_listed(admin: Admin, name: str) -> None:
    wait_until(lambda: name in admin.topics(), "the topic is never listed")


def wait_until_gone(admin: Admin, name: str) -> None:
    wait_until(lambda: name not in admin.topics(), "the topic is still listed")


def test_a_topic_is_made_listed_described_and_deleted(admin: Admin, fresh_name: Callable[[], str]) -> None:
    name = fresh_name()
    admin.create_topic(name, partitions=3)
    wait_until_listed(admin, name)
    partitions = admin.partitions(name)
    brokers = sorted(admin.cluster().brokers)
    assert sorted(partitions) == [0, 1, 2]
    for partition in partitions.values():
        assert (sorted(partition.replicas), sorted(partition.isr)) == (brokers, brokers)
        assert partition.leader == partition.replicas[0]
    assert len({partition.leader for partition in partitions.values()}) == len(brokers)
    admin.delete_topic(name)
    wait_until_gone(admin, name)


def test_a_deleted_name_is_free_again_and_its_records_are_gone(
    admin: Admin, fresh_name: Callable[[], str]
) -> None:
    name = fresh_name()
    for partitions in (2, 5):
        admin.create_topic(name, partitions=partitions)
        wait_until_listed(admin, name)
        assert len(admin.partitions(name)) == partitions
        admin.delete_topic(name)
        wait_until_gone(admin, name)


def test_a_dry_run_makes_nothing(admin: Admin, fresh_name: Callable[[], str]) -> None:
    name = fresh_name()
    admin.create_topic(name, validate_only=True)
    assert name not in admin.topics()


def test_a_name_in_use_is_refused(admin: Admin, topic: str) -> None:
    assert refusal(lambda: admin.create_topic(topic)) == ErrorCode.TOPIC_ALREADY_EXISTS


@pytest.mark.parametrize(
    "name", [".", "..", "a/b", "spaced out", "ümlaut", "x" * 250, "../../etc/passwd", "nul\0"]
)
def test_a_bad_name_is_refused(admin: Admin, name: str) -> None:
    if admin.name == "confluent-kafka" and "\0" in name:
        pytest.skip("cannot be said in C")
    assert refusal(lambda: admin.create_topic(name)) == ErrorCode.INVALID_TOPIC_EXCEPTION


def test_names_that_differ_only_in_dot_and_underscore_collide(
    admin: Admin, fresh_name: Callable[[], str]
) -> None:
    name = fresh_name()
    admin.create_topic(f"{name}.a")
    assert refusal(lambda: admin.create_topic(f"{name}_a")) == ErrorCode.INVALID_TOPIC_EXCEPTION


def test_the_longest_name_is_taken(admin: Admin, fresh_name: Callable[[], str]) -> None:
    name = fresh_name().ljust(249, "x")
    admin.create_topic(name)
    wait_until_listed(admin, name)
    admin.delete_topic(name)


def test_a_count_of_partitions_below_one_is_refused(admin: Admin, fresh_name: Callable[[], str]) -> None:
    if admin.name == "confluent-kafka":
        pytest.skip("refuses it itself")
    assert refusal(lambda: admin.create_topic(fresh_name(), partitions=0)) == ErrorCode.INVALID_PARTITIONS


def test_more_replicas_than_brokers_are_refused(admin: Admin, fresh_name: Callable[[], str]) -> None:
    factor = len(admin.cluster().brokers) + 1
    refused = refusal(lambda: admin.create_topic(fresh_name(), replication_factor=factor))
    assert refused == ErrorCode.INVALID_REPLICATION_FACTOR


@pytest.mark.parametrize(
    "settings",
    [
        {"no.such.setting": "1"},
        {"retention.ms": "soon"},
        {"cleanup.policy": "burn"},
        {"min.insync.replicas": "0"},
        {"compression.type": "rar"},
    ],
    ids=lambda settings: next(iter(settings)),
)
def test_a_bad_setting_is_refused(
    admin: Admin, fresh_name: Callable[[], str], settings: dict[str, str]
) -> None:
    name = fresh_name()
    assert refusal(lambda: admin.create_topic(name, settings=settings)) == ErrorCode.INVALID_CONFIG
    assert name not in admin.topics()


def test_deleting_an_unknown_topic_is_refused(admin: Admin, fresh_name: Callable[[], str]) -> None:
    assert refusal(lambda: admin.delete_topic(fresh_name())) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_topic_grows_and_never_shrinks(admin: Admin, new_topic: Callable[..., str]) -> None:
    topic = new_topic(partitions=2)
    admin.add_partitions(topic, 4)
    wait_until(lambda: len(admin.partitions(topic)) == 4, "the new partitions never came")
    assert refusal(lambda: admin.add_partitions(topic, 4)) == ErrorCode.INVALID_PARTITIONS
    assert refusal(lambda: admin.add_partitions(topic, 3)) == ErrorCode.INVALID_PARTITIONS


def test_growing_an_unknown_topic_is_refused(admin: Admin, fresh_name: Callable[[], str]) -> None:
    assert refusal(lambda: admin.add_partitions(fresh_name(), 4)) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_the_cluster_names_itself_its_controller_and_its_brokers(admin: Admin, broker: BrokerProcess) -> None:
    cluster = admin.cluster()
    assert cluster.cluster_id
    assert cluster.controller in cluster.brokers
    assert {host for host, _ in cluster.brokers.values()} <= {"127.0.0.1", "localhost"}
    assert [cluster.brokers[one][1] for one in sorted(cluster.brokers)] == list(broker.ports)
