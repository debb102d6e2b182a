"""Answers to members of the consumer protocol (KIP-848), to raw requests: codes and epochs."""

import uuid
from collections.abc import Callable, Iterator, Mapping

import pytest
from peers import BrokerProcess
from peers.process import HOST
from peers.waiting import wait_until

from odradek.base.error_codes import ErrorCode
from odradek.net.blocking_connection import BrokerConnection
from odradek.wire.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)
from odradek.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from odradek.wire.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from odradek.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from odradek.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from odradek.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)

pytestmark = [pytest.mark.kip848, pytest.mark.needs_api("ConsumerGroupHeartbeat", "ConsumerGroupDescribe")]

NONE, FENCED = ErrorCode.NONE, ErrorCode.FENCED_MEMBER_EPOCH


class RawMember:
    """A member that acts only when a test calls it."""

    def __init__(
        self, connection: BrokerConnection, group: str, topic: str, name: str, instance: str | None = None
    ) -> None:
        self.connection, self.group, self.topic = connection, group, topic
        self.name, self.instance = name, instance
        self.epoch = 0
        self.told: dict[uuid.UUID, list[int]] = {}

    def send(
        self, epoch: int, owned: Mapping[uuid.UUID, list[int]] | None = None, **fields: object
    ) -> ErrorCode:
        request = ConsumerGroupHeartbeatRequest(self.group, self.name, epoch, self.instance)
        if owned is not None:
            request.topic_partitions = [TopicPartitions(topic, parts) for topic, parts in owned.items()]
        for field, value in fields.items():
            setattr(request, field, value)
        self.connection.send(request, 1)
        answer = self.connection.receive(ConsumerGroupHeartbeatResponse)
        if answer.error_code == NONE:
            self.epoch = answer.member_epoch
            if answer.assignment is not None:
                self.told = {one.topic_id: one.partitions for one in answer.assignment.topic_partitions}
        return ErrorCode(answer.error_code)

    def join(self) -> ErrorCode:
        return self.send(0, {}, subscribed_topic_names=[self.topic], rebalance_timeout_ms=60_000)

    def settle(self) -> ErrorCode:
        """Own the assigned partitions, and report that."""
        return self.send(self.epoch, self.told)

    @property
    def count(self) -> int:
        return sum(map(len, self.told.values()))


Make = Callable[..., RawMember]


@pytest.fixture
def group(fresh_name: Callable[[], str]) -> str:
    return fresh_name()


@pytest.fixture
def connection(broker: BrokerProcess, group: str) -> Iterator[BrokerConnection]:
    """A connection to the group's coordinator."""
    found: list[Coordinator] = []

    def is_found() -> bool:
        with BrokerConnection(HOST, broker.port) as asked:
            # The first request makes the coordinators' topic.
            answer = asked.call(FindCoordinatorRequest(coordinator_keys=[group]), FindCoordinatorResponse, 4)
        found[:] = answer.coordinators
        return found[0].error_code == NONE

    wait_until(is_found, f"no coordinator of {group} was ever found")
    with BrokerConnection(found[0].host, found[0].port) as opened:
        yield opened


@pytest.fixture
def member(connection: BrokerConnection, group: str, new_topic: Callable[..., str]) -> Make:
    """Members of one group that reads one topic of four partitions."""
    topic = new_topic(partitions=4)

    def is_known() -> bool:
        connection.send(MetadataRequest([MetadataRequestTopic(name=topic)]), 12)
        return connection.receive(MetadataResponse).topics[0].error_code == NONE

    def is_coordinated() -> bool:
        return RawMember(connection, group, topic, "nobody").send(-1) is ErrorCode.GROUP_ID_NOT_FOUND

    wait_until(is_known, f"{topic} was never known")
    wait_until(is_coordinated, f"nobody ever coordinated {group}")
    return lambda name, instance=None: RawMember(connection, group, topic, name, instance)


def settled(*members: RawMember) -> None:
    """Let all members send heartbeats until the group is stable and all partitions are owned."""

    def is_settled() -> bool:
        codes = [one.settle() for one in members]
        return set(codes) == {NONE} and sum(one.count for one in members) == 4 and is_stable(members[0])

    wait_until(is_settled, "the group never came to rest")


def is_stable(member: RawMember) -> bool:
    member.connection.send(ConsumerGroupDescribeRequest([member.group]), 1)
    return member.connection.receive(ConsumerGroupDescribeResponse).groups[0].group_state == "Stable"


def test_partitions_move_when_they_are_given_back(member: Make) -> None:
    first, second = member("a"), member("b")
    assert first.join() is NONE
    settled(first)
    before = first.epoch
    assert second.join() is NONE
    assert (second.epoch, second.count) == (before + 1, 0)
    assert first.send(before) is NONE
    assert (first.epoch, first.count) == (before, 2), "it is told what it may keep, and its epoch waits"
    assert second.send(second.epoch) is NONE
    assert second.count == 0
    assert first.settle() is NONE
    assert first.epoch == second.epoch
    assert second.send(second.epoch) is NONE
    assert second.count == 2


