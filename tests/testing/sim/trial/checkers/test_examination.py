"""What the examination of brokers at rest finds."""

from collections.abc import Callable
from unittest.mock import patch

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.coordinator.classic import leaving, rebalancing
from odradek.coordinator.classic.classic_membership import ClassicMembership
from odradek.coordinator.classic.effects import ClassicEffects
from odradek.coordinator.classic.member import Member
from odradek.coordinator.groups.offsets import GroupOffsets
from odradek.coordinator.groups.shard import Shard
from odradek.coordinator.transactions import transaction_partitions
from odradek.storage.log import Log
from odradek.storage.producer_state import ProducerEntry
from odradek.testing.sim.trial.checkers.examination import AnswersAreRight
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest
from tests.testing.sim.trial.checkers.cluster_bench import ClusterBench

GROUPS, TRANSACTIONS_V2, TRANSACTIONS_CLASSIC = 0, 1, 3
"""Seeds whose trials have these."""
TRANSACTION = 1


def findings(seed: int) -> list[str]:
    """The words of the violations of a cluster that has written a little."""
    bench = ClusterBench("orders", seed)
    if seed != GROUPS:
        request = FindCoordinatorRequest(key_type=TRANSACTION, coordinator_keys=["examined"])
        bench.world.nodes[1].ask(request)
        bench.world.advance(2_000)
    checker = AnswersAreRight(bench.scene)
    checker.conclude()
    return [violation.words for violation in checker.found.values()]


@pytest.mark.parametrize("seed", [GROUPS, TRANSACTIONS_V2, TRANSACTIONS_CLASSIC])
def test_brokers_answer_rightly(seed: int) -> None:
    assert findings(seed) == []


def test_a_fenced_producer_is_refused() -> None:
    with patch.object(transaction_partitions, "_check_producer", lambda record, producer: ErrorCode.NONE):
        found = findings(TRANSACTIONS_V2)
    assert any("of the fenced examined" in words for words in found), found


@pytest.mark.parametrize("seed", [TRANSACTIONS_V2, TRANSACTIONS_CLASSIC])
def test_offsets_of_an_aborted_transaction_do_not_count(seed: int) -> None:
    complete: Callable[..., None] = GroupOffsets.complete

    def completed(self: GroupOffsets, producer_id: int, *, committed: bool) -> None:
        complete(self, producer_id, committed=True)

    with patch.object(GroupOffsets, "complete", completed):
        assert "the offset after an abort: 1 instead of -1" in findings(seed)


def test_members_are_told_that_one_has_left() -> None:
    def only_removed(group: ClassicMembership, member: Member) -> ClassicEffects:
        return rebalancing.remove(group, member)

    with patch.object(leaving, "drop", only_removed):
        found = findings(GROUPS)
    assert "a heartbeat after a member left: NONE instead of REBALANCE_IN_PROGRESS" in found


def test_a_join_whose_coordinator_moves_is_answered() -> None:
    with patch.object(Shard, "drop_all", lambda self: iter(())):
        assert findings(GROUPS) == ["JoinGroupRequest is not answered when all is quiet"]


def test_a_batch_sent_again_has_the_offset_of_the_first() -> None:
    with patch.object(ProducerEntry, "duplicate_of", lambda self, header: None):
        assert any("sequence 1 sent again" in words for words in findings(GROUPS))


def test_every_replica_begins_where_records_were_deleted() -> None:
    with patch.object(Log, "advance_log_start", lambda self, offset: False):
        assert any("the earliest offset after a deletion: 0" in words for words in findings(GROUPS))
