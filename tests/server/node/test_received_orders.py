"""Orders of a controller: one after another, in slices, behind two fences, each answered once."""

import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import TURN_NS, Slices, TurnTime, exhaust
from odradek.base.ids import TopicPartition
from odradek.metadata.orders import OrderOutcome, UpdateMetadata
from odradek.metadata.orders_on_wire import OrderRequest, to_request
from odradek.metadata.resources import Resource, ResourceType
from odradek.server.node.received_orders import ReceivedOrders
from odradek.testing.sim import SimNode
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from odradek.wire.messages.delete_topics import DeleteTopicsRequest
from odradek.wire.messages.leader_and_isr import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
)
from odradek.wire.messages.stop_replica import (
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaTopicState,
)
from odradek.wire.messages.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataRequest,
)
from tests.server.nodes import NewNode

NOT_CHECKED = -1
"""A broker epoch that holds for every registration, as old controllers send it."""


def ever_later() -> Callable[[], int]:
    """A clock by which every slice is used up at once."""
    looks = count()
    return lambda: next(looks) * 2 * TURN_NS


class Bench:
    """A broker that gets orders of controller 9, whose epoch is the one after its own's."""

    def __init__(self, node: SimNode) -> None:
        self.node = node
        self.orders = node.core.received_orders
        self.controller_epoch = node.core.image.controller_epoch + 1
        self.broker_epoch = node.core.controller.registered_epoch
        self.outcomes: list[tuple[str, OrderOutcome]] = []

    def take_a_step_per_turn(self) -> None:
        """Obey in slices that one step uses up."""
        core = self.node.core
        slices = Slices(self.node.turns.defer, TurnTime(ever_later()))
        self.orders = ReceivedOrders(
            core.broker_id,
            core.image,
            core.replicas,
            core.topic_purgatory,
            slices,
            self.node.turns.defer,
            lambda: core.controller.registered_epoch,
            settings=core.settings_in_force,
            groups=core.groups,
            transactions=core.transactions,
            fetchers=core.fetchers,
            confirmed_roles=core.confirmed_roles,
        )

    def receive(self, name: str, request: OrderRequest) -> None:
        self.orders.receive(request, lambda outcome: self.outcomes.append((name, outcome)))

    def outcome(self, request: OrderRequest) -> OrderOutcome:
        self.receive("it", request)
        self.node.settle()
        return self.outcomes.pop()[1]

    def roles(self, partitions: int, **fields: Any) -> LeaderAndIsrRequest:
        states = [
            LeaderAndIsrPartitionState(number, leader=0, leader_epoch=5, isr=[0], replicas=[0], is_new=True)
            for number in range(partitions)
        ]
        topics = [LeaderAndIsrTopicState("flights", self.node.chance.uuid(), states)]
        return LeaderAndIsrRequest(**{**self.epochs(), **fields, "topic_states": topics})

    def facts(self, **fields: Any) -> UpdateMetadataRequest:
        live = [UpdateMetadataBroker(0, [UpdateMetadataEndpoint(9092, "here", "PLAINTEXT")])]
        return UpdateMetadataRequest(**{**self.epochs(), **fields, "live_brokers": live})

    def stop(self, **fields: Any) -> StopReplicaRequest:
        topics = [StopReplicaTopicState("flights", [StopReplicaPartitionState(0, 5, delete_partition=True)])]
        return StopReplicaRequest(**{**self.epochs(), **fields, "topic_states": topics})

    def epochs(self) -> dict[str, int]:
        return {
            "controller_id": 9,
            "controller_epoch": self.controller_epoch,
            "broker_epoch": self.broker_epoch,
        }


@pytest.fixture
def bench(node: SimNode) -> Bench:
    return Bench(node)


@pytest.fixture(params=["roles", "facts", "stop"])
def order(request: pytest.FixtureRequest, bench: Bench) -> Any:
    """Makes an order of each kind."""
    makers = {"roles": lambda **fields: bench.roles(1, **fields), "facts": bench.facts, "stop": bench.stop}
    return makers[request.param]


def test_an_order_for_many_partitions_is_obeyed_in_many_turns(bench: Bench) -> None:
    bench.take_a_step_per_turn()
    bench.receive("wide", bench.roles(100))
    most, turns, logs = 0, 0, len(list(bench.node.logs.logs()))
    while bench.node.turns.waiting:
        bench.node.turns.run_next()
        now = len(list(bench.node.logs.logs()))
        most, turns, logs = max(most, now - logs), turns + 1, now
    assert (most <= 2, turns >= 49) == (True, True)
    ((_, outcome),) = bench.outcomes
    assert len(outcome.partition_errors) == 100


