"""Who leads: every election as a table of (assigned, ISR, leader, online) and what comes out."""

from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.base.ids import NO_BROKER, BrokerId
from odradek.metadata.controller import election
from odradek.metadata.image import PartitionImage

Replicas: TypeAlias = tuple[BrokerId, ...]


def partition(replicas: Replicas, isr: Replicas, leader: BrokerId) -> PartitionImage:
    return PartitionImage(replicas, isr, leader, leader_epoch=4, state_version=7)


def came_to(state: PartitionImage | None, leader: BrokerId, isr: Replicas) -> bool:
    """Whether an election gave this leader and ISR, in the next epoch and one write."""
    assert state is not None, "nothing was elected"
    assert (state.leader, state.isr) == (leader, isr)
    assert state.leader_epoch == 5
    assert state.state_version == 8
    return True


@pytest.mark.parametrize(
    ("isr", "online", "leader", "isr_after"),
    [
        pytest.param((1, 2, 3), (2, 3), 2, (2, 3), id="the first assigned that is in sync and online"),
        pytest.param((3, 2), (2, 3), 2, (3, 2), id="by assignment, not by the order of the ISR"),
        pytest.param((1, 3), (2, 3), 3, (3,), id="never one out of sync"),
        pytest.param((1,), (1,), 1, (1,), id="the last member itself"),
    ],
)
def test_an_offline_election_takes_the_first_live_member(
    isr: Replicas, online: Replicas, leader: BrokerId, isr_after: Replicas
) -> None:
    before = partition((1, 2, 3), isr, 1)
    assert came_to(election.elect_offline(before, online, unclean=False), leader, isr_after)


def test_without_a_live_member_only_an_unclean_election_elects() -> None:
    before = partition((1, 2, 3), (1,), 1)
    assert election.elect_offline(before, (2, 3), unclean=False) is None
    assert came_to(election.elect_offline(before, (3, 2), unclean=True), 2, (2,))
    assert election.elect_offline(before, (), unclean=True) is None


def test_an_unclean_election_is_clean_where_it_can_be() -> None:
    before = partition((1, 2, 3), (1, 3), 1)
    assert came_to(election.elect_offline(before, (2, 3), unclean=True), 3, (3,))


def test_the_preferred_leader_is_elected_when_in_sync_and_online() -> None:
    assert came_to(election.elect_preferred(partition((1, 2), (2, 1), 2), (1, 2)), 1, (2, 1))
    assert election.elect_preferred(partition((1, 2), (2,), 2), (1, 2)) is None
    assert election.elect_preferred(partition((1, 2), (2, 1), 2), (2,)) is None


def test_a_reassignment_elects_one_that_stays() -> None:
    before = partition((3, 4, 1, 2), (1, 2, 4), 1)
    assert came_to(election.elect_for_reassignment(before, (3, 4), (1, 2, 3, 4)), 4, (1, 2, 4))
    assert election.elect_for_reassignment(before, (3,), (1, 2, 3, 4)) is None


def test_a_stopping_broker_leaves_leadership_and_isr() -> None:
    before = partition((1, 2, 3), (1, 2, 3), 1)
    assert came_to(election.elect_for_shutdown(before, (1, 2, 3), (1,)), 2, (2, 3))
    assert election.elect_for_shutdown(partition((1, 2), (1,), 1), (1, 2), (1,)) is None


def test_settling_a_sound_partition_changes_nothing() -> None:
    assert election.settle(partition((1, 2), (1, 2), 1), (1, 2), unclean=True) is None
    assert election.settle(partition((1, 2), (1,), NO_BROKER), (2,), unclean=False) is None


def test_settling_drops_dead_followers_from_the_isr() -> None:
    before = partition((1, 2, 3), (1, 2, 3), 1)
    assert came_to(election.settle(before, (1, 3), unclean=False), 1, (1, 3))


def test_settling_without_candidates_keeps_the_isr_for_a_later_leader() -> None:
    before = partition((1, 2, 3), (1, 2), 1)
    assert came_to(election.settle(before, (3,), unclean=False), NO_BROKER, (1, 2))


@pytest.mark.parametrize(
    ("isr", "expected"),
    [
        pytest.param((1, 2), (NO_BROKER, (2,)), id="another member keeps the ISR"),
        pytest.param((1,), None, id="the last member stays"),
        pytest.param((2,), None, id="not a member"),
    ],
)
def test_a_replica_that_may_have_lost_records_is_distrusted(
    isr: Replicas, expected: tuple[BrokerId, Replicas] | None
) -> None:
    """R15 the ISR is left by a replica that stopped uncleanly, unless it is the last."""
    before = partition((1, 2), isr, 1 if 1 in isr else NO_BROKER)
    after = election.distrust(before, 1)
    assert (None if after is None else (after.leader, after.isr)) == expected


def test_a_leader_that_comes_back_at_once_leads_in_a_new_epoch() -> None:
    """R15 what it led before it went down may be longer than what it has now."""
    before = partition((1, 2), (1,), 1)
    after = election.readmit(before, 1, (1, 2), trusted=False, unclean=True)
    assert after is not None
    assert (after.leader, after.isr, after.state_version) == (1, (1,), 8)
    assert after.leader_epoch > before.leader_epoch


BROKERS = (1, 2, 3, 4)
subsets = st.lists(st.sampled_from(BROKERS), unique=True).map(tuple)


@given(
    replicas=st.permutations(BROKERS).map(tuple),
    isr=subsets,
    leading=st.booleans(),
    online=subsets,
    unclean=st.booleans(),
)
def test_settling_is_sound_whatever_happened(
    replicas: Replicas, isr: Replicas, leading: bool, online: Replicas, unclean: bool
) -> None:
    leader = isr[0] if isr and leading else NO_BROKER
    before = partition(replicas, isr, leader)
    after = election.settle(before, online, unclean=unclean)
    settled = after or before
    if settled.leader != NO_BROKER:
        assert settled.leader in online, "a leader is alive"
        assert settled.leader in settled.isr, "a leader is in sync"
        assert set(settled.isr) <= set(online), "the ISR of a led partition is alive"
        assert unclean or settled.leader in isr, "only an unclean election leaves the ISR"
    else:
        assert settled.isr == isr, "who may lead one day is not forgotten"
        assert not (set(isr) & set(online)), "a member in sync that is alive leads"
    if after is not None:
        assert election.settle(after, online, unclean=unclean) is None, "settling twice changes nothing more"
