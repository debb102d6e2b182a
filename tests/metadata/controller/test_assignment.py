"""Where new partitions go: worked example, balance, racks."""

from collections import Counter
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.base.execution import exhaust
from odradek.base.ids import BrokerId
from odradek.metadata.controller.assignment import Assignment, assign_replicas
from odradek.metadata.image import BrokerImage, Endpoint

ENDPOINTS = (Endpoint("PLAINTEXT", "PLAINTEXT", "localhost", 9092),)


def _assigned(live: Mapping[BrokerId, BrokerImage], **asked: int) -> Assignment:
    return exhaust(assign_replicas(live, **asked))


def brokers(racks: Mapping[BrokerId, str | None]) -> dict[BrokerId, BrokerImage]:
    return {broker_id: BrokerImage(broker_id, ENDPOINTS, rack) for broker_id, rack in racks.items()}


def test_leaders_go_round_and_followers_shift_after_each_round() -> None:
    five = brokers(dict.fromkeys(range(5)))
    assignment = _assigned(five, partition_count=10, replication_factor=3, start=0, shift=0)
    assert list(assignment.values()) == [
        (0, 1, 2),
        (1, 2, 3),
        (2, 3, 4),
        (3, 4, 0),
        (4, 0, 1),
        (0, 2, 3),
        (1, 3, 4),
        (2, 4, 0),
        (3, 0, 1),
        (4, 1, 2),
    ]


def test_racks_alternate_before_any_holds_two_replicas() -> None:
    racked = brokers({0: "a", 1: "a", 2: "b", 3: "b"})
    assignment = _assigned(racked, partition_count=8, replication_factor=2, start=0, shift=0)
    assert all({0, 1} & set(replicas) and {2, 3} & set(replicas) for replicas in assignment.values())


def test_a_broker_without_a_rack_makes_racks_count_for_nothing() -> None:
    mixed = brokers({0: "a", 1: None, 2: "b"})
    plain = brokers({0: None, 1: None, 2: None})

    def assigned(brokers: dict[BrokerId, BrokerImage]) -> Mapping[int, tuple[BrokerId, ...]]:
        return _assigned(brokers, partition_count=6, replication_factor=2, start=1, shift=1)

    assert assigned(mixed) == assigned(plain)


def test_added_partitions_continue_the_numbering() -> None:
    three = brokers(dict.fromkeys(range(3)))
    whole = _assigned(three, partition_count=5, replication_factor=1, start=1, shift=1)
    rest = _assigned(three, partition_count=2, replication_factor=1, start=1, shift=1, first_partition=3)
    assert list(rest) == [3, 4]
    assert [rest[number][0] for number in rest] == [whole[number][0] for number in rest]


@st.composite
def clusters(draw: st.DrawFn) -> tuple[dict[BrokerId, BrokerImage], int]:
    count = draw(st.integers(1, 9))
    racks = draw(st.lists(st.sampled_from("abc"), min_size=count, max_size=count))
    with_racks = draw(st.booleans())
    made = brokers({10 + number: rack if with_racks else None for number, rack in enumerate(racks)})
    return made, draw(st.integers(1, count))


@pytest.mark.slow
@given(
    cluster=clusters(),
    partition_count=st.integers(1, 60),
    start=st.integers(0, 8),
    shift=st.integers(0, 8),
)
def test_every_assignment_is_sound_and_balanced(
    cluster: tuple[dict[BrokerId, BrokerImage], int], partition_count: int, start: int, shift: int
) -> None:
    members, factor = cluster
    assignment = _assigned(
        members,
        partition_count=partition_count,
        replication_factor=factor,
        start=start % len(members),
        shift=shift,
    )
    assert list(assignment) == list(range(partition_count))
    leaders = Counter(replicas[0] for replicas in assignment.values())
    by_leader = [leaders[broker_id] for broker_id in members]
    assert max(by_leader) - min(by_leader) <= 1, f"leaders are uneven: {leaders}"
    racks = {broker_id: members[broker_id].rack for broker_id in members}
    for replicas in assignment.values():
        assert len(set(replicas)) == len(replicas) == factor
        if None not in racks.values():
            spread = len({racks[replica] for replica in replicas})
            assert spread == min(factor, len(set(racks.values()))), f"{replicas} leave out a rack: {racks}"


@given(count=st.integers(2, 8), factor=st.integers(1, 8), rounds=st.integers(1, 4))
def test_without_racks_whole_rounds_give_every_broker_the_same(count: int, factor: int, rounds: int) -> None:
    factor = min(factor, count)
    members = brokers(dict.fromkeys(range(count)))
    assignment = _assigned(
        members, partition_count=count * rounds, replication_factor=factor, start=0, shift=0
    )
    held = Counter(replica for replicas in assignment.values() for replica in replicas)
    assert set(held.values()) == {rounds * factor}
