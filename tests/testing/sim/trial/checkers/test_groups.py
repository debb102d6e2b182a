"""What the checkers of groups find, in answers that nobody may get."""

from uuid import UUID

import pytest

from odradek.testing.sim.trial.checkers import Checker
from odradek.testing.sim.trial.checkers.groups import (
    CommittedOffsetsAreKept,
    EpochsRise,
    FencedMembersStayFenced,
    GroupsBecomeStable,
    PartitionsHaveOneOwner,
)
from odradek.testing.sim.trial.groups import (
    NO_COMMIT,
    Asked,
    Beaten,
    FinalState,
    Granted,
    Joined,
    Left,
    OffsetRead,
    OffsetWrite,
    PlaceNumber,
    Synced,
)
from odradek.testing.sim.trial.history import Place
from tests.testing.sim.trial.checkers.cluster_bench import ClusterBench

T: PlaceNumber = ("orders", 0)
PLACE = Place("orders", UUID(int=7), 0)


class GroupFacts:
    """What members of the group g were told."""

    def __init__(self) -> None:
        self.scene = ClusterBench().scene
        self.groups = self.scene.groups

    def found(self, checker: type[Checker]) -> list[str]:
        """What a checker says of it."""
        made = checker(self.scene)
        made.look()
        made.conclude()
        return [violation.words for violation in made.found.values()]

    def asked(self, *, is_firm: bool = True) -> Asked:
        return Asked(self.groups.tick(), self.groups.tick(), is_firm)

    def commit(self, offset: int, member_id: str = "", generation: int = -1) -> OffsetWrite:
        """An acknowledged one; a deletion with NO_COMMIT."""
        write = self.groups.write("g", PLACE, offset, "client", member_id, generation)
        write.done, write.is_acknowledged = self.groups.tick(), True
        return write

    def read(self, write: OffsetWrite | None) -> None:
        number, offset = (NO_COMMIT, NO_COMMIT) if write is None else (write.number, write.offset)
        sent, done = self.groups.tick(), self.groups.tick()
        self.groups.reads.append(OffsetRead("g", PLACE, number, offset, "reader", sent, done))

    def synced(
        self, member_id: str, generation: int, assignment: str = "n/1", instance_id: str | None = None
    ) -> None:
        fact = Synced("g", member_id, instance_id, generation, assignment, [T], self.asked())
        self.groups.learned.append(fact)

    def beaten(self, member_id: str, epoch: int, sent_epoch: int = 1) -> None:
        self.groups.learned.append(Beaten("g", member_id, None, sent_epoch, epoch, self.asked()))

    def granted(self, member_id: str, *others: str, is_firm: bool = True) -> None:
        self.groups.learned.append(Granted("g", member_id, T, self.asked(is_firm=is_firm), others))


@pytest.fixture(name="facts")
def made_facts() -> GroupFacts:
    return GroupFacts()


# --- offsets


def test_the_last_commit_and_none_before_the_first_are_what_is_there(facts: GroupFacts) -> None:
    facts.read(None)
    facts.read(facts.commit(4))
    assert facts.found(CommittedOffsetsAreKept) == []


@pytest.mark.parametrize("is_deletion", [False, True])
def test_an_older_commit_than_the_last_one_is_a_loss(facts: GroupFacts, is_deletion: bool) -> None:
    first = facts.commit(4)
    facts.commit(NO_COMMIT if is_deletion else 5)
    facts.read(first)
    (words,) = facts.found(CommittedOffsetsAreKept)
    assert words.startswith("reader read commit 0 of offset 4 for orders-0 of the group g, although")


def test_nothing_after_a_commit_is_a_loss(facts: GroupFacts) -> None:
    facts.commit(4)
    facts.read(None)
    (words,) = facts.found(CommittedOffsetsAreKept)
    assert words.startswith("reader read nothing for orders-0")


def test_after_a_deletion_there_may_be_nothing(facts: GroupFacts) -> None:
    facts.commit(4)
    facts.commit(NO_COMMIT)
    facts.read(None)
    assert facts.found(CommittedOffsetsAreKept) == []


def test_a_commit_without_an_answer_may_count_at_any_time(facts: GroupFacts) -> None:
    unanswered = facts.groups.write("g", PLACE, 3, "client")
    last = facts.commit(4)
    facts.read(last)
    facts.read(unanswered)
    assert facts.found(CommittedOffsetsAreKept) == []


def test_a_commit_that_was_read_stays(facts: GroupFacts) -> None:
    first = facts.commit(4)
    unanswered = facts.groups.write("g", PLACE, 5, "client")
    facts.read(unanswered)
    facts.read(first)
    assert len(facts.found(CommittedOffsetsAreKept)) == 1


def test_a_refused_commit_never_counts(facts: GroupFacts) -> None:
    write = facts.groups.write("g", PLACE, 5, "client")
    write.is_refused = True
    facts.read(write)
    (words,) = facts.found(CommittedOffsetsAreKept)
    assert words.endswith("whose commit 0 by client was refused")


