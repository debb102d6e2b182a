"""Wide requests: bounded writes, pauses between steps, and what is left when a controller stops half-way."""

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import exhaust
from odradek.base.ids import TopicPartition
from odradek.metadata import paths
from odradek.metadata.controller import RequestArrived, StoreCall, TurnWanted
from odradek.metadata.controller.fenced_writes import WRITES_PER_COMMIT_MAX
from odradek.metadata.controller.pending_orders import PARTITIONS_PER_ORDER
from odradek.metadata.controller.requests import (
    CreatePartitions,
    CreateTopics,
    DeleteTopics,
    MorePartitions,
    NewTopic,
    TopicOutcomes,
    TopicToDelete,
)
from odradek.metadata.image import ClusterImage
from odradek.metadata.orders import LeaderAndIsr, StopReplica, UpdateMetadata
from odradek.metadata.startup import load_image
from odradek.metadata.store import Create, Delete, Multi, StoreLimits, WriteOperation
from tests.metadata.controllers import Cluster, Member

WIDE = 1_000


def stored_image(cluster: Cluster) -> ClusterImage:
    engine = cluster.store.engine
    session = engine.open_session()
    return exhaust(load_image(), lambda operation: engine.apply(session, operation).result)


def since(member: Member, mark: int) -> tuple[list[tuple[WriteOperation, ...]], int]:
    """The writes, the pauses and the messages of a member after its first `mark` effects."""
    effects = member.effects[mark:]
    writes = [
        effect.operation.operations
        for effect in effects
        if isinstance(effect, StoreCall) and isinstance(effect.operation, Multi)
    ]
    return writes, sum(isinstance(effect, TurnWanted) for effect in effects)


def ask(
    cluster: Cluster, request: CreateTopics | CreatePartitions | DeleteTopics
) -> tuple[dict[str | None, ErrorCode], list[tuple[WriteOperation, ...]], int]:
    """The errors of the answer by name, with what it took."""
    mark = len(cluster.controller.effects)
    answer = cluster.ask_for(TopicOutcomes, request)
    return {topic.name: topic.error for topic in answer.topics}, *since(cluster.controller, mark)


def test_a_wide_topic_is_written_in_parts_with_pauses(three: Cluster) -> None:
    errors, writes, pauses = ask(three, CreateTopics((NewTopic("wide", WIDE, 2),)))
    assert errors == {"wide": ErrorCode.NONE}
    assert len(writes) >= 2 * WIDE // (WRITES_PER_COMMIT_MAX + 1)
    assert max(map(len, writes)) <= WRITES_PER_COMMIT_MAX + 1
    assert pauses >= WIDE // 100
    assert writes[0][2].path == paths.topic("wide")
    assert three.image.topics == stored_image(three).topics
    assert len(three.image.topics["wide"].partitions) == WIDE


def test_a_topic_is_told_whole_and_its_roles_in_parts(three: Cluster) -> None:
    ask(three, CreateTopics((NewTopic("wide", WIDE, 1),)))
    received = three.members[2].received
    roles = [message for message in received if isinstance(message, LeaderAndIsr)]
    assert max(len(message.partitions) for message in roles) <= PARTITIONS_PER_ORDER
    facts = [message for message in received if isinstance(message, UpdateMetadata) and message.topics]
    assert [len(topic.partitions) for message in facts for topic in message.topics] == [WIDE]


def test_small_topics_share_a_write(three: Cluster) -> None:
    topics = tuple(NewTopic(f"t{number}", 1, 1) for number in range(100))
    errors, writes, pauses = ask(three, CreateTopics(topics))
    assert set(errors.values()) == {ErrorCode.NONE}
    assert len(writes) == 3
    assert pauses >= 5
    assert three.image.topics == stored_image(three).topics


def test_a_write_that_the_store_finds_too_large_deposes_nobody(three: Cluster) -> None:
    """Its fault names the first node of the write, which is the controller epoch's."""
    three.store.engine.limits = StoreLimits(multi_operations_max=20)
    topics = (NewTopic("wide", WIDE, 1), *(NewTopic(f"t{number}", 1, 1) for number in range(3)))
    errors, _, _ = ask(three, CreateTopics(topics))
    assert errors == {
        "wide": ErrorCode.UNKNOWN_SERVER_ERROR,
        **{f"t{number}": ErrorCode.NONE for number in range(3)},
    }
    assert three.image.controller_id == 1
    assert three.image.topics == stored_image(three).topics


