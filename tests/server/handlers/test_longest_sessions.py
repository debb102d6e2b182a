"""No fetch of a session holds the loop: its opening, a change of many partitions, news of many (F10).

Counted as in `test_longest_steps`.
"""

from collections.abc import Callable

import pytest

from odradek.testing.sim import CountedTime, SimNode, World
from odradek.wire.messages import create_topics, fetch, produce
from tests.server.handlers.test_longest_steps import (
    FEW,
    LONGEST_CALLS_USUAL_MAX,
    MANY,
    Calls,
    longest_of,
)

CALLS_PER_PARTITION_MAX = 1.2
"""By how much the longest step may grow for each partition more."""
BY_NAME = 11
"""A version that names topics by their names."""


@pytest.fixture(scope="module")
def node() -> SimNode:
    """A node with a wide topic, whose slices have one step each."""
    node = World().node()
    node.ask(create_topics.CreateTopicsRequest([create_topics.CreatableTopic("wide", MANY, 1)], 1000))
    node.settle()
    node.short_clock = CountedTime()
    return node


def fetching(
    count: int,
    session_id: int = 0,
    epoch: int = 0,
    *,
    offset: int = 0,
    forgotten: int = 0,
    isolation: int = 0,
    max_wait_ms: int = 0,
) -> fetch.FetchRequest:
    parts = [
        fetch.FetchPartition(number, fetch_offset=offset, partition_max_bytes=1000) for number in range(count)
    ]
    return fetch.FetchRequest(
        replica_id=-1,
        max_wait_ms=max_wait_ms,
        max_bytes=1 << 20,
        isolation_level=isolation,
        session_id=session_id,
        session_epoch=epoch,
        topics=[fetch.FetchTopic("wide", partitions=parts)] if parts else [],
        forgotten_topics_data=[fetch.ForgottenTopic("wide", partitions=[*range(forgotten)])]
        if forgotten
        else [],
    )


def opened(node: SimNode, count: int) -> int:
    answer = node.ask(fetching(count), BY_NAME)
    assert answer.session_id > 0
    return answer.session_id


def opened_at_the_ends(node: SimNode, count: int) -> int:
    request = fetching(count)
    for part in request.topics[0].partitions:
        part.fetch_offset = node.log("wide", part.partition).end_offset
    answer = node.ask(request, BY_NAME)
    assert answer.session_id > 0
    return answer.session_id


def opening(node: SimNode, count: int, batch: Callable[..., bytes]) -> fetch.FetchRequest:
    return fetching(count)


def changing(node: SimNode, count: int, batch: Callable[..., bytes]) -> fetch.FetchRequest:
    return fetching(count, opened(node, count), 1, offset=0)


def forgetting(node: SimNode, count: int, batch: Callable[..., bytes]) -> fetch.FetchRequest:
    return fetching(0, opened(node, MANY), 1, forgotten=count)


def news(node: SimNode, count: int, batch: Callable[..., bytes]) -> fetch.FetchRequest:
    """All partitions have records, and none is named."""
    session_id = opened(node, count)
    node.ask(fetching(0, session_id, 1), BY_NAME)
    data = [produce.PartitionProduceData(number, batch(b"v")) for number in range(count)]
    node.send(
        produce.ProduceRequest(None, -1, 1000, [produce.TopicProduceData("wide", partition_data=data)]), 9
    )
    node.settle()
    return fetching(0, session_id, 2)


def flipping(node: SimNode, count: int, batch: Callable[..., bytes]) -> fetch.FetchRequest:
    """The isolation level is another one, so that nothing is quiet any more; no partition is named."""
    session_id = opened_at_the_ends(node, count)
    node.ask(fetching(0, session_id, 1), BY_NAME)
    return fetching(0, session_id, 2, isolation=1)


def flipping_and_waiting(node: SimNode, count: int, batch: Callable[..., bytes]) -> fetch.FetchRequest:
    """The same, and all are quiet again; it is answered at its deadline."""
    request = flipping(node, count, batch)
    request.max_wait_ms = 100
    return request


def waiting(node: SimNode, count: int, batch: Callable[..., bytes]) -> fetch.FetchRequest:
    """Without a session."""
    request = fetching(count, 0, -1, max_wait_ms=100)
    for part in request.topics[0].partitions:
        part.fetch_offset = node.log("wide", part.partition).end_offset
    return request


REQUESTS: dict[str, Callable[[SimNode, int, Callable[..., bytes]], fetch.FetchRequest]] = {
    "opening": opening,
    "changing": changing,
    "forgetting": forgetting,
    "news": news,
    "flipping": flipping,
    "flipping and waiting": flipping_and_waiting,
    "waiting": waiting,
}


@pytest.mark.parametrize("kind", REQUESTS)
def test_the_longest_step_of_a_session_hardly_grows(
    kind: str, node: SimNode, batch: Callable[..., bytes]
) -> None:
    """F10."""
    longest = []
    for count in (FEW, FEW, MANY):  # at first it is loaded or looked up
        request = REQUESTS[kind](node, count, batch)
        node.settle()
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("odradek.wire.message.ELEMENTS_AT_ONCE_MAX", 16)
            longest.append(longest_of(node, request, BY_NAME, Calls()))
    _, few, many = longest
    assert many <= LONGEST_CALLS_USUAL_MAX
    assert (many - few) / (MANY - FEW) <= CALLS_PER_PARTITION_MAX, f"{few}, then {many} calls"
