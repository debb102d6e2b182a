"""What a step changed in a replica, from its state before and after."""

from dataclasses import replace

import pytest

from odradek.base.ids import NO_BROKER, TopicPartition
from odradek.testing.sim.history.cluster_state import ReplicaState, Role, StoredState
from odradek.testing.sim.history.events import (
    Change,
    ReplicaChanged,
    StateStored,
    changes_between,
    is_lossy,
)

P = TopicPartition("orders", 0)
LEADER = ReplicaState(
    role=Role.LEADER,
    leader=1,
    epoch=3,
    isr=(1, 2),
    fetcher="",
    log_start=0,
    high_watermark=4,
    end=6,
    epochs=((3, 0),),
)
FOLLOWER = replace(LEADER, role=Role.FOLLOWER, isr=(), fetcher="fetches")


@pytest.mark.parametrize(
    ("after", "changes"),
    [
        (LEADER, ()),
        (replace(LEADER, end=9), (Change.APPENDED,)),
        (replace(LEADER, end=9, high_watermark=9), (Change.APPENDED, Change.HIGH_WATERMARK)),
        (replace(LEADER, isr=(1,), high_watermark=6), (Change.ISR, Change.HIGH_WATERMARK)),
        (replace(LEADER, log_start=2), (Change.LOG_START,)),
        (replace(LEADER, produces=1), (Change.WAITING,)),
        (replace(LEADER, fetches=1), (Change.WAITING,)),
        (replace(LEADER, epoch=5), (Change.BECAME_LEADER,)),
        (replace(FOLLOWER, epoch=4, leader=2), (Change.BECAME_FOLLOWER, Change.FETCHER)),
        (replace(LEADER, end=5), (Change.TRUNCATED,)),
        (None, (Change.GONE,)),
    ],
)
def test_each_change_has_a_name(after: ReplicaState | None, changes: tuple[Change, ...]) -> None:
    assert changes_between(LEADER, after) == changes


def test_another_life_opens_its_log_and_truncates_nothing() -> None:
    shorter = replace(LEADER, role=Role.NONE, end=2)
    assert changes_between(LEADER, shorter, is_new_life=True) == (Change.OPENED,)
    assert changes_between(None, LEADER) == (Change.OPENED, Change.BECAME_LEADER)
    assert changes_between(None, None) == ()


def test_a_log_that_starts_anew_is_truncated_although_it_ends_later() -> None:
    anew = replace(FOLLOWER, log_start=20, high_watermark=20, end=20)
    assert changes_between(FOLLOWER, anew, is_truncated=True)[0] is Change.TRUNCATED
    assert Change.APPENDED not in changes_between(FOLLOWER, anew, is_truncated=True)
    assert changes_between(FOLLOWER, anew)[0] is Change.APPENDED


def test_a_truncation_that_removes_no_record_is_none() -> None:
    """The follower's last epochs have no records: they are cut from its epoch cache alone (X6)."""
    assert changes_between(FOLLOWER, FOLLOWER, is_truncated=True) == ()


@pytest.mark.parametrize(("end", "lossy"), [(5, False), (4, False), (3, True)])
def test_a_truncation_below_hw_loses_records(*, end: int, lossy: bool) -> None:
    after = replace(FOLLOWER, end=end, high_watermark=min(4, end))
    changes = changes_between(FOLLOWER, after)
    assert is_lossy(ReplicaChanged(0, 0, 1, P, FOLLOWER, after, changes)) is lossy


def test_an_election_names_another_leader_or_epoch() -> None:
    before = StoredState(1, 3, (1, 2), 1)
    for after, is_election in (
        (replace(before, isr=(1,)), False),
        (replace(before, epoch=4), True),
        (replace(before, leader=NO_BROKER, epoch=4), True),
        (None, False),
    ):
        assert StateStored(0, 0, P, before, after).is_election is is_election
