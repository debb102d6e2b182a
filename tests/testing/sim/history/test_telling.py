"""Events as lines of text."""

from dataclasses import replace

import pytest

from odradek.base.ids import TopicPartition
from odradek.testing.sim.history.cluster_state import BrokerState, Phase, ReplicaState, Role, StoredState
from odradek.testing.sim.history.events import (
    Answered,
    BrokerChanged,
    Change,
    ControllerElected,
    Event,
    Faulted,
    Message,
    Registered,
    ReplicaChanged,
    Requested,
    StateStored,
    Unanswered,
    changes_between,
)
from odradek.testing.sim.history.telling import Group, concerns, group_of, is_milestone, tell
from odradek.testing.sim.observer import Fault, FaultKind

P = TopicPartition("orders", 0)
OTHER = TopicPartition("orders", 1)
HOST = "10.0.0.1"
PRODUCE = Message("Produce", "acks=all; orders-0: 3 records", ("acks=all",), ((P, "3 records"),))
ORDER = Message("LeaderAndIsr", "orders-0: leader 2", (), ((P, "leader 2"),))
IDLE = Message("Fetch", "", is_quiet=True)
LEADER = ReplicaState(Role.LEADER, 2, 4, (2, 3), "", 0, 41, 41, ((3, 0),))
FOLLOWER = ReplicaState(Role.FOLLOWER, 2, 4, (), "fetches", 0, 41, 44, ((3, 0),))
STORED = StoredState(1, 3, (1, 2, 3), 1)


def replica(before: ReplicaState | None, after: ReplicaState | None, **details: str) -> ReplicaChanged:
    changes = changes_between(before, after)
    return ReplicaChanged(
        12_340,
        0,
        2,
        P,
        before,
        after,
        changes,
        waits_for=details.get("waits_for", ""),
        reason=details.get("reason", ""),
    )


def fault(
    kind: FaultKind, place: int | str | None = None, other: int | None = None, detail: str = ""
) -> Event:
    return Faulted(12_340, 0, Fault(kind, place, other, detail))