def test_the_next_order_waits_for_the_one_in_hand(bench: Bench) -> None:
    bench.take_a_step_per_turn()
    bench.receive("roles", bench.roles(10))
    bench.receive("facts", bench.facts())
    bench.node.turns.run_next()
    assert bench.node.core.image.controller_id != 9
    bench.node.settle()
    assert [name for name, _ in bench.outcomes] == ["roles", "facts"]
    assert bench.node.core.image.controller_id == 9


def test_an_order_that_fails_is_answered_and_does_not_hold_up_the_next(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(order: object) -> None:
        raise ValueError("broken")

    monkeypatch.setattr(bench.node.core.replicas, "become_leader_or_follower", fails)
    bench.receive("roles", bench.roles(3))
    bench.receive("facts", bench.facts())
    bench.node.settle()
    assert [(name, outcome.error_code) for name, outcome in bench.outcomes] == [
        ("roles", ErrorCode.UNKNOWN_SERVER_ERROR),
        ("facts", ErrorCode.NONE),
    ]


def test_an_outcome_is_handed_out_after_the_call(bench: Bench) -> None:
    bench.receive("facts", bench.facts())
    assert bench.node.core.image.controller_id == 9, "obeyed at once, for it is short"
    assert bench.outcomes == [], "no port calls back before it returns"
    bench.node.settle()
    assert [name for name, _ in bench.outcomes] == ["facts"]


@pytest.mark.parametrize("are_together", [True, False])
def test_whoever_raises_at_an_outcome_does_not_hold_up_the_next_order(
    bench: Bench, are_together: bool
) -> None:
    def raises(outcome: OrderOutcome) -> None:
        raise ValueError("broken")

    bench.take_a_step_per_turn()
    bench.orders.receive(bench.roles(3), raises)
    if not are_together:
        with suppress(ValueError, IndexError):
            bench.node.settle()
    bench.receive("facts", bench.facts())
    with suppress(ValueError):
        bench.node.settle()
    bench.node.settle()
    assert [(name, outcome.error_code) for name, outcome in bench.outcomes] == [("facts", ErrorCode.NONE)]
    assert bench.node.core.image.controller_id == 9


def test_an_outdated_controller_is_refused_whole(bench: Bench, order: Any) -> None:
    """R5a: controller epoch lower than the last obeyed → STALE_CONTROLLER_EPOCH, nothing changes."""
    bench.outcome(bench.facts())
    before = (
        bench.node.store.table.snapshot(),
        dict(bench.node.core.image.topics),
        bench.node.disk.used_bytes(),
    )
    outcome = bench.outcome(order(controller_epoch=bench.controller_epoch - 1))
    assert outcome == OrderOutcome(ErrorCode.STALE_CONTROLLER_EPOCH)
    assert outcome.error_of(TopicPartition("flights", 0)) is ErrorCode.STALE_CONTROLLER_EPOCH
    assert before == (
        bench.node.store.table.snapshot(),
        dict(bench.node.core.image.topics),
        bench.node.disk.used_bytes(),
    )


def test_an_order_fences_older_controllers_of_every_kind_of_order(bench: Bench, order: Any) -> None:
    """R5a: higher remembered, by whichever order brought it."""
    assert bench.outcome(order()).error_code is ErrorCode.NONE
    for older in (bench.roles(1), bench.facts(), bench.stop()):
        older.controller_epoch -= 1
        assert bench.outcome(older).error_code is ErrorCode.STALE_CONTROLLER_EPOCH


def test_an_order_for_an_earlier_registration_is_refused(bench: Bench, order: Any) -> None:
    """R16: a controller request naming an older epoch than the broker's own is refused (KIP-380)."""
    outcome = bench.outcome(order(broker_epoch=bench.broker_epoch - 1))
    assert outcome == OrderOutcome(ErrorCode.STALE_BROKER_EPOCH)
    assert bench.node.core.image.controller_id != 9
    assert bench.node.core.replicas.controller_epoch < bench.controller_epoch


def test_an_order_for_a_registration_not_known_here_yet_is_obeyed(bench: Bench, order: Any) -> None:
    """R16: a newer one is accepted."""
    assert bench.outcome(order(broker_epoch=bench.broker_epoch + 1)).error_code is ErrorCode.NONE
    assert bench.outcome(order(broker_epoch=NOT_CHECKED)).error_code is ErrorCode.NONE


def test_each_partition_has_its_own_error(bench: Bench) -> None:
    """R5a, R5d: the errors of some partitions leave the others as they are."""
    bench.outcome(bench.roles(2))
    again = bench.outcome(bench.roles(3))
    assert again.error_code is ErrorCode.NONE
    assert [again.error_of(TopicPartition("flights", number)) for number in range(3)] == [
        ErrorCode.INCONSISTENT_TOPIC_ID,
        ErrorCode.INCONSISTENT_TOPIC_ID,
        ErrorCode.NONE,
    ]
    assert bench.outcome(bench.stop()).error_of(TopicPartition("flights", 0)) is ErrorCode.NONE
    assert bench.node.core.replicas.partition(TopicPartition("flights", 0)) is None


def test_the_epoch_of_this_broker_is_the_one_that_the_controller_named(bench: Bench) -> None:
    """R15: the clean mark names this run if the controller knew of it."""
    assert bench.node.core.broker_epoch == bench.broker_epoch
    bench.outcome(bench.facts(broker_epoch=bench.broker_epoch + 3))
    assert bench.node.core.broker_epoch == bench.broker_epoch + 3


def test_a_replica_of_a_topic_that_is_gone_keeps_its_settings_until_it_is_stopped(bench: Bench) -> None:
    """R18: it may lead until StopReplica comes, never with the defaults (seeds 786 and 1151)."""
    core, flights = bench.node.core, Resource(ResourceType.TOPIC, "flights")
    news = UpdateMetadata(
        9, bench.controller_epoch, bench.broker_epoch, tuple(core.image.brokers.values()), ()
    )
    bench.outcome(exhaust(to_request(replace(news, settings={flights: {"min.insync.replicas": "2"}}))))
    bench.outcome(bench.roles(1))
    log = core.logs.get(TopicPartition("flights", 0))
    assert log is not None
    bench.outcome(exhaust(to_request(replace(news, all_topics=(), all_configured=()))))
    assert core.image.topic_config("flights") == {}
    assert log.config.min_insync_replicas == 2


def test_topics_that_come_and_go_and_leaders_that_change_are_logged(
    node: SimNode, bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "odradek.server.node.received_orders")
    topics = [CreatableTopic(f"t{number:02}", 1, 1) for number in range(12)]
    node.ask(CreateTopicsRequest(topics, timeout_ms=1000))
    named = ", ".join(f"t{number:02}" for number in range(10))
    assert caplog.messages == [f"topics created: {named} and 2 more"]
    caplog.clear()
    node.ask(DeleteTopicsRequest(topic_names=["t03"], timeout_ms=1000), 5)
    assert caplog.messages == ["topics deleted: t03"]
    caplog.clear()
    moved = bench.roles(1)
    moved.topic_states[0].partition_states[0].is_new = False
    assert bench.outcome(moved).error_code is ErrorCode.NONE
    assert caplog.messages == ["flights-0 is led here: the leader is broker 0 in epoch 5"]


def test_an_order_that_moves_very_many_leaders_is_logged_in_one_line(
    node: SimNode, bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "odradek.server.node.received_orders")
    node.ask(CreateTopicsRequest([CreatableTopic("t", 1, 1)], timeout_ms=1000))
    caplog.clear()
    order = bench.roles(1)
    topic = order.topic_states[0]
    [led] = topic.partition_states
    led.is_new = False
    topic.partition_states = [replace(led, partition_index=number) for number in range(12)]
    topic.partition_states += [
        replace(led, partition_index=number, leader=1, isr=[0, 1], replicas=[0, 1]) for number in (20, 21)
    ]
    assert bench.outcome(order).error_code is ErrorCode.NONE
    named = ", ".join(f"flights-{number}" for number in range(10))
    said = [one.message for one in caplog.records if one.name == "odradek.server.node.received_orders"]
    assert said == [
        f"{named} and 2 more are led here",
        "flights-20 is followed here: the leader is broker 1 in epoch 5",
        "flights-21 is followed here: the leader is broker 1 in epoch 5",
    ]


def test_what_a_start_finds_is_no_event(new_node: NewNode, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "odradek.server.node.received_orders")
    node = new_node()
    node.ask(CreateTopicsRequest([CreatableTopic("t", 1, 1)], timeout_ms=1000))
    caplog.clear()
    node = node.restarted()
    assert node.topic("t").partitions
    assert caplog.messages == []
