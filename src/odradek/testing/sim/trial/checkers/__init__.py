"""The named checkers of a trial: what must be true of a cluster, seen from outside.

- `controllers`: one controller decides; brokers obey orders in their order.
- `disks`: disks hold what brokers rely on.
- `in_sync`: members of the ISR are in sync, and what is acknowledged is on enough brokers.
- `coordinators`: groups and transactional ids are kept where their partition is led.
- `groups`: committed offsets are kept, partitions have one owner, groups get stable again.
- `leaders`: one leader in each epoch; what is committed is in every in-sync replica.
- `records`: nothing acknowledged is lost or comes twice; logs are equal; answers agree.
- `transactions`: they are whole, end, and readers see exactly what is committed.
- `compaction`: compacted topics keep the last record of each key.
- `liveness`: the cluster gets into order when mishaps are over; every request is answered.
- `wakeups`: a produce that can be answered does not wait any longer.
- `examination`: a client that asks for what the load's seldom do is answered rightly.
"""

from typing import Final

from odradek.testing.sim.trial.checkers.checker import Checker, Scene, Violation
from odradek.testing.sim.trial.checkers.compaction import KeysKeepTheirLast
from odradek.testing.sim.trial.checkers.controllers import OneControllerDecides, OrdersAreInOrder
from odradek.testing.sim.trial.checkers.coordinators import CoordinatorsLead
from odradek.testing.sim.trial.checkers.disks import DisksKeepTheirPromises
from odradek.testing.sim.trial.checkers.examination import AnswersAreRight
from odradek.testing.sim.trial.checkers.groups import (
    CommittedOffsetsAreKept,
    EpochsRise,
    FencedMembersStayFenced,
    GroupsBecomeStable,
    PartitionsHaveOneOwner,
)
from odradek.testing.sim.trial.checkers.in_sync import MembersAreInSync
from odradek.testing.sim.trial.checkers.leaders import CommittedIsKept, OneLeaderPerEpoch
from odradek.testing.sim.trial.checkers.liveness import ClusterIsInOrder, RequestsAreAnswered
from odradek.testing.sim.trial.checkers.records import (
    AnswersAgree,
    NothingAcknowledgedIsLost,
    ReplicasAreEqual,
)
from odradek.testing.sim.trial.checkers.transactions import (
    EveryTransactionEnds,
    ReadCommittedIsExact,
    TransactionsAreWhole,
)
from odradek.testing.sim.trial.checkers.wakeups import WaitingProducesAreWoken

CHECKERS: Final[tuple[type[Checker], ...]] = (
    OneLeaderPerEpoch,
    CommittedIsKept,
    OneControllerDecides,
    OrdersAreInOrder,
    MembersAreInSync,
    DisksKeepTheirPromises,
    AnswersAgree,
    ReplicasAreEqual,
    NothingAcknowledgedIsLost,
    CommittedOffsetsAreKept,
    PartitionsHaveOneOwner,
    EpochsRise,
    FencedMembersStayFenced,
    GroupsBecomeStable,
    CoordinatorsLead,
    TransactionsAreWhole,
    ReadCommittedIsExact,
    EveryTransactionEnds,
    KeysKeepTheirLast,
    ClusterIsInOrder,
    RequestsAreAnswered,
    WaitingProducesAreWoken,
    # The last one: its requests change the cluster.
    AnswersAreRight,
)
"""All of them."""

__all__ = ["CHECKERS", "Checker", "Scene", "Violation"]
