"""The ports of coordinators over the replica manager: what is returned, and what comes as an event."""

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import TopicPartition
from odradek.server.node.coordinators.coordinator_log import CoordinatorLog
from odradek.testing.sim import SimNode
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from tests.batches import BatchOf

T0 = TopicPartition("t", 0)
TIMEOUT_MS = 1_000


@pytest.fixture
def ready(node: SimNode) -> SimNode:
    node.ask(CreateTopicsRequest([CreatableTopic("t", 1, 1)], timeout_ms=1000))
    return node


def test_what_is_replicated_at_once_is_returned(ready: SimNode, batch: BatchOf) -> None:
    settled: list[ErrorCode] = []
    log = CoordinatorLog(ready.core.replicas)
    for base_offset in range(2):
        appended = log.append(T0, batch(b"v"), timeout_ms=TIMEOUT_MS, settled=settled.append)
        assert appended == (ErrorCode.NONE, base_offset, ErrorCode.NONE)
    assert log.await_replication(T0, 2, timeout_ms=TIMEOUT_MS, settled=settled.append) is ErrorCode.NONE
    nowhere = log.append(TopicPartition("t", 9), batch(b"v"), timeout_ms=TIMEOUT_MS, settled=settled.append)
    assert nowhere == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1, None)
    assert settled == []


def test_what_takes_time_is_an_event_each_time_that_its_time_is_over(
    ready: SimNode, batch: BatchOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R19: the records are there, and HW may reach them yet."""
    settled: list[ErrorCode] = []
    log = CoordinatorLog(ready.core.replicas)
    partition = ready.core.replicas.partition(T0)
    assert partition is not None
    leadership = partition.leadership
    with monkeypatch.context() as behind:
        behind.setattr(
            type(leadership), "high_watermark_candidate", lambda self, end, now_ms: end._replace(offset=0)
        )
        appended = log.append(T0, batch(b"v"), timeout_ms=TIMEOUT_MS, settled=settled.append)
        assert appended == (ErrorCode.NONE, 0, None)
        for times in range(1, 3):
            ready.advance(TIMEOUT_MS + 1)
            assert settled == [ErrorCode.REQUEST_TIMED_OUT] * times
    appended = log.append(T0, batch(b"w"), timeout_ms=TIMEOUT_MS, settled=settled.append)
    assert appended == (ErrorCode.NONE, 1, ErrorCode.NONE)
    ready.settle()
    assert settled[2:] == [ErrorCode.NONE]
    assert ready.core.replicas.purgatories.produce.delayed == 0
