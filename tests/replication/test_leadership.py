"""What one epoch of leading knows and decides; the log's offsets are arguments."""

from collections.abc import Mapping
from types import MappingProxyType

import pytest

from odradek.base.ids import BrokerId, TopicPartition
from odradek.metadata.image import BrokerImage, BrokerRegistered, ClusterImage, PartitionImage
from odradek.replication import StoredState
from odradek.replication.leadership import Leadership
from odradek.replication.remote_replica import NEVER_MS
from odradek.storage import LogPosition
from odradek.storage.positions import UNKNOWN_POSITION

p1 = TopicPartition("flights", 1)
NOW_MS, LAG_MS = 100_000, 10_000
LATE_MS = NOW_MS + LAG_MS + 1


def at(offset: int) -> LogPosition:
    return LogPosition(offset, 0, offset * 100)


def leading(
    isr: tuple[BrokerId, ...] = (1, 2),
    *,
    elr: tuple[BrokerId, ...] = (),
    replicas: tuple[BrokerId, ...] = (1, 2, 3),
    live: tuple[BrokerId, ...] = (1, 2, 3),
    epoch_start: int = 5,
    epochs: Mapping[BrokerId, int] = MappingProxyType({}),
) -> Leadership:
    """Broker 1 leads under epoch 4, which began at offset 5; the stored state has version 7.

    `epochs` are the registrations' epochs, as far as they are known.
    """
    cluster = ClusterImage()
    cluster.apply_all(
        BrokerRegistered(BrokerImage(broker_id, (), epoch=epochs.get(broker_id, -1))) for broker_id in live
    )
    state = PartitionImage(replicas, isr, 1, 4, 7, elr=elr)
    return Leadership(p1, 1, state, epoch_start, cluster, NOW_MS, LAG_MS)


def test_an_epoch_begins_with_nothing_known_of_its_followers() -> None:
    """R5b: LEO unknown; caught up now for members of the ISR, never for others."""
    remotes = leading().remotes
    assert list(remotes) == [2, 3]
    assert {one.log_end for one in remotes.values()} == {UNKNOWN_POSITION}
    assert [one.last_caught_up_ms for one in remotes.values()] == [NOW_MS, NEVER_MS]


def test_hw_waits_for_the_first_fetch_of_every_member() -> None:
    """R5b, R7: an unknown LEO is below every HW, and moves nothing."""
    leadership = leading()
    assert leadership.high_watermark_candidate(at(9), NOW_MS) == UNKNOWN_POSITION
    leadership.remotes[2].note_fetch(at(8), 0, 9, NOW_MS)
    assert leadership.high_watermark_candidate(at(9), NOW_MS) == at(8)


def test_a_leader_without_followers_is_its_own_candidate() -> None:
    """R7."""
    assert leading((1,), replicas=(1,)).high_watermark_candidate(at(9), NOW_MS) == at(9)


def test_a_joining_member_counts_at_once_and_a_leaving_one_until_it_is_written() -> None:
    """R7."""
    joining = leading((1, 2))
    joining.remotes[3].note_fetch(at(6), 0, 9, NOW_MS)
    assert joining.propose_expansion(3, high_watermark=6, min_isr=1) is not None
    assert (joining.counted_isr, joining.isr) == ((1, 2, 3), (1, 2))
    leaving = leading((1, 2))
    assert leaving.propose_shrink(9, LATE_MS, 1) is not None
    assert leaving.counted_isr == (1, 2)
    leaving.isr_written(8)
    assert len(leaving.counted_isr) == 1, "the shrink is known now"
    assert leaving.state_version == 8


def test_a_change_names_what_it_replaces() -> None:
    """R2: it is written on the version that is known, and void in another epoch."""
    change = leading((1, 2)).propose_shrink(9, LATE_MS, 1)
    assert change is not None
    assert (change.leader_id, change.leader_epoch, change.state_version) == (1, 4, 7)
    assert (change.old_isr, change.new_isr, change.is_expansion) == ((1, 2), (1,), False)


