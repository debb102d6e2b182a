"""The text of /metrics: what is in it, and that making it never holds the loop for long."""

import sys
from types import FrameType
from typing import Final

import pytest
from prometheus_client.parser import text_string_to_metric_families

from odradek.base.clock import ManualClock
from odradek.base.execution import Steps, exhaust
from odradek.net.connection_table import ConnectionLimits, ConnectionTable
from odradek.server.admin import metrics
from odradek.server.admin.metric_parts import SAMPLES_PER_STEP
from odradek.server.admin.metrics import metrics_in_steps
from odradek.server.admin.view import BrokerView
from odradek.server.edge.loop_stalls import LoopStalls
from odradek.testing.sim import SimNode, World
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest
from odradek.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tests.server.nodes import NewNode

CALLS_PER_STEP_MAX: Final = 12_000
"""As in `test_longest_steps`: about two milliseconds."""
CALLS_PER_THING_MAX: Final = 4
"""What the longest step may grow by for each partition or group more; lists of them are made in one."""


def view_of(node: SimNode) -> BrokerView:
    table = ConnectionTable(ConnectionLimits)
    return BrokerView(node.node, table, LoopStalls(lambda: 0, ManualClock()), None, lambda: True)


def samples(text: str, name: str) -> list[tuple[dict[str, str], float]]:
    return [
        (sample.labels, sample.value)
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == name
    ]


def test_the_session_with_the_metadata_store() -> None:
    """A cut is seen at once, and an end counted once, although the next session is open soon."""
    world = World(brokers=2)
    node = world.nodes[2]

    def told() -> tuple[float, float]:
        text = exhaust(metrics_in_steps(view_of(node)))
        ((_, connected),) = samples(text, "odradek_metadata_store_connected")
        ((_, ended),) = samples(text, "odradek_metadata_store_sessions_ended_total")
        return connected, ended

    assert told() == (1, 0)
    world.cut_store(2)
    assert told() == (0, 0)
    world.heal()
    assert told() == (1, 0)
    world.expire_session(2)
    while told() == (1, 0):
        assert world.step()
    assert told() == (0, 1)
    world.settle()
    assert told() == (1, 1)


def make_topic(node: SimNode, partitions: int, name: str = "wide") -> None:
    answer = node.ask(CreateTopicsRequest([CreatableTopic(name, partitions, 1)], timeout_ms=1000))
    assert answer.topics[0].error_code == 0


def commit(node: SimNode, group_id: str, partitions: int) -> None:
    parts = [OffsetCommitRequestPartition(number, 0) for number in range(partitions)]
    answer = node.ask(
        OffsetCommitRequest(group_id, topics=[OffsetCommitRequestTopic("wide", partitions=parts)]), 8
    )
    assert {part.error_code for part in answer.topics[0].partitions} == {0}


@pytest.fixture
def node(new_node: NewNode) -> SimNode:
    node = new_node(offsets_topic_num_partitions="1")
    node.ask(FindCoordinatorRequest(coordinator_keys=["g"]), 4)
    node.settle()
    return node


def longest_step(work: Steps[str]) -> int:
    """The calls of functions, Python's and C's, of the longest step."""
    longest = count = 0

    def note(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    while True:
        count = 0
        sys.setprofile(note)
        try:
            next(work)
        except StopIteration:
            return longest
        finally:
            sys.setprofile(None)
        longest = max(longest, count)


def test_every_partition_has_its_samples_once_and_each_family_its_words(node: SimNode) -> None:
    count = 2 * SAMPLES_PER_STEP + 3
    make_topic(node, count)
    text = exhaust(metrics_in_steps(view_of(node)))
    sizes = samples(text, "odradek_log_size_bytes")
    assert sorted(int(labels["partition"]) for labels, _ in sizes if labels["topic"] == "wide") == [
        *range(count)
    ]
    heads = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
    assert len(heads) == len(set(heads))
    assert samples(text, "odradek_partitions")[0][1] == count + 1


def test_many_lags_are_counted_and_not_shown(node: SimNode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "GROUP_LAGS_MAX", 5)
    make_topic(node, 4)
    for number in range(3):
        commit(node, f"g{number}", 4)
    text = exhaust(metrics_in_steps(view_of(node)))
    assert len(samples(text, "odradek_group_lag")) == 5
    assert samples(text, "odradek_group_lags_left_out")[0][1] == 7


def test_what_is_deleted_between_two_steps_is_no_harm(node: SimNode) -> None:
    make_topic(node, 2 * SAMPLES_PER_STEP)
    commit(node, "g", 2 * SAMPLES_PER_STEP)
    work = metrics_in_steps(view_of(node))
    seen = 0
    try:
        while True:
            next(work)
            seen += 1
            commit(node, f"other{seen}", 1)
            make_topic(node, 1, f"other{seen}")
    except StopIteration as end:
        text: str = end.value
    assert len(samples(text, "odradek_group_lag")) >= 2 * SAMPLES_PER_STEP
    assert seen > 10


@pytest.mark.slow
def test_the_longest_step_hardly_grows_with_partitions_topics_and_groups(node: SimNode) -> None:
    """10,000 partitions and groups took half a second in one piece, in which no client was served."""
    make_topic(node, 100)
    view, longest = view_of(node), []
    exhaust(metrics_in_steps(view))  # what is loaded once
    for count in (200, 800):
        for number in range(count):
            commit(node, f"{count}-{number}", 2)
        topics = [CreatableTopic(f"t{count}-{number}", 1, 1) for number in range(count)]
        node.ask(CreateTopicsRequest(topics, timeout_ms=1000))
        longest.append(longest_step(metrics_in_steps(view)))
    few, many = longest
    assert many <= CALLS_PER_STEP_MAX
    assert (many - few) / 800 <= CALLS_PER_THING_MAX, f"{few}, then {many} calls"