CASES: list[tuple[Event, Group, str]] = [
    (
        Requested(12_340, 0, HOST, "p-1", 1, PRODUCE),
        Group.CLIENTS,
        "client p-1 → broker 1  Produce: acks=all; orders-0: 3 records",
    ),
    (
        Answered(12_340, 1, 1, HOST, "", Message("Produce", "orders-0: offset 41"), 0),
        Group.CLIENTS,
        "broker 1 → client 10.0.0.1  Produce answer: orders-0: offset 41",
    ),
    (
        Unanswered(12_340, 1, 3, "odradek", 1, Message("Fetch", "orders-0 at offset 41"), 0, "lost"),
        Group.REPLICATION,
        "broker 3 → broker 1  Fetch: no answer (lost)",
    ),
    (Requested(12_340, 0, 2, "odradek", 1, IDLE), Group.QUIET, "broker 2 → broker 1  Fetch"),
    (Answered(12_340, 0, 1, 2, "odradek", IDLE, 0), Group.QUIET, "broker 1 → broker 2  Fetch answer"),
    (
        Requested(12_340, 0, 3, "odradek", 2, ORDER),
        Group.ORDERS,
        "broker 3 → broker 2  LeaderAndIsr: orders-0: leader 2",
    ),
    (fault(FaultKind.KILLED, 2), Group.FAULTS, "broker 2  killed"),
    (
        fault(FaultKind.POWER_LOST, 2),
        Group.FAULTS,
        "broker 2  loses power: what was not synced may be gone",
    ),
    (
        fault(FaultKind.CUT, 1, 2),
        Group.FAULTS,
        "network  cut: nothing passes between broker 1 and broker 2",
    ),
    (
        fault(FaultKind.CUT_ONE_WAY, 1, 2),
        Group.FAULTS,
        "network  cut: nothing passes from broker 1 to broker 2",
    ),
    (
        fault(FaultKind.ISOLATED, HOST),
        Group.FAULTS,
        "host 10.0.0.1  isolated: nothing passes to or from it, but to the metadata store",
    ),
    (fault(FaultKind.HEALED), Group.FAULTS, "network  healed: all cuts and delays end"),
    (
        fault(FaultKind.SLOWED, 1, 2, "500 ms"),
        Group.FAULTS,
        "network  slow: what broker 1 sends to broker 2 takes 500 ms",
    ),
    (
        fault(FaultKind.DROPPED, 1, 2),
        Group.FAULTS,
        "network  the connections that broker 1 opened to broker 2 are dropped",
    ),
    (
        fault(FaultKind.MENDED, 1, 2),
        Group.FAULTS,
        "network  mended: everything passes between broker 1 and broker 2 again",
    ),
    (fault(FaultKind.REJOINED, 2), Group.FAULTS, "broker 2  no longer isolated"),
    (fault(FaultKind.PAUSED, 2), Group.FAULTS, "broker 2  paused: its process stands still"),
    (fault(FaultKind.STORE_MENDED, 2), Group.FAULTS, "broker 2  reaches the metadata store again"),
    (
        BrokerChanged(12_340, 0, 2, BrokerState(Phase.PAUSED), BrokerState(Phase.SERVING)),
        Group.BROKERS,
        "broker 2  resumes",
    ),
    (fault(FaultKind.STORE_CUT, 1), Group.FAULTS, "broker 1  cut from the metadata store"),
    (fault(FaultKind.SESSION_EXPIRED, 1), Group.FAULTS, "broker 1  session expired"),
    (
        fault(FaultKind.STORE_ANSWER_LOST, 1, detail="executed"),
        Group.FAULTS,
        "broker 1  the next answer of the metadata store is lost, the operation is executed",
    ),
    (
        fault(FaultKind.CLOCK_SET, 1, detail="+5,000 ms"),
        Group.FAULTS,
        "broker 1  its wall clock is set by +5,000 ms",
    ),
    (fault(FaultKind.SET, 1, detail="full_disk"), Group.FAULTS, "broker 1  fault: full_disk"),
    (
        BrokerChanged(12_340, 0, 2, BrokerState(), BrokerState(Phase.STARTING)),
        Group.BROKERS,
        "broker 2  starts",
    ),
    (
        BrokerChanged(12_340, 0, 2, BrokerState(Phase.STARTING), BrokerState(Phase.SERVING, True)),
        Group.BROKERS,
        "broker 2  serves clients, acts as the controller",
    ),
    (
        BrokerChanged(12_340, 0, 2, BrokerState(Phase.SERVING, True), BrokerState(Phase.SERVING)),
        Group.BROKERS,
        "broker 2  no longer acts as the controller",
    ),
    (
        BrokerChanged(12_340, 0, 2, BrokerState(Phase.STARTING), BrokerState(), "the disk is full"),
        Group.BROKERS,
        "broker 2  does not start: the disk is full",
    ),
    (
        BrokerChanged(12_340, 0, 2, BrokerState(Phase.STOPPING, True), BrokerState()),
        Group.BROKERS,
        "broker 2  has stopped",
    ),
    (
        ControllerElected(12_340, 0, 3, 2),
        Group.BROKERS,
        "metadata store  broker 3 is elected controller, epoch 2",
    ),
    (ControllerElected(12_340, 0, -1, 2), Group.BROKERS, "metadata store  there is no controller"),
    (
        Registered(12_340, 0, 3, 51),
        Group.BROKERS,
        "metadata store  broker 3 is registered, broker epoch 51",
    ),
    (
        Registered(12_340, 0, 3, -1),
        Group.BROKERS,
        "metadata store  broker 3 is no longer registered: its session has ended",
    ),
    (
        StateStored(12_340, 0, P, None, STORED),
        Group.LEADERS,
        "metadata store  orders-0: leader 1, epoch 3, ISR 1,2,3",
    ),
    (
        StateStored(12_340, 0, P, STORED, StoredState(2, 4, (2, 3), 1)),
        Group.LEADERS,
        "metadata store  orders-0: elected leader 2 (was 1), epoch 4, ISR 2,3",
    ),
    (
        StateStored(12_340, 0, P, STORED, StoredState(-1, 4, (1,), 1)),
        Group.LEADERS,
        "metadata store  orders-0: elected no leader (was 1), epoch 4, ISR 1",
    ),
    (
        StateStored(12_340, 0, P, STORED, replace(STORED, isr=(1,))),
        Group.LEADERS,
        "metadata store  orders-0: ISR shrinks from 1,2,3 to 1",
    ),
    (
        StateStored(12_340, 0, P, STORED, replace(STORED, controller_epoch=2)),
        Group.LEADERS,
        "metadata store  orders-0: written again, ISR 1,2,3",
    ),
    (
        StateStored(12_340, 0, P, STORED, None),
        Group.LEADERS,
        "metadata store  orders-0: its state is deleted",
    ),
    (
        replica(FOLLOWER, replace(LEADER, end=44)),
        Group.LEADERS,
        "broker 2  orders-0: becomes leader, epoch 4, ISR 2,3",
    ),
    (
        replica(LEADER, replace(LEADER, isr=(2, 3, 1), high_watermark=41)),
        Group.LEADERS,
        "broker 2  orders-0: ISR expands from 2,3 to 2,3,1",
    ),
    (
        replica(None, replace(FOLLOWER, end=0, high_watermark=0, leader=-1)),
        Group.LEADERS,
        "broker 2  orders-0: makes the log; becomes follower without a leader, epoch 4",
    ),
    (
        replica(None, replace(FOLLOWER, role=Role.NONE, fetcher="")),
        Group.LEADERS,
        "broker 2  orders-0: opens the log, LEO 44, HW 41",
    ),
    (replica(FOLLOWER, None), Group.LEADERS, "broker 2  orders-0: has no replica any more"),
    (
        replica(FOLLOWER, replace(FOLLOWER, end=41), reason="broker 1 answered Fetch: diverging"),
        Group.LOGS,
        "broker 2  orders-0: truncates from 44 to 41, because broker 1 answered Fetch: diverging",
    ),
    (
        replica(FOLLOWER, replace(FOLLOWER, end=40, high_watermark=40)),
        Group.LOGS,
        "broker 2  orders-0: truncates from 44 to 40; records below HW 41 are lost; HW 40",
    ),
    (
        replica(LEADER, replace(LEADER, end=42, produces=1, fetches=2), waits_for="acks=all: HW 41 < 42"),
        Group.LOGS,
        "broker 2  orders-0: appends 41, LEO 42; 1 produce and 2 fetches wait (acks=all: HW 41 < 42)",
    ),
    (
        replica(LEADER, replace(LEADER, end=44, high_watermark=44, log_start=2)),
        Group.LOGS,
        "broker 2  orders-0: appends 41-43, LEO 44; HW 44; log start 2",
    ),
    (replica(LEADER, replace(LEADER, fetches=1)), Group.QUIET, "broker 2  orders-0: 1 fetch waits"),
    (
        replica(replace(LEADER, produces=2), LEADER),
        Group.QUIET,
        "broker 2  orders-0: no request waits",
    ),
]


