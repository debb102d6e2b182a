"""An election that fails is tried again: what could not be read may be mended meanwhile."""

import logging

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.metadata import paths
from odradek.metadata.controller.controlled_cluster import STATES_PER_WRITE_MAX
from odradek.metadata.memory import MemoryTable
from odradek.metadata.store import Data, Delete, GetData, Operation, Result, SetData
from odradek.metadata.tree import TableFailed
from odradek.server.node.next_election import PAUSE_MS
from odradek.testing.sim import SimNode
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest

STATE = paths.partition_state("orders", 0)


def created(node: SimNode, name: str, *, partitions: int = 1) -> ErrorCode:
    request = CreateTopicsRequest([CreatableTopic(name, partitions, 1)], timeout_ms=5_000)
    return ErrorCode(node.ask(request).topics[0].error_code)


def by_hand(node: SimNode, *operations: Operation) -> Result:
    """Somebody with a session of his own changes nodes; returns the last result."""
    store, session = node.store, node.store.engine.open_session()
    for operation in operations:
        applied = store.engine.apply(session, operation)
        store.tell(applied.events)
    return applied.result


@pytest.mark.parametrize("path", [STATE, paths.CONTROLLER_EPOCH])
def test_a_node_that_cannot_be_read_stops_elections_until_it_is_mended(
    node: SimNode, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    """/controller is deleted by hand, as operators do, while another node is damaged."""
    assert created(node, "orders") is ErrorCode.NONE
    whole = by_hand(node, GetData(path))
    assert isinstance(whole, Data)
    by_hand(node, SetData(path, b"junk"), Delete(paths.CONTROLLER))
    node.settle()
    assert not node.core.controller.is_active
    node.advance(5 * PAUSE_MS)
    assert not node.core.controller.is_active
    by_hand(node, SetData(path, whole.data))
    node.advance(PAUSE_MS)
    assert node.core.controller.is_active
    assert created(node, "prices") is ErrorCode.NONE
    assert {one.levelno for one in caplog.records if "could not deal with" in one.message} == {logging.ERROR}


def test_a_controller_that_cannot_read_the_cluster_again_is_elected_once_it_can(
    node: SimNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request that is refused half-way makes it read everything again, when the next one comes."""
    whole_commit, commits = MemoryTable.commit, 0

    def fails_but_once(table: MemoryTable) -> None:
        nonlocal commits
        commits += 1
        if commits > 1:
            raise TableFailed("disk I/O error")
        whole_commit(table)

    assert created(node, "orders") is ErrorCode.NONE
    with monkeypatch.context() as broken:
        broken.setattr(MemoryTable, "commit", fails_but_once)
        # So many take two writes, of which the second is refused.
        refused = created(node, "prices", partitions=2 * STATES_PER_WRITE_MAX)
    assert (refused, commits) == (ErrorCode.KAFKA_STORAGE_ERROR, 2)
    whole = by_hand(node, GetData(STATE))
    assert isinstance(whole, Data)
    by_hand(node, SetData(STATE, b"junk"))
    assert created(node, "notes") is not ErrorCode.NONE
    by_hand(node, SetData(STATE, whole.data))
    node.advance(PAUSE_MS)
    assert node.core.controller.is_active
    assert created(node, "notes") is ErrorCode.NONE