def test_one_write_is_in_flight() -> None:
    """R2, R3: neither another shrink nor an expansion beside it."""
    leadership = leading((1, 2))
    leadership.remotes[3].note_fetch(at(9), 0, 9, NOW_MS)
    assert leadership.propose_expansion(3, high_watermark=9, min_isr=1) is not None
    assert leadership.propose_shrink(9, LATE_MS, 1) is None
    assert leadership.propose_expansion(3, high_watermark=9, min_isr=1) is None


def test_what_was_not_written_is_proposed_again_on_the_version_that_was_found() -> None:
    """R2"""
    leadership = leading((1, 2))
    assert leadership.propose_shrink(9, LATE_MS, 1) is not None
    leadership.isr_found(StoredState(1, 4, 1, (1, 2), 12))
    assert leadership.isr == (1, 2)
    again = leadership.propose_shrink(9, LATE_MS, 1)
    assert again is not None
    assert again.state_version == 12


def test_a_leader_that_is_superseded_proposes_nothing_more() -> None:
    """R2: until LeaderAndIsr brings the next epoch."""
    leadership = leading((1, 2))
    assert leadership.propose_shrink(9, LATE_MS, 1) is not None
    leadership.isr_superseded()
    assert leadership.propose_shrink(9, LATE_MS, 1) is None


def test_a_member_whose_joining_was_not_answered_counts_until_the_store_is_known() -> None:
    """R7: the store may hold the ISR with it, and then it may be elected."""
    leadership = leading((1, 2))
    leadership.remotes[3].note_fetch(at(9), 0, 9, NOW_MS)
    assert leadership.propose_expansion(3, high_watermark=9, min_isr=1) is not None
    leadership.isr_unanswered()
    assert (leadership.isr, leadership.counted_isr) == ((1, 2), (1, 2, 3))
    assert leadership.propose_expansion(3, high_watermark=9, min_isr=1) is not None
    leadership.isr_found(StoredState(1, 4, 1, (1, 2, 3), 8))
    assert (leadership.isr, leadership.counted_isr) == ((1, 2, 3), (1, 2, 3))
    assert leadership.propose_shrink(9, LATE_MS, 1) is not None
    leadership.isr_written(9)
    assert (leadership.isr, leadership.counted_isr) == ((1, 3), (1, 3)), "broker 3 alone was equal"


def test_a_leaving_that_was_not_answered_is_settled_when_everybody_has_caught_up() -> None:
    """R2: the store may hold the ISR without it; with it in memory it would never be proposed again."""
    leadership = leading((1, 2, 3))
    leadership.remotes[2].note_fetch(at(9), 0, 9, LATE_MS)
    change = leadership.propose_shrink(9, LATE_MS, 1)
    assert change is not None
    assert change.new_isr == (1, 2)
    leadership.isr_unanswered()
    leadership.remotes[3].note_fetch(at(9), 0, 9, LATE_MS)
    settling = leadership.propose_shrink(9, LATE_MS, 1)
    assert settling is not None
    assert (settling.new_isr, settling.state_version) == ((1, 2, 3), change.state_version)
    leadership.isr_found(StoredState(1, 4, 1, (1, 2), 8))
    assert leadership.propose_shrink(9, LATE_MS, 1) is None
    joining = leadership.propose_expansion(3, high_watermark=9, min_isr=1)
    assert joining is not None
    assert joining.new_isr == (1, 2, 3)


@pytest.mark.parametrize(
    ("isr", "elr", "min_isr", "new_isr", "new_elr"),
    [
        pytest.param((1, 2), (), 1, (1,), (), id="still at min ISR"),
        pytest.param((1, 2), (), 2, (1,), (2,), id="below min ISR by this"),
        pytest.param((1, 2), (3,), 3, (1,), (3, 2), id="further below it"),
        pytest.param((1,), (2,), 2, None, None, id="nothing changes"),
        pytest.param((1,), (2,), 1, (1,), (), id="at min ISR, for that was lowered"),
    ],
)
def test_the_elr_goes_with_the_isr(
    isr: tuple[BrokerId, ...],
    elr: tuple[BrokerId, ...],
    min_isr: int,
    new_isr: tuple[BrokerId, ...] | None,
    new_elr: tuple[BrokerId, ...] | None,
) -> None:
    """R15e: who takes the ISR below min ISR may lead; the ELR is emptied at min ISR."""
    leadership = leading(isr, elr=elr)
    change = leadership.propose_shrink(9, LATE_MS, min_isr)
    if change is None:
        assert new_isr is None
        return
    assert (change.new_isr, change.new_elr) == (new_isr, new_elr)
    leadership.isr_written(8)
    assert (leadership.isr, leadership.elr) == (new_isr, new_elr)