def test_members_at_other_epochs_are_fenced(member: Make, broker: BrokerProcess) -> None:
    first, second = member("a"), member("b")
    assert member("z").send(1) is ErrorCode.GROUP_ID_NOT_FOUND
    first.join()
    settled(first)
    second.join()
    settled(first, second)
    epoch, owned = first.epoch, first.told
    assert member("z").send(1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert first.send(epoch + 1) is FENCED
    assert first.send(epoch - 1) is FENCED
    assert first.send(epoch - 1, owned) is NONE, "it may have missed an answer"
    if broker.name != "kafka-4.1":
        assert first.join() is NONE, "who lost its state keeps its place"
        assert (first.epoch, first.told) == (epoch, owned)
    assert first.send(-3) is ErrorCode.INVALID_REQUEST
    assert first.send(epoch, server_assignor="mine") is ErrorCode.UNSUPPORTED_ASSIGNOR
    assert first.send(epoch, subscribed_topic_regex="(") is ErrorCode.INVALID_REGULAR_EXPRESSION
    assert first.send(-1) is NONE
    assert first.send(epoch) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_static_member_is_released_before_it_is_replaced(member: Make) -> None:
    first, successor = member("a", "i"), member("b", "i")
    first.join()
    settled(first)
    epoch, told = first.epoch, first.told
    assert successor.join() is ErrorCode.UNRELEASED_INSTANCE_ID
    assert first.send(-2) is NONE
    assert first.send(epoch) is FENCED
    assert successor.join() is NONE
    assert (successor.epoch, successor.told) == (epoch, told)
    assert first.send(epoch) is ErrorCode.FENCED_INSTANCE_ID
    assert member("c", "j").send(epoch) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_commit_may_be_as_old_as_the_partition_is_the_members(member: Make) -> None:
    """KIP-1251."""
    first, second = member("a"), member("b")
    first.join()
    settled(first)
    before = first.epoch
    second.join()
    settled(first, second)
    (kept,), (others,) = first.told.values(), second.told.values()

    def commit(epoch: int, partitions: list[int], name: str = "a") -> set[ErrorCode]:
        told = [OffsetCommitRequestPartition(number, 0) for number in partitions]
        topics = [OffsetCommitRequestTopic(first.topic, partitions=told)]
        first.connection.send(OffsetCommitRequest(first.group, epoch, name, topics=topics), 9)
        answer = first.connection.receive(OffsetCommitResponse)
        return {ErrorCode(one.error_code) for one in answer.topics[0].partitions}

    stale = {ErrorCode.STALE_MEMBER_EPOCH}
    assert commit(before, kept) == {NONE}
    assert commit(before, others) == commit(before, [kept[0], others[0]]) == stale
    assert commit(before - 1, kept) == commit(first.epoch + 1, kept) == stale
    assert commit(before, others, "b") == stale
    assert commit(first.epoch, others) == {NONE}


def test_offsets_go_by_epochs(member: Make) -> None:
    first = member("a")
    first.join()
    settled(first)

    def commit(epoch: int, name: str = "a", version: int = 9) -> ErrorCode:
        topics = [OffsetCommitRequestTopic(first.topic, partitions=[OffsetCommitRequestPartition(0, 0)])]
        request = OffsetCommitRequest(first.group, epoch, name, topics=topics)
        first.connection.send(request, version)
        answer = first.connection.receive(OffsetCommitResponse)
        return ErrorCode(answer.topics[0].partitions[0].error_code)

    def fetch(epoch: int, name: str | None) -> ErrorCode:
        asked = OffsetFetchRequestGroup(
            first.group, name, epoch, [OffsetFetchRequestTopics(first.topic, partition_indexes=[0])]
        )
        first.connection.send(OffsetFetchRequest(groups=[asked]), 9)
        return ErrorCode(first.connection.receive(OffsetFetchResponse).groups[0].error_code)

    epoch = first.epoch
    assert commit(epoch) is NONE
    assert commit(epoch + 1) is commit(epoch - 1) is ErrorCode.STALE_MEMBER_EPOCH
    assert commit(epoch, "z") is commit(-1, "") is ErrorCode.UNKNOWN_MEMBER_ID
    assert commit(epoch, version=8) is ErrorCode.UNSUPPORTED_VERSION
    assert fetch(epoch, "a") is fetch(-1, None) is NONE
    assert fetch(epoch - 1, "a") is ErrorCode.STALE_MEMBER_EPOCH
    assert fetch(epoch, "z") is ErrorCode.UNKNOWN_MEMBER_ID
    assert first.send(-1) is NONE
    assert commit(-1, "") is NONE