@pytest.mark.parametrize(("event", "group", "line"), CASES, ids=[one[2][:60] for one in CASES])
def test_an_event_is_a_line(event: Event, group: Group, line: str) -> None:
    assert list(tell([event])) == [f"12,340 ms  {line}"]
    assert group_of(event) is group


def test_a_log_that_starts_anew() -> None:
    anew = replace(FOLLOWER, log_start=60, high_watermark=60, end=60)
    changes = changes_between(FOLLOWER, anew, is_truncated=True)
    event = ReplicaChanged(5, 0, 2, P, FOLLOWER, anew, changes)
    (line,) = tell([event])
    assert line.startswith("5 ms  broker 2  orders-0: drops the log and starts anew at 60")


def test_lines_stand_in_columns() -> None:
    events = [replace(CASES[0][0], at_ms=5), CASES[6][0]]
    assert list(tell(events)) == [
        "     5 ms  client p-1 → broker 1  Produce: acks=all; orders-0: 3 records",
        "12,340 ms  broker 2               killed",
    ]
    assert list(tell([])) == []


def test_the_shortest_history_has_faults_lives_leaders_and_truncations() -> None:
    for event, group, _ in CASES:
        is_cut = isinstance(event, ReplicaChanged) and Change.TRUNCATED in event.changes
        is_expected = is_cut or group in (Group.FAULTS, Group.BROKERS, Group.LEADERS)
        assert is_milestone(event) is is_expected


def test_what_concerns_a_partition() -> None:
    for event, _, line in CASES:
        assert concerns(event, P)
        names_it = "orders-0" in line and not isinstance(event, Answered)
        assert concerns(event, OTHER) is (not names_it or isinstance(event, Unanswered))