def test_joining_empties_the_elr_at_min_isr() -> None:
    """R15e: and only there."""
    for min_isr, elr in ((2, ()), (3, (2,))):
        leadership = leading((1,), elr=(2,))
        leadership.remotes[3].note_fetch(at(9), 0, 9, NOW_MS)
        change = leadership.propose_expansion(3, high_watermark=9, min_isr=min_isr)
        assert change is not None
        assert (change.new_isr, change.new_elr) == ((1, 3), elr)


@pytest.mark.parametrize(
    ("broker_id", "log_end", "live", "joins"),
    [
        (3, 6, (1, 2, 3), True),
        (3, 5, (1, 2, 3), False),  # HW is 6
        (3, 6, (1, 2), False),
        (2, 9, (1, 2, 3), False),  # a member already
        (4, 9, (1, 2, 3, 4), False),  # not assigned
    ],
)
def test_who_joins(broker_id: BrokerId, log_end: int, live: tuple[BrokerId, ...], joins: bool) -> None:
    """R3: a live, assigned follower that has all that is committed and all that was before this epoch."""
    leadership = leading((1, 2), live=live)
    remote = leadership.remotes.get(broker_id)
    if remote is not None:
        remote.note_fetch(at(log_end), 0, 9, NOW_MS)
    change = leadership.propose_expansion(broker_id, high_watermark=6, min_isr=1)
    assert (change is not None) is joins
    assert change is None or change.new_isr == (1, 2, broker_id)


@pytest.mark.parametrize(
    ("registered", "fetched", "joins"), [(7, 7, True), (8, 7, False), (7, 8, False), (7, -1, True)]
)
def test_a_follower_joins_under_the_epoch_that_is_registered(
    registered: int, fetched: int, joins: bool
) -> None:
    """R16, KIP-903: a fetch of an earlier registration is late; one of a later one is early."""
    leadership = leading((1, 2), epochs={3: registered})
    leadership.remotes[3].note_fetch(at(6), 0, 9, NOW_MS)
    change = leadership.propose_expansion(3, high_watermark=6, min_isr=1, broker_epoch=fetched)
    assert (change is not None) is joins


def test_a_follower_below_the_start_of_the_epoch_does_not_join() -> None:
    """R3: although it has all that is committed."""
    leadership = leading((1, 2), epoch_start=7)
    leadership.remotes[3].note_fetch(at(6), 0, 9, NOW_MS)
    assert leadership.propose_expansion(3, high_watermark=3, min_isr=1) is None


def test_the_low_watermark_is_the_least_log_start_of_the_living() -> None:
    """R10: a dead follower holds no deletion back; one that has not fetched yet does."""
    leadership = leading((1, 2), live=(1, 2))
    leadership.remotes[2].note_fetch(at(8), 4, 9, NOW_MS)
    leadership.remotes[3].note_fetch(at(8), 1, 9, NOW_MS)
    assert leadership.low_watermark(6) == 4
    assert leadership.low_watermark(3) == 3
    assert leading((1, 2)).low_watermark(3) == -1


def test_who_is_behind_is_told_of_members_only() -> None:
    """D7."""
    leadership = leading((1, 2))
    for broker_id in (2, 3):
        leadership.remotes[broker_id].note_fetch(at(8), 0, 9, NOW_MS)
    assert [one.broker_id for one in leadership.behind(9)] == [2]
    assert leadership.behind(8) == []
