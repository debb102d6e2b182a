"""Behaviour of our admin clients, blocking and asyncio: the same on Odradek and on Apache Kafka.

`test_our_admin.py` has the operations that other Python clients lack.
"""

from collections.abc import Callable

import pytest
from peers import BrokerProcess
from peers.waiting import wait_until

from compat.shells import Blocking
from compat.test_client_writing import SEND_S_MAX, read
from odradek import EARLIEST, LATEST, ApiError, ErrorCode, ProducerFatal, TopicPartition


def test_topics_are_made_grown_and_deleted(shell: Blocking, fresh_name: Callable[[], str]) -> None:
    name = fresh_name()

    with shell.admin() as admin:

        def partitions() -> int:
            """As one broker of a cluster knows; another than answered before may not know the topic yet."""
            try:
                return len(admin.describe_topics([name])[0].partitions)
            except ApiError as error:
                if error.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                    raise
                return 0

        admin.create_topic(name, partitions=2, configs={"retention.ms": "-1"})
        wait_until(lambda: name in admin.list_topics() and partitions() == 2, "it is not listed")
        with pytest.raises(ApiError) as twice:
            admin.create_topic(name)
        assert twice.value.code is ErrorCode.TOPIC_ALREADY_EXISTS
        admin.create_partitions({name: 3})
        wait_until(lambda: partitions() == 3, "it does not grow")
        with pytest.raises(ApiError) as fewer:
            admin.create_partitions({name: 1})
        assert fewer.value.code is ErrorCode.INVALID_PARTITIONS
        admin.delete_topics([name])
        wait_until(lambda: name not in admin.list_topics(), "it is still listed")
        with pytest.raises(ApiError) as unknown:
            admin.delete_topics([name])
        assert unknown.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        with pytest.raises(ApiError) as missing:
            admin.describe_topics([name])
        assert missing.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_settings_change_one_by_one(shell: Blocking, topic: str) -> None:
    with shell.admin() as admin:

        def settings() -> dict[str, str | None]:
            return {one.name: one.value for one in admin.describe_configs("topic", topic)}

        admin.alter_configs("topic", topic, {"retention.ms": "1234567"})
        admin.alter_configs("topic", topic, {"max.message.bytes": "5000"})
        wait_until(lambda: settings()["max.message.bytes"] == "5000", "it does not change")
        assert settings()["retention.ms"] == "1234567"
        admin.alter_configs("topic", topic, {"retention.ms": None})
        wait_until(lambda: settings()["retention.ms"] == "604800000", "the default does not come back")
        with pytest.raises(ApiError) as refused:
            admin.alter_configs("topic", topic, {"retention.ms": "soon"})
        assert refused.value.code is ErrorCode.INVALID_CONFIG


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_groups_are_listed_described_and_deleted(
    shell: Blocking, topic: str, fresh_name: Callable[[], str], protocol: str
) -> None:
    group, first = fresh_name(), TopicPartition(topic, 0)
    with shell.producer() as producer:
        for _ in range(5):
            producer.send(topic, b"value").result(SEND_S_MAX)
    with shell.admin() as admin:
        with shell.consumer(topic, group_id=group, group_protocol=protocol) as consumer:
            read(consumer, 5)
            assert len(admin.describe_group(group).members) == 1
            assert group in {one.group for one in admin.list_groups(kinds=[protocol])}
            with pytest.raises(ApiError) as busy:
                admin.delete_group(group)
            assert busy.value.code is ErrorCode.NON_EMPTY_GROUP
        wait_until(lambda: not admin.describe_group(group).members, "its member does not leave")
        assert admin.list_group_offsets(group) == {first: 5}
        admin.alter_group_offsets(group, {first: 2})
        assert admin.list_group_offsets(group) == {first: 2}
        admin.delete_group_offsets(group, [first])
        assert admin.list_group_offsets(group) == {}
        admin.alter_group_offsets(group, {first: 3})
        admin.delete_group(group)
        assert group not in {one.group for one in admin.list_groups()}


def test_records_are_deleted_before_an_offset(shell: Blocking, topic: str) -> None:
    first = TopicPartition(topic, 0)
    with shell.producer() as producer:
        for _ in range(5):
            producer.send(topic, b"value").result(SEND_S_MAX)
    with shell.admin() as admin:
        assert admin.delete_records({first: 3}) == {first: 3}
        assert admin.list_offsets({first: EARLIEST}) == {first: 3}
        assert admin.list_offsets({first: LATEST}) == {first: 5}
        with pytest.raises(ApiError) as beyond:
            admin.delete_records({first: 9})
        assert beyond.value.code is ErrorCode.OFFSET_OUT_OF_RANGE


def test_the_cluster_and_its_transactions_are_described(
    shell: Blocking, broker: BrokerProcess, topic: str, fresh_name: Callable[[], str]
) -> None:
    name = fresh_name()
    with shell.admin() as admin, shell.producer(transactional_id=name) as producer:
        assert sorted(one.port for one in admin.describe_cluster().brokers) == sorted(broker.ports)
        producer.init_transactions()
        producer.begin_transaction()
        producer.send(topic, b"value").result(SEND_S_MAX)
        assert admin.describe_transaction(name).state == "Ongoing"
        assert name in {one.transactional_id for one in admin.list_transactions(states=["Ongoing"])}
        producer.commit_transaction()
        wait_until(lambda: admin.describe_transaction(name).state == "CompleteCommit", "it stays open")


def test_access_lists_are_refused_without_an_authorizer(shell: Blocking) -> None:
    with shell.admin() as admin, pytest.raises(ApiError) as refused:
        admin.describe_acls()
    assert refused.value.code is ErrorCode.SECURITY_DISABLED


def test_a_producer_that_the_admin_fences_can_write_no_more(
    shell: Blocking, topic: str, fresh_name: Callable[[], str]
) -> None:
    name = fresh_name()
    with shell.admin() as admin:
        with shell.producer(transactional_id=name) as producer:
            producer.init_transactions()
            producer.begin_transaction()
            producer.send(topic, b"fenced").result(SEND_S_MAX)
            admin.fence_producer(name)
            with pytest.raises(ProducerFatal):
                producer.commit_transaction()
        with pytest.raises(ApiError) as unknown:
            admin.fence_producer(fresh_name())
        assert unknown.value.code is ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    with shell.producer(transactional_id=name) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send(topic, b"after it").result(SEND_S_MAX)
        producer.commit_transaction()
    with shell.consumer(isolation_level="read_committed") as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        assert [one.value for one in read(consumer, 1)] == [b"after it"]
