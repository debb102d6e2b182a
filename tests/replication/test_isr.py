"""Who leaves the ISR, who may join it, and what a lost race means."""

import pytest

from odradek.base.ids import TopicPartition
from odradek.replication.isr import (
    IsrChange,
    LostRace,
    StoredState,
    classify_lost_race,
    may_join,
    replicas_out_of_sync,
)
from odradek.replication.remote_replica import NEVER_MS, RemoteReplica
from odradek.storage import LogPosition
from odradek.storage.positions import UNKNOWN_POSITION

LEADER_END = 100
LAG_MS = 10_000
NOW_MS = 50_000


def remote(broker_id: int = 2, log_end: int = 90, caught_up_ms: int = NEVER_MS) -> RemoteReplica:
    position = UNKNOWN_POSITION if log_end < 0 else LogPosition(log_end, 0, log_end)
    return RemoteReplica(broker_id, position, noted_caught_up_ms=caught_up_ms)


@pytest.mark.parametrize(
    ("log_end", "caught_up_ms", "leaves"),
    [
        (LEADER_END, NOW_MS - LAG_MS - 1, False),
        (LEADER_END, NEVER_MS, False),
        (99, NOW_MS - LAG_MS, False),
        (99, NOW_MS - LAG_MS - 1, True),
        (0, NOW_MS, False),
        (-1, NOW_MS - LAG_MS - 1, True),
        (-1, NOW_MS, False),
    ],
    ids=["equal", "equal, never", "at the limit", "slow", "far behind, just caught up", "stuck", "new epoch"],
)
def test_who_lags_too_long_leaves(log_end: int, caught_up_ms: int, leaves: bool) -> None:
    """R2: LEO differs from the leader's and the last caught-up time is over the limit."""
    found = replicas_out_of_sync([remote(2, log_end, caught_up_ms)], (1, 2), LEADER_END, NOW_MS, LAG_MS)
    assert found == ((2,) if leaves else ())


def test_only_members_leave() -> None:
    """R2."""
    assert replicas_out_of_sync([remote(2), remote(3)], (1, 3), LEADER_END, NOW_MS, LAG_MS) == (3,)


@pytest.mark.parametrize(
    ("log_end", "high_watermark", "epoch_start", "joins"),
    [(10, 10, 0, True), (9, 10, 0, False), (10, 5, 11, False), (11, 5, 11, True), (-1, 0, 0, False)],
)
def test_who_reaches_hw_and_the_epochs_start_may_join(
    log_end: int, high_watermark: int, epoch_start: int, joins: bool
) -> None:
    """R3."""
    assert may_join(remote(2, log_end), (1,), high_watermark, epoch_start) is joins


def test_a_member_does_not_join_again() -> None:
    """R3."""
    assert not may_join(remote(2, LEADER_END), (1, 2), 0, 0)


CHANGE = IsrChange(TopicPartition("flights", 0), 1, 5, (1, 2, 3), (1, 2), 17)


@pytest.mark.parametrize(
    ("stored", "expected"),
    [
        (StoredState(1, 5, 9, (1, 2), 18), LostRace.ALREADY_WRITTEN),
        (StoredState(1, 5, 9, (1, 2, 3), 18), LostRace.TRY_NEXT_ROUND),
        (StoredState(1, 6, 9, (1, 2), 18), LostRace.SUPERSEDED),
        (StoredState(1, 5, 10, (1, 2), 18), LostRace.SUPERSEDED),
        (StoredState(2, 6, 9, (2, 1), 18), LostRace.SUPERSEDED),
        (StoredState(1, 5, 8, (1, 3), 18), LostRace.TRY_NEXT_ROUND),
    ],
)
def test_a_lost_race_is_settled_by_what_is_stored(stored: StoredState, expected: LostRace) -> None:
    """R2: the controller last obeyed has epoch 9."""
    assert classify_lost_race(CHANGE, stored, controller_epoch=9) is expected


def test_a_change_knows_whether_somebody_joins() -> None:
    assert not CHANGE.is_expansion
    assert IsrChange(CHANGE.topic_partition, 1, 5, (1,), (1, 2), 17).is_expansion