# --- partitions


def test_one_generation_has_one_assignment_and_one_owner_of_each_partition(facts: GroupFacts) -> None:
    facts.synced("a", 1)
    facts.synced("b", 1, "n/2")
    assert len(facts.found(PartitionsHaveOneOwner)) == 2


def test_a_static_member_that_is_back_has_its_place(facts: GroupFacts) -> None:
    facts.synced("a", 1, instance_id="i")
    facts.synced("b", 1, instance_id="i")
    facts.synced("b", 2, "n/2", instance_id="i")
    assert facts.found(PartitionsHaveOneOwner) == []


def test_a_partition_that_another_has_not_given_up(facts: GroupFacts) -> None:
    facts.granted("a")
    facts.granted("b", "a", is_firm=False)
    assert facts.found(PartitionsHaveOneOwner) == []
    facts.granted("b", "a")
    assert facts.found(PartitionsHaveOneOwner) == [
        "('orders', 0) of the group g was given to b, although a had not given it up"
    ]


# --- epochs


def test_generations_rise(facts: GroupFacts) -> None:
    facts.synced("a", 4)
    facts.groups.learned.append(Joined("g", "b", 4, facts.asked()))
    assert facts.found(EpochsRise) == []
    facts.groups.learned.append(Joined("g", "b", 3, facts.asked()))
    assert len(facts.found(EpochsRise)) == 1


def test_member_epochs_rise(facts: GroupFacts) -> None:
    facts.beaten("a", 4)
    facts.beaten("a", 4)
    assert facts.found(EpochsRise) == []
    facts.beaten("a", 3)
    assert facts.found(EpochsRise) == ["a of the group g was told epoch 3 after 4"]


def test_a_new_member_does_not_join_at_an_earlier_epoch(facts: GroupFacts) -> None:
    facts.beaten("a", 4)
    facts.beaten("b", 2, sent_epoch=0)
    assert len(facts.found(EpochsRise)) == 1


# --- fenced members


def test_members_commit_in_the_generation_of_the_others(facts: GroupFacts) -> None:
    facts.synced("a", 4)
    facts.commit(1, "a", 4)
    assert facts.found(FencedMembersStayFenced) == []
    facts.synced("b", 5)
    facts.commit(2, "a", 4)
    (words,) = facts.found(FencedMembersStayFenced)
    assert "although others had synced in generation 5" in words


def test_who_has_its_instance_id_has_fenced_a_member(facts: GroupFacts) -> None:
    facts.synced("a", 4, instance_id="i")
    facts.synced("b", 4, instance_id="i")
    facts.commit(1, "b", 4)
    assert facts.found(FencedMembersStayFenced) == []
    facts.commit(2, "a", 4)
    assert len(facts.found(FencedMembersStayFenced)) == 1


def test_a_partition_of_another_is_not_committed(facts: GroupFacts) -> None:
    facts.granted("a")
    facts.commit(1, "a", 4)
    facts.granted("b")
    facts.commit(2, "b", 5)
    assert facts.found(FencedMembersStayFenced) == []
    facts.commit(3, "a", 4)
    assert len(facts.found(FencedMembersStayFenced)) == 1


def test_a_member_that_has_left_commits_nothing(facts: GroupFacts) -> None:
    facts.groups.learned.append(Left("g", "a", facts.asked()))
    facts.commit(1, "a", 4)
    (words,) = facts.found(FencedMembersStayFenced)
    assert "although it had left" in words


# --- the end


def final(facts: GroupFacts, words: str = "", generation: int = 4, *places: PlaceNumber) -> None:
    client = f"client-{len(facts.groups.final)}"
    facts.groups.final.append(FinalState("g", client, words, generation, places))


def test_a_member_that_waits_for_ever(facts: GroupFacts) -> None:
    facts.groups.meant["g"] = 1
    assert facts.found(GroupsBecomeStable) == ["1 members of the group g still wait for an answer"]


def test_a_member_that_could_not_join(facts: GroupFacts) -> None:
    facts.groups.meant["g"] = 2
    final(facts)
    final(facts, "it waits to join")
    assert facts.found(GroupsBecomeStable) == ["client-1 of the group g: it waits to join"]


def test_members_in_two_generations(facts: GroupFacts) -> None:
    facts.groups.meant["g"] = 2
    final(facts)
    final(facts, "", 5)
    assert facts.found(GroupsBecomeStable) == [
        "the members of the group g are at {'client-0': 4, 'client-1': 5}"
    ]


def test_partitions_with_two_owners_at_the_end(facts: GroupFacts) -> None:
    facts.groups.meant["g"] = 1
    final(facts)
    assert facts.found(GroupsBecomeStable) == [], "the bench has no topic that groups read"
    facts.groups.final.clear()
    final(facts, "", 4, T)
    assert len(facts.found(GroupsBecomeStable)) == 1
