"""Offsets of topics named by id: OffsetCommit and OffsetFetch 10 (KIP-848), TxnOffsetCommit 6 (KIP-1319)."""

import uuid

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import NO_TOPIC_ID
from odradek.testing.sim import SimNode
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from odradek.wire.messages.delete_topics import DeleteTopicsRequest
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest
from odradek.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from odradek.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from odradek.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)

STRANGE = uuid.UUID(int=77)
UNKNOWN = ErrorCode.UNKNOWN_TOPIC_ID


@pytest.fixture
def groups(node: SimNode) -> SimNode:
    topics = [CreatableTopic("t", 1, 1), CreatableTopic("u", 1, 1)]
    node.ask(CreateTopicsRequest(topics, timeout_ms=1000))
    assert node.ask(FindCoordinatorRequest(coordinator_keys=["g"])).coordinators[0].error_code == 0
    return node


def id_of(node: SimNode, name: str) -> uuid.UUID:
    topic_id: uuid.UUID = node.topic(name).topic_id
    return topic_id


def commit(node: SimNode, *topics: uuid.UUID) -> dict[uuid.UUID, int]:
    rows = [OffsetCommitRequestTopic("", one, [OffsetCommitRequestPartition(0, 7)]) for one in topics]
    answer = node.ask(OffsetCommitRequest("g", topics=rows), 10)
    assert all(topic.name == "" for topic in answer.topics), "version 10 has no names"
    return {topic.topic_id: topic.partitions[0].error_code for topic in answer.topics}


def fetch(node: SimNode, *topics: uuid.UUID) -> dict[uuid.UUID, tuple[int, int]]:
    """The error and offset by topic id; of all topics when none is given."""
    rows = [OffsetFetchRequestTopics("", one, [0]) for one in topics] or None
    (group,) = node.ask(OffsetFetchRequest(groups=[OffsetFetchRequestGroup("g", topics=rows)]), 10).groups
    assert group.error_code == 0
    return {
        topic.topic_id: (part.error_code, part.committed_offset)
        for topic in group.topics
        for part in topic.partitions
    }


def test_offsets_are_committed_and_fetched_by_id(groups: SimNode) -> None:
    topic = id_of(groups, "t")
    assert commit(groups, topic, STRANGE) == {topic: 0, STRANGE: UNKNOWN}
    assert fetch(groups, topic, STRANGE) == {topic: (0, 7), STRANGE: (UNKNOWN, -1)}
    assert fetch(groups) == {topic: (0, 7)}


def test_the_zero_id_is_no_topic(groups: SimNode) -> None:
    assert commit(groups, NO_TOPIC_ID) == {NO_TOPIC_ID: UNKNOWN}


def test_offsets_of_a_deleted_topic_are_not_those_of_its_successor(groups: SimNode) -> None:
    before = id_of(groups, "t")
    commit(groups, before)
    groups.ask(DeleteTopicsRequest(topic_names=["t"], timeout_ms=1000), 5)
    groups.ask(CreateTopicsRequest([CreatableTopic("t", 1, 1)], timeout_ms=1000))
    assert commit(groups, before) == {before: UNKNOWN}
    assert fetch(groups, before, id_of(groups, "t")) == {
        before: (UNKNOWN, -1),
        id_of(groups, "t"): (0, -1),
    }


def test_a_transaction_commits_offsets_by_id(groups: SimNode) -> None:
    groups.ask(FindCoordinatorRequest(key_type=1, coordinator_keys=["x"]))
    part = TxnOffsetCommitRequestPartition(0, 42)
    rows = [TxnOffsetCommitRequestTopic("", one, [part]) for one in (STRANGE, NO_TOPIC_ID)]
    answer = groups.ask(TxnOffsetCommitRequest("x", "g", 7, 0, topics=rows), 6)
    assert [topic.partitions[0].error_code for topic in answer.topics] == [UNKNOWN, UNKNOWN]
    rows.append(TxnOffsetCommitRequestTopic("", id_of(groups, "t"), [part]))
    answer = groups.ask(TxnOffsetCommitRequest("x", "g", 7, 0, topics=rows), 6)
    assert [topic.topic_id for topic in answer.topics] == [row.topic_id for row in rows]
    codes = [topic.partitions[0].error_code for topic in answer.topics]
    assert codes[:2] == [UNKNOWN, UNKNOWN]
    assert codes[2] == ErrorCode.INVALID_PRODUCER_ID_MAPPING, "the known topic goes to the coordinator"
