"""Groups as their members see them: committed offsets stay, nobody owns what another owns, epochs rise.

Only answers are compared, in their order (`groups`). What a coordinator keeps in memory alone may go with it,
here as in Kafka: a generation that nobody synced may come again, and a classic member that left may be back.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from odradek.testing.sim.trial.checkers.checker import Checker, Scene
from odradek.testing.sim.trial.groups import (
    NO_COMMIT,
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
from odradek.testing.sim.trial.workloads.group_client import TOPICS

NEVER = 1 << 60


class CommittedOffsetsAreKept(Checker):
    """R19: OffsetFetch answers the last acknowledged commit, or one that may have come after it.

    A commit that was read before, counts as acknowledged from then on.
    """

    NAME = "no committed offset is lost"

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._seen_writes = 0
        self._seen_reads = 0
        self._writes: dict[tuple[str, Place], list[OffsetWrite]] = {}

    def look(self) -> None:
        """See `Checker.look`."""
        groups = self.scene.groups
        for write in groups.writes[self._seen_writes :]:
            self._writes.setdefault((write.group, write.place), []).append(write)
        self._seen_writes = len(groups.writes)
        while self._seen_reads < len(groups.reads):
            self._check(groups.reads[self._seen_reads])
            self._seen_reads += 1

    def conclude(self) -> None:
        """See `Checker.conclude`."""
        self.look()

    def _check(self, read: OffsetRead) -> None:
        writes = self._writes.get((read.group, read.place), [])
        held = [write for write in writes if write.number == read.number and write.sent < read.done]
        # The latest that was sent among those that certainly counted when it was asked.
        certain = [write for write in writes if write.done is not None and write.done < read.sent]
        newest = max(certain, key=lambda write: write.sent, default=None)
        if read.number == NO_COMMIT:
            if newest is not None and newest.number != NO_COMMIT and not _may_follow(held, newest):
                self._lost(read, newest, "nothing")
            return
        if not held or held[0].offset != read.offset:
            words = f"{read.client} read offset {read.offset} of {read.place}, with the commit {read.number}"
            self.violated((read.group, read.place), f"the group {read.group} never committed it: {words}")
            return
        write = held[0]
        if write.is_refused:
            self.violated(
                (read.group, read.place, "refused"),
                f"{read.client} read offset {read.offset} of {read.place} of the group {read.group}, whose"
                f" commit {write.number} by {write.client} was refused",
            )
        elif newest is not None and not _may_follow(held, newest):
            self._lost(read, newest, f"commit {write.number} of offset {write.offset}")
        else:
            write.done = min(read.done, write.done or NEVER)

    def _lost(self, read: OffsetRead, newest: OffsetWrite, found: str) -> None:
        lost = "a deletion" if newest.number == NO_COMMIT else f"commit {newest.number} of {newest.offset}"
        self.violated(
            (read.group, read.place, "lost"),
            f"{read.client} read {found} for {read.place} of the group {read.group}, although {lost} by"
            f" {newest.client} had counted after that",
        )


def _may_follow(held: list[OffsetWrite], newest: OffsetWrite) -> bool:
    """Whether one of these may have counted after `newest`."""
    return any(not write.is_refused and (write.done is None or write.done > newest.sent) for write in held)


class PartitionsHaveOneOwner(Checker):
    """In a generation of a classic group, and at any time in a consumer group, a partition has one owner."""

    NAME = "no partition is owned twice"

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._seen = 0
        # By group and generation, the name of the assignment; and who owns each partition.
        self._assignments: dict[tuple[str, int], str] = {}
        self._owners: dict[tuple[str, int, PlaceNumber], str] = {}

    def look(self) -> None:
        """See `Checker.look`."""
        learned = self.scene.groups.learned
        for fact in learned[self._seen :]:
            if isinstance(fact, Synced):
                self._on_synced(fact)
            elif isinstance(fact, Granted) and fact.also_owned_by and fact.asked.is_firm:
                self.violated(
                    (fact.group, fact.place),
                    f"{fact.place} of the group {fact.group} was given to {fact.member_id}, although"
                    f" {', '.join(fact.also_owned_by)} had not given it up",
                )
        self._seen = len(learned)

    def _on_synced(self, fact: Synced) -> None:
        if not fact.assignment:
            return
        about = fact.group, fact.generation
        first = self._assignments.setdefault(about, fact.assignment)
        if first != fact.assignment:
            self.violated(
                (*about, "assignment"),
                f"in generation {fact.generation} of the group {fact.group} {fact.member_id} got a part of"
                f" the assignment {fact.assignment}, and others of {first}",
            )
        for place in fact.places:
            owner = self._owners.setdefault((*about, place), fact.name)
            if owner != fact.name:
                self.violated(
                    (*about, place),
                    f"in generation {fact.generation} of the group {fact.group} both {owner} and {fact.name}"
                    f" were given {place}",
                )


class EpochsRise(Checker):
    """What brokers told of generations and member epochs, in the order in which it was asked for."""

    NAME = "generations and member epochs rise"

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._seen = 0
        # By group, the ticks at which a higher generation or epoch was told, and those.
        self._told: dict[str, tuple[list[int], list[int]]] = {}
        # By group and member, when its epoch was told last, and the epoch.
        self._epochs: dict[tuple[str, str], tuple[int, int]] = {}

    def look(self) -> None:
        """See `Checker.look`."""
        learned = self.scene.groups.learned
        for fact in learned[self._seen :]:
            match fact:
                case Joined():
                    self._check_generation(fact, "was told, on joining,")
                case Synced():
                    self._check_generation(fact, "synced in")
                    self._note(fact.group, fact.asked.done, fact.generation)
                case Beaten():
                    self._on_beaten(fact)
        self._seen = len(learned)

    def _check_generation(self, fact: Joined | Synced, verb: str) -> None:
        known = self._known(fact.group, fact.asked.sent)
        if fact.asked.is_firm and fact.generation < known:
            self.violated(
                (fact.group, "generation"),
                f"{fact.member_id} {verb} generation {fact.generation} of the group {fact.group}, in which"
                f" others had synced in generation {known}",
            )

    def _on_beaten(self, fact: Beaten) -> None:
        about = fact.group, fact.member_id
        known = self._epochs.get(about)
        is_firm, sent = fact.asked.is_firm, fact.asked.sent
        if is_firm and known is not None and known[0] < sent and fact.epoch < known[1]:
            self.violated(
                (*about, "epoch"),
                f"{fact.member_id} of the group {fact.group} was told epoch {fact.epoch} after {known[1]}",
            )
        highest = self._known(fact.group, sent)
        is_new = fact.sent_epoch == 0 and known is None and fact.instance_id is None
        if is_firm and is_new and fact.epoch < highest:
            self.violated(
                (fact.group, "joined at"),
                f"{fact.member_id} has joined the group {fact.group} at epoch {fact.epoch}, although the"
                f" epoch was {highest} before",
            )
        if known is None or fact.epoch >= known[1]:
            self._epochs[about] = fact.asked.done, fact.epoch
        self._note(fact.group, fact.asked.done, fact.epoch)

    def _note(self, group: str, tick: int, epoch: int) -> None:
        ticks, epochs = self._told.setdefault(group, ([], []))
        if not epochs or epoch > epochs[-1]:
            ticks.append(tick)
            epochs.append(epoch)

    def _known(self, group: str, tick: int) -> int:
        """The highest generation or epoch that was told before a tick."""
        ticks, epochs = self._told.get(group, ([], []))
        before = bisect_left(ticks, tick)
        return epochs[before - 1] if before else -1


class FencedMembersStayFenced(Checker):
    """No commit is acknowledged whose member others have replaced before it was sent."""

    NAME = "fenced members commit nothing"

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._seen_facts = 0
        # The commits that are not answered yet, in their order, and how many were looked at.
        self._seen_writes = 0
        self._open: list[OffsetWrite] = []
        self._synced: dict[str, list[Synced]] = {}
        self._granted: dict[tuple[str, PlaceNumber], list[Granted]] = {}
        self._left: dict[tuple[str, str], int] = {}

    def look(self) -> None:
        """See `Checker.look`."""
        groups = self.scene.groups
        for fact in groups.learned[self._seen_facts :]:
            match fact:
                case Synced():
                    self._synced.setdefault(fact.group, []).append(fact)
                case Granted():
                    self._granted.setdefault((fact.group, fact.place), []).append(fact)
                case Left() if fact.asked.is_firm:
                    self._left.setdefault((fact.group, fact.member_id), fact.asked.done)
        self._seen_facts = len(groups.learned)
        self._open += [write for write in groups.writes[self._seen_writes :] if write.generation >= 0]
        self._seen_writes = len(groups.writes)
        for write in self._open:
            if write.is_acknowledged:
                for words in self._newer(write):
                    self.violated(
                        (write.group, write.client),
                        f"a commit of {write.member_id} in generation or epoch {write.generation} of the"
                        f" group {write.group} was acknowledged, although {words} before it was sent",
                    )
        self._open = [write for write in self._open if not (write.is_acknowledged or write.is_refused)]

    def conclude(self) -> None:
        """See `Checker.conclude`."""
        self.look()

    def _newer(self, write: OffsetWrite) -> Iterator[str]:
        """What had replaced the member."""
        for synced in reversed(self._synced.get(write.group, [])):
            if synced.asked.done >= write.sent:
                continue
            if synced.generation > write.generation:
                yield f"others had synced in generation {synced.generation}"
            break
        for synced in self._synced.get(write.group, []):
            is_replaced = (
                synced.asked.done < write.sent
                and synced.generation == write.generation
                and synced.instance_id is not None
                and synced.member_id != write.member_id
                and self._is_instance(write, synced)
            )
            if is_replaced:
                yield f"{synced.member_id} had taken the place of its instance id {synced.instance_id}"
        place = write.place.topic, write.place.partition
        grants = [one for one in self._granted.get((write.group, place), []) if one.asked.done < write.sent]
        if grants and grants[-1].asked.is_firm and grants[-1].member_id != write.member_id:
            yield f"{place} had been given to {grants[-1].member_id}"
        if self._left.get((write.group, write.member_id), NEVER) < write.sent:
            yield "it had left"

    def _is_instance(self, write: OffsetWrite, newer: Synced) -> bool:
        """Whether the committer had synced under the same instance id before that."""
        return any(
            synced.member_id == write.member_id
            and synced.instance_id == newer.instance_id
            and synced.asked.done < newer.asked.sent
            for synced in self._synced.get(write.group, [])
        )


class GroupsBecomeStable(Checker):
    """G1, G4: soon after the mishaps all members have joined, and every partition has an owner."""

    NAME = "groups are stable when mishaps are over"

    def conclude(self) -> None:
        """See `Checker.conclude`."""
        by_group: dict[str, list[FinalState]] = {group: [] for group in self.scene.groups.meant}
        for state in self.scene.groups.final:
            by_group[state.group].append(state)
        for group, states in by_group.items():
            self._check(group, states)

    def _check(self, group: str, states: list[FinalState]) -> None:
        meant = self.scene.groups.meant[group]
        if len(states) < meant:
            self.violated(
                group, f"{meant - len(states)} members of the group {group} still wait for an answer"
            )
            return
        for state in states:
            if state.words:
                self.violated((group, state.client), f"{state.client} of the group {group}: {state.words}")
                return
        if len({state.generation for state in states}) > 1:
            told = {state.client: state.generation for state in states}
            self.violated((group, "generation"), f"the members of the group {group} are at {told}")
            return
        owned = sorted(place for state in states for place in state.places)
        wanted = sorted(
            (place.topic, place.partition)
            for place, _, _ in self.scene.view.states()
            if place.topic in TOPICS
        )
        if owned != wanted:
            told_places = {state.client: list(state.places) for state in states}
            self.violated((group, "owned"), f"the members of the group {group} own {told_places}")
