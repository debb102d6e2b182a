"""Who leads: every election as a table of (assigned, ISR, leader, online) and what comes out."""

from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.base.ids import NO_BROKER, NO_EPOCH, BrokerId
from odradek.metadata.controller import election
from odradek.metadata.image import PartitionImage
from odradek.metadata.orders import LogEnd

Replicas: TypeAlias = tuple[BrokerId, ...]


def partition(
    replicas: Replicas,
    isr: Replicas,
    leader: BrokerId,
    *,
    elr: Replicas = (),
    last_known_leader: BrokerId = NO_BROKER,
) -> PartitionImage:
    return PartitionImage(
        replicas,
        isr,
        leader,
        leader_epoch=4,
        state_version=7,
        elr=elr,
        last_known_leader=last_known_leader,
    )


def end(last_epoch: int, end_offset: int) -> LogEnd:
    return LogEnd(4, last_epoch, end_offset)


def came_to(state: PartitionImage | None, leader: BrokerId, isr: Replicas) -> bool:
    """Whether an election gave this leader and ISR, in the next epoch and one write."""
    assert state is not None, "nothing was elected"
    assert (state.leader, state.isr) == (leader, isr)
    assert state.leader_epoch == 5
    assert state.state_version == 8
    return True


@pytest.mark.parametrize(
    ("isr", "elr", "online", "leader", "isr_after", "elr_after"),
    [
        pytest.param(
            (1, 2, 3), (), (2, 3), 2, (2, 3), (), id="the first assigned that is in sync and online"
        ),
        pytest.param((3, 2), (), (2, 3), 2, (3, 2), (), id="by assignment, not by the order of the ISR"),
        pytest.param((1, 3), (), (2, 3), 3, (3,), (1,), id="never one out of sync; 1 may lead one day"),
        pytest.param((1,), (), (1,), 1, (1,), (), id="the last member itself"),
        pytest.param((1,), (2,), (1, 2), 1, (1,), (2,), id="the ISR before the ELR"),
        pytest.param((1,), (3,), (2, 3), 3, (3,), (1,), id="a live member of the ELR, never another"),
        pytest.param((), (3, 2), (2, 3), 2, (2,), (3,), id="by assignment, not by the order of the ELR"),
    ],
)
def test_an_offline_election_takes_the_first_live_member(
    isr: Replicas, elr: Replicas, online: Replicas, leader: BrokerId, isr_after: Replicas, elr_after: Replicas
) -> None:
    """R15e: of the ISR, else of the ELR; either has all records below HW."""
    before = partition((1, 2, 3), isr, 1, elr=elr)
    after = election.elect_offline(before, online, 2, None)
    assert came_to(after, leader, isr_after)
    assert after is not None
    assert (after.elr, after.unclean_epoch) == (elr_after, NO_EPOCH)


@pytest.mark.parametrize(
    ("isr", "elr", "leads"),
    [
        pytest.param((), (), True, id="nobody else can have all records"),
        pytest.param((), (2,), False, id="the ELR is awaited"),
        pytest.param((2,), (), False, id="the ISR is awaited"),
    ],
)
def test_the_last_known_leader_leads_when_nobody_else_may(isr: Replicas, elr: Replicas, leads: bool) -> None:
    """R15e: the election is unclean, for records may be missing."""
    before = partition((1, 2, 3), isr, NO_BROKER, elr=elr, last_known_leader=1)
    after = election.elect_offline(before, (1, 3), 2, None)
    assert (after is not None) is leads
    if after is not None:
        assert came_to(after, 1, (1,))
        assert (after.last_known_leader, after.unclean_epoch) == (NO_BROKER, 5)
    assert election.elect_offline(before, (3,), 2, None) is None


@pytest.mark.parametrize(
    ("ends", "leader"),
    [
        pytest.param({2: end(3, 10), 3: end(4, 5)}, 3, id="the later epoch before the longer log"),
        pytest.param({2: end(4, 5), 3: end(4, 6)}, 3, id="then the longer log"),
        pytest.param({2: end(4, 5), 3: end(4, 5)}, 2, id="then the assignment"),
        pytest.param({2: end(NO_EPOCH, 0), 3: end(NO_EPOCH, 0)}, 2, id="empty logs"),
        pytest.param({3: end(4, 6)}, None, id="not before every live replica has spoken"),
        pytest.param({1: end(9, 9), 2: end(4, 5), 3: end(4, 6)}, 3, id="the dead do not lead"),
    ],
)
def test_an_unclean_election_takes_the_replica_with_the_most(
    ends: dict[BrokerId, LogEnd], leader: BrokerId | None
) -> None:
    """R15e: the greatest (last epoch, LEO) of the live replicas."""
    before = partition((1, 2, 3), (1,), 1)
    after = election.elect_offline(before, (2, 3), 1, ends)
    if leader is None:
        assert after is None
    else:
        assert came_to(after, leader, (leader,))
        assert after is not None
        assert after.unclean_epoch == after.leader_epoch
    assert election.elect_offline(before, (2, 3), 1, None) is None
    assert election.elect_offline(before, (), 1, ends) is None


