"""One leader in each epoch, and every leader holds what was committed before it."""

from __future__ import annotations

from typing import TypeAlias

from odradek.base.ids import BrokerId, LeaderEpoch, Offset
from odradek.replication import Partition
from odradek.testing.sim.node import SimNode
from odradek.testing.sim.trial.checkers.checker import Checker, Scene, brokers_text
from odradek.testing.sim.trial.history import Place

_Facts: TypeAlias = tuple[Offset, Offset, Offset, Offset, LeaderEpoch, bool]
"""Log start, LSO, HW, LEO, leader epoch, and whether the broker leads."""


class OneLeaderPerEpoch(Checker):
    """R5a: no two brokers ever lead a partition in the same epoch."""

    NAME = "one leader in each epoch"

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._leaders: dict[tuple[Place, LeaderEpoch], BrokerId] = {}
        # The epoch in which each partition was seen as leader last.
        self._seen: dict[Partition, LeaderEpoch] = {}

    def look(self) -> None:
        """See `Checker.look`."""
        for node, partition in self.scene.view.hosted():
            epoch = partition.leader_epoch
            if partition.leadership is not None and self._seen.get(partition) != epoch:
                self._seen[partition] = epoch
                place = self.scene.view.place_of(partition)
                first = self._leaders.setdefault((place, epoch), node.broker_id)
                if first != node.broker_id:
                    self.violated(
                        (place, epoch),
                        f"brokers {first} and {node.broker_id} both led {place} in epoch {epoch}",
                    )


class CommittedIsKept(Checker):
    """R7, R11, R15e: what is below a leader's HW is in the logs of the ISR, and of all later leaders.

    Only leaders of the epoch that the store names are compared: an older one does not know better. A broker
    whose disk has lost something is compared when the controller has dealt with its return.
    """

    NAME = "what is committed is in every in-sync replica"

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self.committed: dict[Place, tuple[Offset, BrokerId, LeaderEpoch]] = {}
        """The highest HW of any leader, and whose it was."""
        self._high_watermarks: dict[tuple[SimNode, Place, LeaderEpoch], Offset] = {}
        # What each partition was like at the last look; most are as they were.
        self._facts: dict[Partition, _Facts] = {}
        self._surroundings: tuple[object, ...] = ()

    def look(self) -> None:
        """See `Checker.look`; only what has changed since the last look is compared."""
        view, losses = self.scene.view, self.scene.losses
        returning = losses.not_readmitted()
        surroundings = view.version, returning, losses.has_lost
        is_all, self._surroundings = surroundings != self._surroundings, surroundings
        hosted = list(view.hosted())
        changed = {
            partition.topic_partition for node, partition in hosted if self._is_changed(node, partition)
        }
        ends: dict[Place, dict[BrokerId, Offset]] = {}
        leading = []
        for node, partition in hosted if is_all or changed else ():
            if is_all or partition.topic_partition in changed:
                place, log = view.place_of(partition), partition.log
                ends.setdefault(place, {})[node.broker_id] = log.end_offset
                if partition.leadership is not None:
                    leading.append((node, partition, place, log.high_watermark.offset, log.end_offset))
        for node, partition, place, high_watermark, end in leading:
            state = view.state(partition.topic_partition)
            if state is None or state.leader_epoch != partition.leader_epoch:
                continue
            if not self.scene.is_promised(place):
                self.committed.pop(place, None)
                continue
            self._compare_epoch(node, place, partition.leader_epoch, high_watermark)
            committed, whose, epoch = self.committed.get(place, (0, node.broker_id, 0))
            if end < committed:
                self.violated(
                    place,
                    f"broker {node.broker_id} leads {place} in epoch {partition.leader_epoch} with its log up"
                    f" to {end}, but broker {whose} had committed up to {committed} in epoch {epoch}",
                )
            if high_watermark > committed:
                self.committed[place] = high_watermark, node.broker_id, partition.leader_epoch
            for member in state.isr:
                has = ends[place].get(member)
                if has is not None and has < high_watermark and member not in returning:
                    self.violated(
                        (place, member),
                        f"broker {node.broker_id} leads {place} with the high watermark {high_watermark}, but"
                        f" broker {member} of the ISR {brokers_text(state.isr)} has its log up to {has}",
                    )

    def _is_changed(self, node: SimNode, partition: Partition) -> bool:
        log = partition.log
        high_watermark, end = log.high_watermark.offset, log.end_offset
        start, last_stable = log.log_start_offset, log.last_stable.offset
        is_leader = partition.leadership is not None
        facts = (start, last_stable, high_watermark, end, partition.leader_epoch, is_leader)
        if self._facts.get(partition) == facts:
            return False
        self._facts[partition] = facts
        if not start <= last_stable <= high_watermark <= end:
            place = self.scene.view.place_of(partition)
            self.violated(
                (place, node.broker_id),
                f"broker {node.broker_id} has {place} from {start} to {end}, with the last stable offset"
                f" {last_stable} and the high watermark {high_watermark}",
            )
        return True

    def _compare_epoch(self, life: SimNode, place: Place, epoch: LeaderEpoch, high_watermark: Offset) -> None:
        before = self._high_watermarks.get((life, place, epoch), 0)
        if high_watermark < before:
            self.violated(
                (place, epoch),
                f"the high watermark of {place} fell from {before} to {high_watermark} in epoch {epoch}",
            )
        self._high_watermarks[life, place, epoch] = high_watermark
