"""Operations of `odradek.Admin` that other Python clients lack: Odradek and Apache Kafka answer alike."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from peers import BrokerProcess, KafkaBroker
from peers.waiting import wait_until

from odradek import (
    LATEST,
    Acl,
    AclFilter,
    Admin,
    ApiError,
    Append,
    Consumer,
    ElementsRefused,
    ErrorCode,
    NewTopic,
    Producer,
    Subtract,
    TopicPartition,
    TopicPartitionReplica,
)

NOBODY = 9_999
"""The id of a broker that there is not."""


@pytest.fixture
def ours(broker: BrokerProcess) -> Iterator[Admin]:
    """Our client, connected to all brokers."""
    with Admin(broker.bootstrap) as admin:
        yield admin


@pytest.fixture
def first(topic: str) -> TopicPartition:
    """The partition of a fresh topic."""
    return TopicPartition(topic, 0)


def replicas_of(admin: Admin, partition: TopicPartition) -> list[int]:
    """As a broker says that has heard of the topic."""
    found: list[list[int]] = []

    def is_known() -> bool:
        try:
            (described,) = admin.describe_topics([partition.topic])
        except ApiError as error:
            if error.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise
            return False
        found.extend(one.replicas for one in described.partitions if one.partition == partition.partition)
        return bool(found)

    wait_until(is_known, f"no broker knows {partition}")
    return found[0]


def test_replicas_are_told_where_they_are_and_move_nowhere_else(ours: Admin, first: TopicPartition) -> None:
    broker = replicas_of(ours, first)[0]
    here = TopicPartitionReplica(*first, broker)
    (found,) = ours.describe_replica_log_dirs([here]).values()
    assert found.path is not None
    assert (found.future_path, found.future_lag) == (None, -1)
    ours.alter_replica_log_dirs({here: found.path})
    with pytest.raises(ElementsRefused) as nowhere:
        ours.alter_replica_log_dirs({here: "/no/such/directory"})
    assert nowhere.value.code is ErrorCode.LOG_DIR_NOT_FOUND
    missing = TopicPartitionReplica(f"{first.topic}-missing", 0, broker)
    assert ours.describe_replica_log_dirs([missing])[missing].path is None
    with pytest.raises(ElementsRefused) as unknown:
        ours.alter_replica_log_dirs({missing: found.path, here: found.path})
    assert {name: error.code for name, error in unknown.value.refused.items()} == {
        missing: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    }
    directories = {one.path: one for one in ours.describe_log_dirs([broker])}
    assert first in directories[found.path].sizes
    assert not directories[found.path].copies


def test_moves_are_refused_accepted_and_given_up(ours: Admin, first: TopicPartition) -> None:
    replicas = replicas_of(ours, first)
    with pytest.raises(ElementsRefused) as invalid:
        ours.alter_partition_reassignments({first: [NOBODY]})
    assert invalid.value.code is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    with pytest.raises(ElementsRefused) as nothing:
        ours.alter_partition_reassignments({first: None})
    assert nothing.value.code is ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
    with pytest.raises(ElementsRefused) as unknown:
        ours.alter_partition_reassignments({TopicPartition(f"{first.topic}-missing", 0): replicas})
    assert unknown.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    ours.alter_partition_reassignments({first: replicas[::-1]})
    wait_until(lambda: not ours.list_partition_reassignments([first]), "the move never ends")
    wait_until(lambda: replicas_of(ours, first) == replicas[::-1], "the replicas stay as they were")


def test_partitions_are_added_where_they_are_wanted(ours: Admin, first: TopicPartition) -> None:
    replicas = replicas_of(ours, first)
    with pytest.raises(ElementsRefused) as invalid:
        ours.create_partitions({first.topic: 2}, assignments={first.topic: [[NOBODY]]})
    assert invalid.value.code is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    ours.create_partitions({first.topic: 2}, assignments={first.topic: [replicas[::-1]]})
    wait_until(
        lambda: len(ours.describe_topics([first.topic])[0].partitions) == 2, "there is no second partition"
    )
    assert replicas_of(ours, TopicPartition(first.topic, 1)) == replicas[::-1]


def test_lists_grow_and_shrink(ours: Admin, topic: str) -> None:
    def policy() -> str | None:
        return {one.name: one.value for one in ours.describe_configs("topic", topic)}["cleanup.policy"]

    ours.alter_configs("topic", topic, {"cleanup.policy": Append("compact")})
    wait_until(lambda: policy() == "delete,compact", "nothing was appended")
    ours.alter_configs("topic", topic, {"cleanup.policy": Subtract("delete")})
    wait_until(lambda: policy() == "compact", "nothing was taken out")


def test_what_has_settings_is_listed(ours: Admin, topic: str) -> None:
    wait_until(
        lambda: topic in {one.name for one in ours.list_config_resources(["topic"])}, "it is not listed"
    )
    listed = ours.list_config_resources()
    assert {"topic", "broker"} <= {one.kind for one in listed}
    brokers = {str(one.broker_id) for one in ours.describe_cluster().brokers}
    assert brokers <= {one.name for one in listed if one.kind == "broker"}


def test_the_cluster_tells_its_features_its_quorum_and_its_users(ours: Admin) -> None:
    features = {one.name: one for one in ours.describe_features()}
    assert features["transaction.version"].level == features["transaction.version"].highest == 2
    ours.update_features({"transaction.version": 2}, validate_only=True)
    with pytest.raises(ApiError) as invalid:
        ours.update_features({"transaction.version": 99}, validate_only=True)
    assert invalid.value.code is ErrorCode.INVALID_UPDATE_VERSION
    quorum = ours.describe_metadata_quorum()
    assert quorum.leader in [one.replica_id for one in quorum.voters]
    assert ours.describe_client_quotas() == []
    assert ours.describe_client_quotas({"user": "ann"}, any_of=["client-id"], strict=True) == []
    assert ours.describe_user_scram_credentials() == {}
    with pytest.raises(ElementsRefused) as missing:
        ours.describe_user_scram_credentials(["ann"])
    assert missing.value.refused["ann"].code is ErrorCode.RESOURCE_NOT_FOUND


def test_a_static_member_is_removed_from_its_group(
    broker: BrokerProcess, ours: Admin, topic: str, fresh_name: Callable[[], str]
) -> None:
    group = fresh_name()
    settings = {"group.protocol": "classic", "group.instance.id": "desk-1"}
    with Consumer(topic, bootstrap_servers=broker.bootstrap, group_id=group, settings=settings) as consumer:
        while not consumer.assignment():
            consumer.poll(0.2)
        assert group in {one.group for one in ours.list_groups(states=["Stable"], kinds=["classic"])}
        assert group not in {one.group for one in ours.list_groups(kinds=["consumer"])}
        with pytest.raises(ElementsRefused) as unknown:
            ours.remove_members_from_group(group, ["desk-1", "desk-2"])
        assert unknown.value.done == ["desk-1"]
        assert unknown.value.refused["desk-2"].code is ErrorCode.UNKNOWN_MEMBER_ID
        assert ours.describe_group(group).members == []
        ours.remove_members_from_group(group)


def test_an_open_transaction_is_found_and_aborted(
    broker: BrokerProcess, ours: Admin, first: TopicPartition, fresh_name: Callable[[], str]
) -> None:
    name = fresh_name()
    with Producer(broker.bootstrap, transactional_id=name) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send(first.topic, b"a record").result(30)
        (found,) = ours.describe_producers([first])[first]
        assert found.start_offset == 0
        assert found in ours.describe_producers([first], broker_id=replicas_of(ours, first)[0])[first]
        listed = ours.list_transactions(found.producer_id, states=["Ongoing"], pattern=f"{name}.*")
        assert [one.transactional_id for one in listed] == [name]
        assert name not in {one.transactional_id for one in ours.list_transactions(open_for_ms=3_600_000)}
        with pytest.raises(ApiError, match="transactions have no state 'Lost'"):
            ours.list_transactions(states=["Lost"])
        with pytest.raises(ApiError) as pattern:
            ours.list_transactions(pattern="(")
        assert pattern.value.code is ErrorCode.INVALID_REGULAR_EXPRESSION
        ours.abort_transaction(found)
        wait_until(
            lambda: ours.list_offsets({first: LATEST}, isolation_level="read_committed") == {first: 2},
            "the transaction stays open",
        )


def test_without_an_authorizer_there_are_no_access_lists(ours: Admin) -> None:
    read = Acl("topic", "flights", "User:ann", "read")
    for operation in (
        ours.describe_acls,
        lambda: ours.create_acls([read]),
        lambda: ours.delete_acls([AclFilter()]),
    ):
        with pytest.raises(ApiError) as refused:
            operation()
        assert refused.value.code is ErrorCode.SECURITY_DISABLED


@pytest.mark.one_broker("starts an Apache Kafka of its own")
def test_access_lists_are_made_described_and_deleted(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    targets = request.config.getoption("--target")
    if targets and KafkaBroker.name not in targets:
        pytest.skip("Odradek has no authorizer")
    settings = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }
    read = Acl("topic", "flights", "User:ann", "read")
    no_write = Acl("topic", "fl", "User:bob", "write", "deny", "10.0.0.1", "prefixed")
    cluster = Acl("cluster", "kafka-cluster", "User:ann", "two-phase-commit")
    with KafkaBroker(tmp_path / "kafka", settings) as kafka, Admin(kafka.bootstrap) as admin:
        with pytest.raises(ElementsRefused) as refused:
            admin.create_acls([read, no_write, Acl("cluster", "mine", "User:ann", "alter")])
        assert [acl.name for acl in refused.value.refused] == ["mine"]
        assert refused.value.done == [read, no_write]
        wait_until(lambda: len(admin.describe_acls()) == 2, "they are never described")
        assert set(admin.describe_acls()) == {read, no_write}
        assert set(admin.describe_acls(AclFilter("topic", "flights", pattern="match"))) == {read, no_write}
        assert admin.describe_acls(AclFilter(name="flights", pattern="literal")) == [read]
        only_deny, nobody = AclFilter(permission="deny"), AclFilter(principal="User:nobody")
        assert admin.delete_acls([only_deny, nobody]) == {only_deny: [no_write], nobody: []}
        wait_until(lambda: admin.describe_acls() == [read], "it is still there")
        admin.create_acls([cluster])
        wait_until(lambda: admin.describe_acls(AclFilter("cluster")) == [cluster], "it is never described")


def test_topics_are_made_as_far_as_they_can_be(
    ours: Admin, topic: str, fresh_name: Callable[[], str]
) -> None:
    name = fresh_name()
    with pytest.raises(ElementsRefused) as refused:
        ours.create_topics([NewTopic(topic), NewTopic(name)])
    assert {key: error.code for key, error in refused.value.refused.items()} == {
        topic: ErrorCode.TOPIC_ALREADY_EXISTS
    }
    assert refused.value.done == [name]
    ours.delete_topics([name])


def test_topics_are_described_and_deleted_by_id(ours: Admin, first: TopicPartition) -> None:
    replicas_of(ours, first)
    (by_name,) = ours.describe_topics([first.topic])
    assert ours.describe_topics(ids=[by_name.topic_id]) == [by_name]
    nothing = "AAAAAAAAAAAAAAAAAAAAGQ"
    with pytest.raises(ApiError) as unknown:
        ours.describe_topics(ids=[nothing])
    assert unknown.value.code is ErrorCode.UNKNOWN_TOPIC_ID
    with pytest.raises(ElementsRefused) as refused:
        ours.delete_topics(ids=[by_name.topic_id, nothing])
    assert refused.value.done == [by_name.topic_id]
    assert refused.value.refused[nothing].code is ErrorCode.UNKNOWN_TOPIC_ID
    wait_until(lambda: first.topic not in ours.list_topics(), "it is still listed")