def test_an_unclean_election_is_clean_where_it_can_be() -> None:
    """R15e"""
    ends = {2: end(4, 9), 3: end(4, 5)}
    assert came_to(election.elect_offline(partition((1, 2, 3), (1, 3), 1), (2, 3), 1, ends), 3, (3,))
    clean = election.elect_offline(partition((1, 2, 3), (1,), 1, elr=(3,)), (2, 3), 2, ends)
    assert came_to(clean, 3, (3,))
    assert clean is not None
    assert clean.unclean_epoch == NO_EPOCH


def test_the_preferred_leader_is_elected_when_in_sync_and_online() -> None:
    assert came_to(election.elect_preferred(partition((1, 2), (2, 1), 2), (1, 2), 1), 1, (2, 1))
    assert election.elect_preferred(partition((1, 2), (2,), 2, elr=(1,)), (1, 2), 2) is None
    assert election.elect_preferred(partition((1, 2), (2, 1), 2), (2,), 1) is None


def test_a_reassignment_elects_one_that_stays() -> None:
    before = partition((3, 4, 1, 2), (1, 2, 4), 1)
    assert came_to(election.elect_for_reassignment(before, (3, 4), (1, 2, 3, 4), 1), 4, (1, 2, 4))
    assert election.elect_for_reassignment(before, (3,), (1, 2, 3, 4), 1) is None


def test_a_stopping_broker_leaves_leadership_and_isr() -> None:
    """R15e: into the ELR, where the ISR falls below min ISR."""
    before = partition((1, 2, 3), (1, 2, 3), 1)
    for min_isr, elr in ((2, ()), (3, (1,))):
        after = election.elect_for_shutdown(before, (1, 2, 3), (1,), min_isr)
        assert came_to(after, 2, (2, 3))
        assert after is not None
        assert after.elr == elr
    assert election.elect_for_shutdown(partition((1, 2), (1,), 1), (1, 2), (1,), 1) is None


@pytest.mark.parametrize(
    ("elr", "online", "stopping", "leader"),
    [
        pytest.param((2,), (1, 2), (1,), 2, id="a live member of the ELR"),
        pytest.param((3, 2), (1, 2, 3), (1,), 2, id="by assignment"),
        pytest.param((2, 3), (1, 3), (1,), 3, id="not a dead one"),
        pytest.param((2, 3), (1, 2, 3), (1, 2), 3, id="not one that stops, too"),
        pytest.param((2,), (1, 2), (1, 2), None, id="the leader stays when nobody else may lead"),
        pytest.param((), (1, 2, 3), (1,), None, id="a replica in neither may lack records"),
    ],
)
def test_a_stopping_leader_hands_over_to_the_elr(
    elr: Replicas, online: Replicas, stopping: Replicas, leader: BrokerId | None
) -> None:
    """R15e: the ISR has only the leader; members of the ELR have all records below HW."""
    before = partition((1, 2, 3), (1,), 1, elr=elr)
    after = election.elect_for_shutdown(before, online, stopping, 3)
    if leader is None:
        assert after is None
    else:
        assert came_to(after, leader, (leader,))
        assert after is not None
        assert sorted((*after.isr, *after.elr)) == sorted((1, *elr))
        assert after.unclean_epoch == NO_EPOCH


def test_settling_a_sound_partition_changes_nothing() -> None:
    assert election.settle(partition((1, 2), (1, 2), 1), (1, 2), 1, {}) is None
    assert election.settle(partition((1, 2), (1,), NO_BROKER), (2,), 1, None) is None


def test_settling_drops_dead_followers_from_the_isr() -> None:
    """R15e: into the ELR, where the ISR falls below min ISR."""
    before = partition((1, 2, 3), (1, 2, 3), 1)
    for min_isr, elr in ((2, ()), (3, (2,))):
        after = election.settle(before, (1, 3), min_isr, None)
        assert came_to(after, 1, (1, 3))
        assert after is not None
        assert after.elr == elr


