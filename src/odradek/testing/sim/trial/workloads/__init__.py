"""What clients do in a trial: each file is one kind of client, written as a script.

To add one: write its script (`run`), let it note what it did in `load.history` or in a history of its own on
`Load` (as `load.transactions`), and name it in CLIENTS. A checker (`checkers`) compares that with what the
brokers hold, and bugs planted for it (`campaigns/sim/planted`) show that the mix finds what it should.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from odradek.base.values import value
from odradek.testing.sim.trial.scripts import Script
from odradek.testing.sim.trial.workloads.consumer import Consumer
from odradek.testing.sim.trial.workloads.idempotent_producer import IdempotentProducer
from odradek.testing.sim.trial.workloads.plain_producer import PlainProducer
from odradek.testing.sim.trial.workloads.topics import TopicChanges
from odradek.testing.sim.trial.workloads.transactional_producer import CLASSIC, TransactionalProducer

if TYPE_CHECKING:
    from odradek.testing.sim.trial.cluster_client import ClusterClient
    from odradek.testing.sim.trial.load import Load
    from odradek.testing.sim.trial.plan import Plan


class Workload(Protocol):
    """What a client does."""

    def run(self) -> Script:
        """Its script."""


@value
class ClientKind:
    """One client of the mix."""

    name: str
    make: Callable[[Load, ClusterClient, int], Workload]
    """Makes its workload, with the longest pause between two requests in ms."""
    is_patient: bool = False
    """Whether it waits for an answer as long as a trial lasts."""
    heeds_epochs: bool = False
    """See `ClusterClient`. A client that relies on sequences heeds leader epochs: a deposed leader rightly
    refuses sequences that it missed."""


TELLERS: Final = ("account-0", "account-1", "account-2")
CLERKS: Final = ("account-2", "account-3")

PRODUCERS: Final = (
    ClientKind("careful", IdempotentProducer, heeds_epochs=True),
    ClientKind("patient", IdempotentProducer, is_patient=True, heeds_epochs=True),
)
ADMIN: Final = ClientKind("admin", lambda load, client, pause_ms: TopicChanges(load, client, 20 * pause_ms))

CLIENTS: Final[tuple[ClientKind, ...]] = (
    ClientKind("producer", PlainProducer),
    *PRODUCERS,
    ClientKind("reader", partial(Consumer, uses_sessions=False)),
    ClientKind("follower", partial(Consumer, uses_sessions=True)),
    ADMIN,
)
"""The clients of a trial; the members of its groups are in `group_load`."""

CLIENTS_WITH_TRANSACTIONS: Final[tuple[ClientKind, ...]] = (
    ClientKind("producer", PlainProducer),
    ClientKind("writer", partial(PlainProducer, keyed=True)),
    *PRODUCERS,
    ClientKind("teller", partial(TransactionalProducer, transactional_ids=TELLERS), heeds_epochs=True),
    ClientKind("rival", partial(TransactionalProducer, transactional_ids=TELLERS), heeds_epochs=True),
    ClientKind(
        "clerk",
        partial(TransactionalProducer, transactional_ids=CLERKS, protocol=CLASSIC),
        heeds_epochs=True,
    ),
    ClientKind("reader", partial(Consumer, uses_sessions=False)),
    ClientKind("follower", partial(Consumer, uses_sessions=True, reads_committed=True)),
    ADMIN,
)
"""The clients of a trial with transactions."""


def clients_of(plan: Plan) -> tuple[ClientKind, ...]:
    """The clients of a trial, members of groups apart."""
    return CLIENTS_WITH_TRANSACTIONS if plan.has_transactions else CLIENTS