def test_a_store_that_takes_little_at_once_gets_little_at_once(cluster: Cluster) -> None:
    """Every write has the controller epoch's check, too."""
    limits = cluster.store.engine.limits = StoreLimits(multi_operations_max=20)
    cluster.start(1, 2, 3)
    small = tuple(f"t{number}" for number in range(30))
    topics = (NewTopic("wide", WIDE, 1), *(NewTopic(name, 3, 1) for name in small))
    for request in (
        CreateTopics(topics),
        CreatePartitions((MorePartitions("t0", WIDE),)),
        DeleteTopics((TopicToDelete("wide"), *map(TopicToDelete, small))),
    ):
        errors, writes, _ = ask(cluster, request)
        assert set(errors.values()) == {ErrorCode.NONE}
        assert max(map(len, writes)) <= limits.multi_operations_max
    assert cluster.image.topics == stored_image(cluster).topics == {}


def test_a_topic_that_is_in_the_store_already_fails_alone(three: Cluster) -> None:
    """Somebody else wrote it behind the controller's back."""
    session = three.store.engine.open_session()
    three.store.engine.apply(session, Create(paths.topic("t1"), b"{}"))
    errors, _, _ = ask(three, CreateTopics(tuple(NewTopic(f"t{number}", 1, 1) for number in range(3))))
    assert errors == {
        "t0": ErrorCode.NONE,
        "t1": ErrorCode.TOPIC_ALREADY_EXISTS,
        "t2": ErrorCode.NONE,
    }


def test_a_half_written_topic_is_finished_by_the_next_controller(three: Cluster) -> None:
    """Its own node comes first, so that everybody knows what is missing."""
    three.holding = True
    before = len(three.members[1].effects)
    three.members[1].event(RequestArrived(99, CreateTopics((NewTopic("wide", WIDE, 2),))))
    while len(since(three.members[1], before)[0]) < 4:
        three.store.deliver(1)
    three.holding = False
    begun = stored_image(three).topics["wide"].partitions.values()
    assert 0 < sum(state.state_version >= 0 for state in begun) < WIDE, "half of it is written"
    three.kill(1)
    three.store.deliver()
    assert three.image.controller_id != 1
    partitions = three.image.topics["wide"].partitions
    assert len(partitions) == WIDE
    assert all(state.leader in (2, 3) for state in partitions.values() if set(state.replicas) - {1})
    assert three.image.topics == stored_image(three).topics


def test_a_topic_grows_wide_in_parts(three: Cluster) -> None:
    ask(three, CreateTopics((NewTopic("a", 1, 1),)))
    errors, writes, _ = ask(three, CreatePartitions((MorePartitions("a", WIDE),)))
    assert errors == {"a": ErrorCode.NONE}
    assert max(map(len, writes)) <= WRITES_PER_COMMIT_MAX + 1
    assert three.image.topics == stored_image(three).topics


def test_a_wide_topic_is_deleted_in_parts(three: Cluster) -> None:
    ask(three, CreateTopics((NewTopic("wide", WIDE, 2),)))
    errors, writes, pauses = ask(three, DeleteTopics((TopicToDelete("wide"),)))
    assert errors == {"wide": ErrorCode.NONE}
    assert "wide" not in three.image.topics
    assert stored_image(three).topics == {}
    assert max(map(len, writes)) <= WRITES_PER_COMMIT_MAX + 1
    assert pauses >= WIDE // 100
    stops = [message for message in three.members[2].received if isinstance(message, StopReplica)]
    assert max(len(message.partitions) for message in stops) <= PARTITIONS_PER_ORDER


def test_many_topics_are_deleted_together(three: Cluster) -> None:
    names = [f"t{number}" for number in range(100)]
    ask(three, CreateTopics(tuple(NewTopic(name, 1, 1) for name in names)))
    errors, writes, _ = ask(three, DeleteTopics(tuple(TopicToDelete(name) for name in names)))
    assert set(errors.values()) == {ErrorCode.NONE}
    assert len(writes) <= 20
    assert (three.image.topics, stored_image(three).topics) == ({}, {})


def test_a_topic_without_a_config_node_is_deleted_like_any_other(three: Cluster) -> None:
    """As Kafka in ZooKeeper mode leaves one behind that never had a setting."""
    ask(three, CreateTopics((NewTopic("a", 1, 1), NewTopic("b", 1, 1))))
    session = three.store.engine.open_session()
    three.store.engine.apply(session, Delete(paths.topic_config("a")))
    ask(three, DeleteTopics((TopicToDelete("a"), TopicToDelete("b"))))
    assert (three.image.topics, stored_image(three).topics) == ({}, {})
    assert three.image.partition(TopicPartition("a", 0)) is None