def test_settling_without_candidates_keeps_isr_and_elr_for_a_later_leader() -> None:
    before = partition((1, 2, 3), (1,), 1, elr=(2,))
    after = election.settle(before, (3,), 2, None)
    assert came_to(after, NO_BROKER, (1,))
    assert after is not None
    assert after.elr == (2,)


@pytest.mark.parametrize(
    ("isr", "elr", "expected"),
    [
        pytest.param((1, 2), (), (NO_BROKER, (2,), (), NO_BROKER), id="another member keeps the ISR"),
        pytest.param((1,), (2,), (NO_BROKER, (), (2,), NO_BROKER), id="another one keeps the ELR"),
        pytest.param((2,), (1,), (2, (2,), (), NO_BROKER), id="out of the ELR"),
        pytest.param((1,), (), (NO_BROKER, (), (), 1), id="the last of both is the last known leader"),
        pytest.param((), (1,), (NO_BROKER, (), (), 1), id="also out of the ELR"),
        pytest.param((2,), (), None, id="in neither"),
    ],
)
def test_a_replica_that_may_have_lost_records_is_distrusted(
    isr: Replicas, elr: Replicas, expected: tuple[BrokerId, Replicas, Replicas, BrokerId] | None
) -> None:
    """R15, R15e: it leaves ISR and ELR."""
    before = partition((1, 2), isr, isr[0] if isr else NO_BROKER, elr=elr)
    after = election.distrust(before, 1)
    found = None if after is None else (after.leader, after.isr, after.elr, after.last_known_leader)
    assert found == expected


def test_a_leader_that_comes_back_at_once_leads_in_a_new_epoch() -> None:
    """R15 what it led before it went down may be longer than what it has now."""
    before = partition((1, 2), (1,), 1)
    for trusted in (True, False):
        after = election.readmit(before, {1: trusted}, (1, 2), 1)
        assert after is not None
        assert (after.leader, after.isr, after.state_version) == (1, (1,), 8)
        assert after.leader_epoch > before.leader_epoch
        assert after.unclean_epoch == (NO_EPOCH if trusted else after.leader_epoch)


def test_of_replicas_that_come_back_together_none_is_elected_before_all_have_lost_their_roles() -> None:
    """R15: broker 1 would be the first in the assignment."""
    before = partition((1, 2, 3), (1, 2), NO_BROKER)
    after = election.readmit(before, {1: False, 2: True}, (1, 2), 2)
    assert after is not None
    assert (after.leader, after.isr, after.elr, after.unclean_epoch) == (2, (2,), (), NO_EPOCH)


BROKERS = (1, 2, 3, 4)
subsets = st.lists(st.sampled_from(BROKERS), unique=True).map(tuple)


@given(
    replicas=st.permutations(BROKERS).map(tuple),
    isr=subsets,
    elr=subsets,
    leading=st.booleans(),
    online=subsets,
    min_isr=st.integers(1, 4),
)
def test_settling_is_sound_whatever_happened(
    replicas: Replicas, isr: Replicas, elr: Replicas, leading: bool, online: Replicas, min_isr: int
) -> None:
    """R15e"""
    elr = tuple(one for one in elr if one not in isr)
    leader = isr[0] if isr and leading else NO_BROKER
    before = partition(replicas, isr, leader, elr=elr)
    after = election.settle(before, online, min_isr, None)
    settled = after or before
    assert set(settled.isr) | set(settled.elr) <= set(isr) | set(elr), "who is not eligible never becomes it"
    assert not set(settled.isr) & set(settled.elr)
    if settled.leader != NO_BROKER:
        assert settled.leader in online, "a leader is alive"
        assert settled.leader in settled.isr, "a leader is in sync"
        assert set(settled.isr) <= set(online), "the ISR of a led partition is alive"
        assert settled.leader in (*isr, *elr), "only an unclean election leaves ISR and ELR"
        if after is not None and len(settled.isr) < min_isr:
            assert set(settled.isr) | set(settled.elr) == set(isr) | set(elr), (
                "below min ISR none is forgotten"
            )
    else:
        assert (settled.isr, settled.elr) == (isr, elr), "who may lead one day is not forgotten"
        assert not (set(isr) | set(elr)) & set(online), "a member that is alive leads"
    if after is not None:
        assert election.settle(after, online, min_isr, None) is None, "settling twice changes nothing more"
