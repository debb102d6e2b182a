"""The controller as a whole: elections won and lost, requests, brokers that come and go, lost answers."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest

from odradek.base.chance import SeededChance
from odradek.base.clock import ManualClock
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.execution import ITEMS_PER_STEP, exhaust
from odradek.base.ids import NO_BROKER, NO_EPOCH, BrokerId, TopicPartition
from odradek.metadata import codec, paths
from odradek.metadata.controller import (
    BrokerAnswered,
    Controller,
    ControllerEvent,
    ControllerSettings,
    Effect,
    Elected,
    ElectedUncleanly,
    ElectionDue,
    ElectionFailed,
    EventFailed,
    RequestArrived,
    Resigned,
    Respond,
    SendToBroker,
    Started,
    StoreCall,
)
from odradek.metadata.controller.core import REQUESTS_WAITING_MAX
from odradek.metadata.controller.requests import (
    AllocateProducerIds,
    AlterConfigs,
    Answer,
    ConfigAmendment,
    ConfigOperation,
    ConfigReplacement,
    ControlledShutdown,
    ControllerRequest,
    CreatePartitions,
    CreateTopics,
    DeleteTopics,
    ElectionType,
    ElectLeaders,
    MorePartitions,
    NewTopic,
    PartitionOutcomes,
    ProducerIdBlock,
    RebalanceLeaders,
    RebalanceProgress,
    Refused,
    ResourceOutcomes,
    ShutdownProgress,
    TopicOutcome,
    TopicOutcomes,
    TopicToDelete,
)
from odradek.metadata.embedded import EmbeddedEngine
from odradek.metadata.image import ClusterImage, PartitionImage
from odradek.metadata.orders import LeaderAndIsr, LogEnd, Order, StopReplica, UpdateMetadata
from odradek.metadata.resources import ResourceType
from odradek.metadata.startup import load_image
from odradek.metadata.store import (
    Create,
    Created,
    Data,
    Existence,
    Exists,
    GetData,
    NodeChange,
    Reconnected,
    SessionEnded,
    SetData,
    StoreReplied,
    WatchFired,
)
from tests.metadata.controllers import Cluster, Member, make_broker

FLIGHTS = TopicPartition("flights", 0)


def create(
    cluster: Cluster,
    name: str = "flights",
    assignments: Sequence[tuple[BrokerId, ...]] = ((1, 2, 3),),
    **configs: str,
) -> TopicOutcome:
    topic = NewTopic(name, assignments=tuple(enumerate(assignments)), configs=tuple(configs.items()))
    answer = cluster.ask_for(TopicOutcomes, CreateTopics((topic,)))
    assert [outcome.error for outcome in answer.topics] == [ErrorCode.NONE], answer
    return answer.topics[0]


def stored_image(cluster: Cluster) -> ClusterImage:
    session = cluster.store.engine.open_session()
    return exhaust(load_image(), lambda operation: cluster.store.engine.apply(session, operation).result)


def write_isr(cluster: Cluster, named: TopicPartition, state: PartitionImage) -> int:
    """Write a partition's state as its leader does, behind the controller's back."""
    session = cluster.store.engine.open_session()
    path = paths.partition_state(*named)
    applied = cluster.store.engine.apply(session, SetData(path, codec.encode_state(state, 1)))
    cluster.store.tell(applied.events)
    return session


def held_lines(image: ClusterImage) -> tuple[object, ...]:
    return (image.topics, image.topic_configs, image.controller_id, image.controller_epoch, image.brokers)


# --- elections of controllers


def test_the_first_broker_becomes_the_controller(cluster: Cluster) -> None:
    cluster.start(1, 2)
    assert cluster.image.controller_id == 1
    assert cluster.image.controller_epoch == 1
    assert Elected() in cluster.members[1].effects
    assert Elected() not in cluster.members[2].effects


def test_the_controllers_image_is_what_the_store_holds(three: Cluster) -> None:
    create(three)
    create(three, "other", ((2, 1), (3, 2)))
    assert held_lines(three.image) == held_lines(stored_image(three))


def test_when_the_controller_dies_another_takes_over_with_the_next_epoch(three: Cluster) -> None:
    create(three)
    three.kill(1)
    assert three.image.controller_id in (2, 3)
    assert three.image.controller_epoch == 2
    assert Resigned() in three.members[1].effects
    assert three.partition("flights").leader == 2
    assert three.partition("flights").isr == (2, 3)


def test_a_deposed_controller_writes_nothing_and_says_so(three: Cluster) -> None:
    """A controller that lost its office without noticing is stopped by the epoch's fence."""
    session = three.store.engine.open_session()
    three.store.engine.apply(session, SetData(paths.CONTROLLER_EPOCH, b"9"))
    answer = three.ask(CreateTopics((NewTopic("flights"),)), of=1)
    assert isinstance(answer, Refused)
    assert answer.error is ErrorCode.NOT_CONTROLLER
    assert "flights" not in stored_image(three).topics
    assert Resigned() in three.members[1].effects


def test_requests_to_another_broker_are_refused(three: Cluster) -> None:
    answer = three.ask(CreateTopics((NewTopic("flights"),)), of=2)
    assert isinstance(answer, Refused)
    assert answer.error is ErrorCode.NOT_CONTROLLER


def test_an_id_in_use_cannot_join(three: Cluster) -> None:
    first = three.members[2]
    three.start(2)
    failed = [effect for effect in three.members[2].effects if isinstance(effect, EventFailed)]
    (error,) = [effect.error for effect in failed]
    assert isinstance(error, ApiError)
    assert error.code is ErrorCode.DUPLICATE_BROKER_REGISTRATION
    assert first.session is not None


def test_a_broker_joins_when_the_session_that_holds_its_id_has_ended(three: Cluster) -> None:
    first = three.members[2]
    three.start(2)
    second = three.members[2]
    assert second.controller.broker is None
    assert first.session is not None
    first.session.expire()
    three.store.deliver()
    assert second.controller.broker is not None
    assert stored_image(three).brokers[2] == second.controller.broker


def test_a_broker_that_waits_for_its_id_asks_again_after_a_lost_connection(three: Cluster) -> None:
    """The watch on the other session's node is lost with the connection."""
    first = three.members[2]
    three.start(2)
    second = three.members[2]
    assert first.session is not None
    three.store.engine.forget_watches(second.live_session.session_id)
    first.session.expire()
    three.store.deliver()
    assert second.controller.broker is None
    second.event(Reconnected())
    assert second.controller.broker is not None


def test_the_cluster_keeps_its_id_over_restarts(cluster: Cluster) -> None:
    cluster.start(1)
    cluster_id = cluster.image.cluster_id
    cluster.kill(1)
    cluster.start(1)
    assert cluster.image.cluster_id == cluster_id
    assert len(cluster_id) == 22


def test_a_session_that_ends_answers_what_was_asked() -> None:
    controller = Controller(ControllerSettings(), ManualClock(), SeededChance(1))
    assert isinstance(controller.on_event(Started(make_broker(1), 1))[0], StoreCall)
    assert controller.on_event(RequestArrived(2, AllocateProducerIds(1, 3))) == []
    (response,) = controller.on_event(SessionEnded())
    assert isinstance(response, Respond)
    assert isinstance(response.answer, Refused)
    assert (response.request_id, response.answer.error) == (2, ErrorCode.NOT_CONTROLLER)


def test_a_reply_from_before_the_session_ended_is_ignored() -> None:
    controller = Controller(ControllerSettings(), ManualClock(), SeededChance(1))
    (call,) = controller.on_event(Started(make_broker(1), 1))
    assert isinstance(call, StoreCall)
    controller.on_event(SessionEnded())
    assert controller.on_event(StoreReplied(call.call_id, Created("/"))) == []


# --- topics


def test_a_created_topic_reaches_replicas_and_everyone(three: Cluster) -> None:
    outcome = create(three, assignments=((1, 2), (2, 1)))
    assert outcome.partition_count == 2
    assert outcome.replication_factor == 2
    roles = [m for m in three.members[2].received if isinstance(m, LeaderAndIsr)]
    assert [(p.topic_partition.partition, p.state.leader, p.is_new) for p in roles[-1].partitions] == [
        (0, 1, True),
        (1, 2, True),
    ]
    assert not [m for m in three.members[3].received if isinstance(m, LeaderAndIsr)]
    for member in three.members.values():
        assert member.image.topics == three.image.topics


def test_a_topic_is_created_with_the_defaults(cluster: Cluster) -> None:
    cluster.start(1, 2, 3, settings=ControllerSettings(num_partitions=4, default_replication_factor=2))
    outcome = cluster.ask_for(TopicOutcomes, CreateTopics((NewTopic("flights"),))).topics[0]
    assert (outcome.partition_count, outcome.replication_factor) == (4, 2)


def test_a_deleted_topic_vanishes_from_brokers_and_store(three: Cluster) -> None:
    create(three)
    answer = three.ask_for(TopicOutcomes, DeleteTopics((TopicToDelete("flights"),)))
    assert [outcome.error for outcome in answer.topics] == [ErrorCode.NONE]
    assert "flights" not in three.image.topics
    assert not stored_image(three).topics
    for member in three.members.values():
        assert "flights" not in member.image.topics
        stops = [m for m in member.received if isinstance(m, StopReplica)]
        assert [stop.partitions[0].delete for stop in stops] == [True]
    create(three)


def test_a_deletion_waits_for_a_dead_broker(three: Cluster) -> None:
    create(three)
    three.kill(3)
    three.ask(DeleteTopics((TopicToDelete("flights"),)))
    assert "flights" in three.image.deleting
    assert three.image.topic("flights") is None
    refused = three.ask_for(TopicOutcomes, CreateTopics((NewTopic("flights"),)))
    assert refused.topics[0].error is ErrorCode.TOPIC_ALREADY_EXISTS
    three.start(3)
    assert "flights" not in three.image.topics
    assert not stored_image(three).topics


def test_a_new_controller_finishes_a_deletion(three: Cluster) -> None:
    create(three)
    three.answer_to_stop = lambda broker_id, order: None
    three.ask(DeleteTopics((TopicToDelete("flights"),)))
    three.answer_to_stop = lambda broker_id, order: {}
    three.kill(1)
    three.start(1)
    assert not stored_image(three).topics


def test_a_broker_that_cannot_delete_is_asked_again_when_it_is_back(three: Cluster) -> None:
    create(three)
    three.answer_to_stop = lambda broker_id, order: (
        {FLIGHTS: ErrorCode.KAFKA_STORAGE_ERROR} if broker_id == 2 else {}
    )
    three.ask(DeleteTopics((TopicToDelete("flights"),)))
    assert "flights" in three.image.deleting
    three.answer_to_stop = lambda broker_id, order: {}
    three.kill(2)
    three.start(2)
    assert "flights" not in three.image.topics


def test_partitions_are_added(three: Cluster) -> None:
    create(three, assignments=((1, 2),))
    answer = three.ask_for(TopicOutcomes, CreatePartitions((MorePartitions("flights", 3),)))
    assert [outcome.error for outcome in answer.topics] == [ErrorCode.NONE]
    assert sorted(three.image.topics["flights"].partitions) == [0, 1, 2]
    assert held_lines(three.image) == held_lines(stored_image(three))
    assert three.members[3].image.topics == three.image.topics


def test_what_is_only_validated_is_not_done(three: Cluster) -> None:
    answer = three.ask_for(TopicOutcomes, CreateTopics((NewTopic("flights", 2, 1),), validate_only=True))
    assert answer.topics[0].error is ErrorCode.NONE
    assert answer.topics[0].partition_count == 2
    assert not three.image.topics
    assert not stored_image(three).topics


def test_settings_change_and_are_removed_again(three: Cluster) -> None:
    create(three)
    for configs in ((("retention.ms", "1000"),), ()):
        change = ConfigReplacement(ResourceType.TOPIC, "flights", configs)
        answer = three.ask_for(ResourceOutcomes, AlterConfigs((change,)))
        assert answer.resources[0].error is ErrorCode.NONE
        assert three.image.topic_config("flights") == dict(configs)
        assert stored_image(three).topic_config("flights") == dict(configs)


def test_every_block_of_producer_ids_is_new(three: Cluster) -> None:
    blocks = [three.ask(three.ids_for(2)) for _ in range(3)]
    assert blocks == [ProducerIdBlock(2, first, 1000) for first in (0, 1000, 2000)]
    three.kill(1)
    assert three.ask(three.ids_for(3)) == ProducerIdBlock(3, 3000, 1000)


def test_a_block_is_for_a_broker_that_is_registered_with_this_epoch(three: Cluster) -> None:
    """As in Kafka: an answer to an earlier life of the broker would be lost ids."""
    known = three.ids_for(2)
    answers = [
        three.ask_for(Refused, replace(known, broker_epoch=known.broker_epoch - 1)).error,
        three.ask_for(Refused, replace(known, broker_epoch=known.broker_epoch + 1)).error,
        three.ask_for(Refused, AllocateProducerIds(7, known.broker_epoch)).error,
    ]
    stale, unknown = ErrorCode.STALE_BROKER_EPOCH, ErrorCode.BROKER_ID_NOT_REGISTERED
    assert answers == [stale, stale, unknown]
    assert three.ask(known) == ProducerIdBlock(2, 0, 1000)


# --- brokers


def test_what_a_dead_broker_led_is_ordered_first(three: Cluster) -> None:
    create(three, assignments=((3, 2, 1), (2, 3, 1), (1, 2, 3), (2, 1, 3)))
    for member in three.members.values():
        member.received.clear()
    three.kill(2)
    for broker_id in (1, 3):
        received = three.members[broker_id].received
        assert orders_of_roles(received) == [[(1, 3), (3, 1)], [(0, 3), (2, 1)]]
        first = next(m for m in received if isinstance(m, UpdateMetadata))
        assert [broker.broker_id for broker in first.live_brokers] == [1, 3]
    assert {state.leader_epoch for state in three.image.topics["flights"].partitions.values()} == {1}


def test_a_dead_leader_is_replaced_and_everyone_hears(three: Cluster) -> None:
    create(three)
    three.kill(2)
    assert three.partition("flights").isr == (1, 3)
    create(three, "second", ((3, 1),))
    three.kill(3)
    assert three.partition("second").leader == 1
    assert three.partition("second").isr == (1,)
    assert three.members[1].image.topics == three.image.topics
    assert list(three.members[1].image.brokers) == [1]


def test_a_partition_without_a_clean_leader_waits(three: Cluster) -> None:
    create(three, assignments=((2,),))
    epoch = three.partition("flights").leader_epoch
    three.kill(2)
    assert three.partition("flights").leader == NO_BROKER
    assert three.partition("flights").isr == (2,)
    three.start(2)
    assert three.partition("flights").leader == 2
    assert three.partition("flights").leader_epoch > epoch


def test_an_unclean_election_happens_where_the_topic_allows_it(three: Cluster) -> None:
    create(three, assignments=((2, 3),), **{"unclean.leader.election.enable": "true"})
    three.kill(3)
    three.kill(2)
    three.start(3)
    leaderless = three.partition("flights")
    assert leaderless.leader == NO_BROKER, "broker 3 has not said yet where its log ends"
    three.controller.event(answered(3, LogEnd(leaderless.leader_epoch - 1, 1, 8)))
    assert three.partition("flights").leader == NO_BROKER, "that was under an earlier epoch"
    end = LogEnd(leaderless.leader_epoch, 1, 8)
    three.controller.event(answered(3, end))
    elected = three.partition("flights")
    assert (elected.leader, elected.isr) == (3, (3,))
    assert elected.unclean_epoch == elected.leader_epoch == leaderless.leader_epoch + 1
    (report,) = [e for e in three.controller.effects if isinstance(e, ElectedUncleanly)]
    assert (report.before.isr, report.after, report.log_ends) == ((2,), elected, {3: end})


def answered(broker_id: BrokerId, end: LogEnd) -> BrokerAnswered:
    """A broker that says where its log ends."""
    return BrokerAnswered(10_000, broker_id, {FLIGHTS: ErrorCode.NONE}, log_ends={FLIGHTS: end})


def test_an_unclean_election_by_request_needs_the_ends_too(three: Cluster) -> None:
    """R15e: the replica with the most, of those that are there."""
    create(three, assignments=((1, 2, 3),))
    asked = ElectLeaders(ElectionType.UNCLEAN, (FLIGHTS,))
    for broker_id in (3, 2, 1):
        three.kill(broker_id)
    for broker_id in (2, 3):
        three.start(broker_id)
    epoch = three.partition("flights").leader_epoch
    assert elected(three, asked) == {FLIGHTS: ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE}
    three.controller.event(answered(2, LogEnd(epoch, 1, 8)))
    three.controller.event(answered(3, LogEnd(epoch, 2, 5)))
    assert three.partition("flights").leader == NO_BROKER
    assert elected(three, asked) == {FLIGHTS: ErrorCode.NONE}
    assert three.partition("flights").leader == 3


def test_the_elr_and_its_election(three: Cluster) -> None:
    """R15e: both followers stop, the leader's machine loses power, the followers come back first."""
    create(three, assignments=((1, 2, 3),), **{"min.insync.replicas": "2"})
    three.kill(3)
    assert three.partition("flights").elr == ()
    three.kill(2)
    assert (three.partition("flights").isr, three.partition("flights").elr) == ((1,), (2,))
    three.kill(1)
    three.start(3)
    assert three.partition("flights").leader == NO_BROKER, "broker 3 lacks what was written without it"
    three.start(2)
    after = three.partition("flights")
    assert (after.leader, after.isr, after.elr, after.unclean_epoch) == (2, (2,), (1,), NO_EPOCH)
    three.start(1, clean_stop=False)
    assert three.partition("flights").elr == (), "its disk lost what no fsync had written"


def test_an_unclean_stop_leaves_the_isr_before_any_election(three: Cluster) -> None:
    """R15 a broker that stopped uncleanly gives up its place in every ISR."""
    create(three, assignments=((2, 3),))
    three.members[2].live_session.close()
    three.start(2, clean_stop=False)
    assert three.partition("flights").leader == 3
    assert three.partition("flights").isr == (3,)


@pytest.mark.parametrize(
    ("clean_stop", "boot_id", "leader"),
    [
        pytest.param(False, "b1", 2, id="killed on a machine that runs on: the page cache is whole"),
        pytest.param(False, "b2", NO_BROKER, id="the machine was started anew"),
        pytest.param(False, "", NO_BROKER, id="nobody knows whether it was"),
        pytest.param(True, "b2", 2, id="stopped cleanly"),
    ],
)
def test_the_boot_id_tells_whether_a_killed_broker_has_its_page_cache(
    cluster: Cluster, clean_stop: bool, boot_id: str, leader: BrokerId
) -> None:
    """R15"""
    for broker_id in (1, 2, 3):
        cluster.start(broker_id, boot_id="b1")
    create(cluster, assignments=((2, 3),))
    for member in cluster.members.values():  # all at once, and nobody sees it
        cluster.store.engine.close_session(member.live_session.session_id)
    cluster.members.clear()
    cluster.start(2, clean_stop=clean_stop, boot_id=boot_id)
    assert cluster.partition("flights").leader == leader
    assert cluster.partition("flights").isr == ((2,) if leader == 2 else (3,))


def test_a_partition_whose_log_is_missing_waits_and_the_others_do_not(cluster: Cluster) -> None:
    """R15 a missing log directory counts for the partitions that lived in it only."""
    cluster.start(1)
    create(cluster, assignments=((1,), (1,)))
    cluster.kill(1)
    cluster.start(1)
    number = last_roles_message(cluster.members[1])
    cluster.controller.event(BrokerAnswered(number, 1, {FLIGHTS: ErrorCode.KAFKA_STORAGE_ERROR}))
    waiting = cluster.partition("flights")
    assert (waiting.leader, waiting.isr, waiting.last_known_leader) == (NO_BROKER, (), 1)
    assert cluster.partition("flights", 1).leader == 1
    cluster.kill(1)
    cluster.start(1)
    assert cluster.partition("flights").leader == 1, "with the next start it is asked again"


def test_a_broker_that_lacks_a_log_directory_leaves_the_isr_that_the_store_has(three: Cluster) -> None:
    """R15: its leader has added it, and has not announced that (R4); `./dev sim --seed 193` at 89c29e7e.

    Else it would take its replica for one that nobody needs, and make a new log while it is in the ISR.
    """
    create(three, assignments=((1, 2),))
    three.kill(2)
    three.start(2, clean_stop=True, log_dir_ids=(UUID(int=1),))
    before = three.partition("flights")
    assert before.isr == (1,)
    three.kill(2)
    write_isr(three, FLIGHTS, replace(before, isr=(1, 2)))
    three.start(2, clean_stop=True, log_dir_ids=(UUID(int=2),), missing_dir_ids=(UUID(int=1),))
    stored = stored_image(three).partition(FLIGHTS)
    assert stored is not None
    assert (stored.isr, stored.leader_epoch) == ((1,), before.leader_epoch + 1)
    roles = [m for m in three.members[2].received if isinstance(m, LeaderAndIsr)]
    assert [p.state for p in roles[-1].partitions] == [stored]


def last_roles_message(member: Member) -> int:
    sent = [e.order_id for e in member.effects if isinstance(e, SendToBroker)]
    return sent[-1]


def test_a_single_broker_that_restarts_leads_in_a_new_epoch(cluster: Cluster) -> None:
    cluster.start(1)
    create(cluster, assignments=((1,),))
    before = cluster.partition("flights")
    cluster.kill(1)
    cluster.start(1, clean_stop=False)
    after = cluster.partition("flights")
    assert (after.leader, after.isr) == (1, (1,))
    assert after.leader_epoch > before.leader_epoch
    assert after.unclean_epoch == after.leader_epoch, "it may have lost records: the last known leader"
    roles = [m for m in cluster.members[1].received if isinstance(m, LeaderAndIsr)]
    assert [p.state for p in roles[-1].partitions] == [after]


def test_a_failed_disk_takes_the_replica_out(three: Cluster) -> None:
    """R6 a broker whose log directory went offline says so, and another replica leads."""
    create(three)
    controller = three.controller
    controller.event(BrokerAnswered(10_000, 1, {FLIGHTS: ErrorCode.KAFKA_STORAGE_ERROR}))
    assert three.partition("flights").leader == 2
    assert three.partition("flights").isr == (2, 3)


@pytest.mark.parametrize(("answer", "leader"), [(ErrorCode.STALE_CONTROLLER_EPOCH, 3), (ErrorCode.NONE, 1)])
def test_a_replica_that_failed_counts_again_when_it_obeys(
    three: Cluster, answer: ErrorCode, leader: BrokerId
) -> None:
    """R15 its disk is another one: it follows the new leader, and may lead once it is in sync."""
    create(three)
    three.controller.event(BrokerAnswered(10_000, 1, {FLIGHTS: ErrorCode.KAFKA_STORAGE_ERROR}))
    three.controller.event(BrokerAnswered(10_001, 1, {FLIGHTS: answer}))
    write_isr(three, FLIGHTS, replace(three.partition("flights"), isr=(2, 3, 1)))
    three.kill(2)
    assert three.partition("flights").leader == leader


def test_a_replica_that_failed_and_that_nothing_depends_on_is_ordered_once_more(three: Cluster) -> None:
    """R15: it refused an order of a time when it was in the ELR; of another refusal nothing follows."""
    create(three)
    write_isr(three, FLIGHTS, replace(three.partition("flights"), isr=(1, 3)))
    received = three.members[2].received
    received.clear()
    three.controller.event(BrokerAnswered(10_000, 2, {FLIGHTS: ErrorCode.KAFKA_STORAGE_ERROR}))
    (order,) = [order for order in received if isinstance(order, LeaderAndIsr)]
    assert [(one.topic_partition, one.state.isr) for one in order.partitions] == [(FLIGHTS, (1, 3))]
    received.clear()
    three.controller.event(BrokerAnswered(10_001, 2, {FLIGHTS: ErrorCode.KAFKA_STORAGE_ERROR}))
    assert [order for order in received if isinstance(order, LeaderAndIsr)] == []


def test_a_stopping_broker_hands_its_leaderships_over(three: Cluster) -> None:
    create(three)
    epoch = three.image.brokers[1].epoch
    assert three.ask(ControlledShutdown(1, epoch)) == ShutdownProgress(())
    assert three.partition("flights").leader == 2
    assert three.partition("flights").isr == (2, 3)
    assert [m for m in three.members[1].received if isinstance(m, StopReplica)]


def orders_of_roles(received: list[Order]) -> list[list[tuple[int, int]]]:
    """The partitions of each LeaderAndIsr, with their leaders."""
    return [
        [(part.topic_partition.partition, part.state.leader) for part in order.partitions]
        for order in received
        if isinstance(order, LeaderAndIsr)
    ]


def test_what_a_stopping_broker_leads_moves_first(three: Cluster) -> None:
    """It is not told to follow what it is about to stop, unless it led it."""
    create(three, assignments=((2, 3, 1), (3, 2, 1), (2, 1, 3), (1, 2, 3)))
    for member in three.members.values():
        member.received.clear()
    three.ask(ControlledShutdown(2, three.image.brokers[2].epoch))
    moved, stayed = [(0, 3), (2, 1)], [(1, 3), (3, 1)]
    assert orders_of_roles(three.members[1].received) == [moved, stayed]
    assert orders_of_roles(three.members[3].received) == [moved, stayed]
    assert orders_of_roles(three.members[2].received) == [moved]
    facts = [m.topics[0].partitions for m in three.members[3].received if isinstance(m, UpdateMetadata)]
    assert [list(states) for states in facts] == [[0, 2], [1, 3]]
    (stop,) = [m for m in three.members[2].received if isinstance(m, StopReplica)]
    assert sorted(one.topic_partition.partition for one in stop.partitions) == [0, 1, 2, 3]
    assert {state.leader_epoch for state in three.image.topics["flights"].partitions.values()} == {1}


def test_a_stopping_broker_keeps_what_nobody_else_can_lead(three: Cluster) -> None:
    create(three, assignments=((2, 3),))
    three.kill(3)
    shutdown = ControlledShutdown(2, three.image.brokers[2].epoch)
    assert three.ask(shutdown) == ShutdownProgress((FLIGHTS,))
    assert three.partition("flights").leader == 2


def test_a_stopping_broker_hands_over_to_the_elr(three: Cluster) -> None:
    """R15e: broker 2 is back, and has not caught up with what was not acknowledged."""
    create(three, assignments=((1, 2, 3),), **{"min.insync.replicas": "2"})
    three.kill(3)
    three.kill(2)
    three.start(2)
    before = three.partition("flights")
    assert (before.leader, before.isr, before.elr) == (1, (1,), (2,))
    shutdown = ControlledShutdown(1, three.image.brokers[1].epoch)
    assert three.ask(shutdown) == ShutdownProgress(())
    after = three.partition("flights")
    assert (after.leader, after.isr, after.elr, after.unclean_epoch) == (2, (2,), (1,), NO_EPOCH)
    assert [m for m in three.members[1].received if isinstance(m, StopReplica)]


def test_an_answer_that_cannot_be_written_is_no_reason_to_take_over_at_once(three: Cluster) -> None:
    """A store whose disk is full: brokers that are ordered again would answer the same, for ever."""
    create(three)
    controller = three.controller
    del controller.effects[:]
    three.is_disk_full = True
    failed = {FLIGHTS: ErrorCode.KAFKA_STORAGE_ERROR}
    controller.event(BrokerAnswered(10_000, 1, failed))
    controller.event(BrokerAnswered(10_001, 1, failed))
    assert sum(isinstance(effect, ElectionFailed) for effect in controller.effects) == 1
    assert not any(isinstance(effect, Elected | SendToBroker) for effect in controller.effects)
    assert not controller.controller.is_active
    three.is_disk_full = False
    controller.event(ElectionDue())  # as after the wait
    assert three.controller is controller
    controller.event(BrokerAnswered(10_002, 1, failed))
    assert three.partition("flights").leader != 1


def ids_for(three: Cluster) -> AllocateProducerIds:
    return AllocateProducerIds(2, three.image.brokers[2].epoch)


@pytest.mark.parametrize(
    "request_of",
    [
        ids_for,
        lambda three: CreateTopics((NewTopic("more", 2, 2),)),
        lambda three: DeleteTopics((TopicToDelete("flights"),)),
    ],
    ids=["AllocateProducerIds", "CreateTopics", "DeleteTopics"],
)
def test_requests_that_a_full_disk_refuses_lead_to_no_new_orders(
    three: Cluster, request_of: Callable[[Cluster], ControllerRequest]
) -> None:
    """Producers ask for ids ten times a second: each refusal made the controller order all brokers again."""
    create(three)
    controller, request_ = three.controller, request_of(three)
    del controller.effects[:]
    three.is_disk_full = True
    for _ in range(3):
        answer = three.ask(request_)
        assert isinstance(answer, Refused)
        assert answer.error is ErrorCode.KAFKA_STORAGE_ERROR
    assert not any(isinstance(effect, Elected | SendToBroker | Resigned) for effect in controller.effects)
    three.is_disk_full = False
    assert not isinstance(three.ask(request_), Refused)


def test_a_request_that_a_full_disk_refuses_half_way_makes_the_controller_read_again(three: Cluster) -> None:
    """That a broker stops is in the image before its leaderships have moved."""
    create(three)
    controller, epoch = three.controller, three.image.brokers[2].epoch
    three.is_disk_full = True
    assert isinstance(three.ask(ControlledShutdown(2, epoch)), Refused)
    three.is_disk_full = False
    del controller.effects[:]
    three.ask(ids_for(three))
    assert sum(isinstance(effect, Elected) for effect in controller.effects) == 1


def test_a_broker_whose_registration_a_full_disk_refused_registers_later(three: Cluster) -> None:
    """It runs, and its session is open: no other event would make it register."""
    three.kill(2)
    three.connect(2)
    three.is_disk_full = True
    three.start(2)
    member = three.members[2]
    assert any(isinstance(effect, ElectionFailed) for effect in member.effects)
    assert member.controller.broker is None
    three.is_disk_full = False
    member.event(WatchFired(paths.CONTROLLER, NodeChange.DATA_CHANGED))  # as after the wait
    assert member.controller.broker is not None
    assert 2 in three.image.brokers


def test_a_shutdown_of_an_earlier_life_is_stale(three: Cluster) -> None:
    answer = three.ask(ControlledShutdown(2, 0))
    assert isinstance(answer, Refused)
    assert answer.error is ErrorCode.STALE_BROKER_EPOCH


# --- elections of leaders on request


def elected(cluster: Cluster, asked: ElectLeaders) -> dict[TopicPartition, ErrorCode]:
    answer = cluster.ask_for(PartitionOutcomes, asked)
    return {named: outcome.error for named, outcome in answer.partitions.items()}


def test_preferred_leaders_are_elected(three: Cluster) -> None:
    create(three, assignments=((2, 1),))
    unknown, beyond = TopicPartition("none", 0), TopicPartition("flights", 1)
    asked = ElectLeaders(ElectionType.PREFERRED, (FLIGHTS, unknown, beyond, FLIGHTS))
    assert elected(three, asked) == {
        FLIGHTS: ErrorCode.ELECTION_NOT_NEEDED,
        unknown: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        beyond: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    three.kill(2)
    asked = ElectLeaders(ElectionType.PREFERRED, (FLIGHTS, FLIGHTS))
    assert elected(three, asked) == {FLIGHTS: ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE}
    three.start(2)
    state = three.partition("flights")
    grown = PartitionImage((2, 1), (1, 2), 1, state.leader_epoch)
    session = write_isr(three, FLIGHTS, grown)
    announce(three, session)
    for_all = ElectLeaders(ElectionType.PREFERRED)
    assert elected(three, for_all) == {FLIGHTS: ErrorCode.NONE}
    assert three.partition("flights").leader == 2
    assert elected(three, for_all) == {FLIGHTS: ErrorCode.ELECTION_NOT_NEEDED}


def test_a_stopping_broker_is_not_preferred(three: Cluster) -> None:
    create(three, assignments=((2, 1),))
    three.ask(ControlledShutdown(2, three.image.brokers[2].epoch))
    asked = ElectLeaders(ElectionType.PREFERRED, (FLIGHTS,))
    assert elected(three, asked) == {FLIGHTS: ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE}


def test_leaderships_are_given_back_a_few_at_a_time(three: Cluster) -> None:
    """`auto.leader.rebalance.enable`: where the preferred leader is live and in sync, and nowhere else."""
    create(three, assignments=((2, 1), (2, 1), (2, 1), (3, 1)))
    three.kill(2)
    three.start(2)
    assert three.ask(RebalanceLeaders(10)) == RebalanceProgress(0, has_more=False), "2 is not in sync"
    for number in range(3):
        named = TopicPartition("flights", number)
        state = three.image.partition(named)
        assert state is not None
        session = write_isr(three, named, PartitionImage((2, 1), (1, 2), 1, state.leader_epoch))
    notice = codec.encode_isr_change([TopicPartition("flights", number) for number in range(3)])
    announced = three.store.engine.apply(session, Create(paths.ISR_CHANGE_PREFIX, notice, sequential=True))
    three.store.tell(announced.events)
    three.store.deliver()
    assert three.ask(RebalanceLeaders(2)) == RebalanceProgress(2, has_more=True)
    assert three.ask(RebalanceLeaders(2)) == RebalanceProgress(1, has_more=False)
    assert [three.partition("flights", number).leader for number in range(4)] == [2, 2, 2, 3]
    assert three.ask(RebalanceLeaders(2)) == RebalanceProgress(0, has_more=False)


def test_an_unclean_election_needs_somebody(three: Cluster) -> None:
    create(three, assignments=((2,), (1,)))
    three.kill(2)
    other = TopicPartition("flights", 1)
    assert elected(three, ElectLeaders(ElectionType.UNCLEAN, (FLIGHTS, other))) == {
        FLIGHTS: ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE,
        other: ErrorCode.ELECTION_NOT_NEEDED,
    }


# --- ISR changes


def announce(cluster: Cluster, session: int) -> None:
    notice = Create(paths.ISR_CHANGE_PREFIX, codec.encode_isr_change([FLIGHTS]), sequential=True)
    cluster.store.tell(cluster.store.engine.apply(session, notice).events)
    cluster.store.deliver()


def test_an_announced_isr_change_reaches_everyone(three: Cluster) -> None:
    """R4 the controller reads the notice, refreshes its view, tells all brokers, deletes the notice."""
    create(three)
    session = write_isr(three, FLIGHTS, PartitionImage((1, 2, 3), (1, 2), 1))
    announce(three, session)
    assert three.partition("flights").isr == (1, 2)
    known = [member.image.partition(FLIGHTS) for member in three.members.values()]
    assert [state and state.isr for state in known] == [(1, 2)] * 3
    listed = three.store.engine.apply(session, Exists(f"{paths.ISR_CHANGE_PREFIX}0000000000")).result
    assert listed == Existence(None)


def test_a_malformed_notice_is_dropped(three: Cluster) -> None:
    session = three.store.engine.open_session()
    for data in (b"nonsense", b"{}", b'{"version":1,"partitions":[{"topic":"none","partition":0}]}'):
        notice = Create(paths.ISR_CHANGE_PREFIX, data, sequential=True)
        three.store.tell(three.store.engine.apply(session, notice).events)
    create(three)
    assert not [effect for effect in three.controller.effects if isinstance(effect, EventFailed)]


# --- log directories


def announce_failed_directory(cluster: Cluster, data: bytes) -> None:
    notice = Create(paths.LOG_DIR_EVENT_PREFIX, data, sequential=True)
    cluster.store.tell(cluster.store.engine.apply(cluster.store.engine.open_session(), notice).events)
    cluster.store.deliver()


def test_a_broker_that_announces_a_failed_directory_is_asked_for_its_partitions(three: Cluster) -> None:
    """R6: it alone is ordered the roles that it has; the notice is deleted."""
    create(three, assignments=((1, 2), (2, 1), (2, 3)))
    before = {broker_id: len(member.received) for broker_id, member in three.members.items()}
    announce_failed_directory(three, codec.encode_log_dir_event(1))
    new = {broker_id: member.received[before[broker_id] :] for broker_id, member in three.members.items()}
    assert (new[2], new[3]) == ([], [])
    (order,) = new[1]
    assert isinstance(order, LeaderAndIsr)
    assert [each.topic_partition for each in order.partitions] == [FLIGHTS, TopicPartition("flights", 1)]
    assert [each.state for each in order.partitions] == [
        three.partition("flights"),
        three.partition("flights", 1),
    ]
    assert three.store.table.child_names(paths.LOG_DIR_EVENTS) == ()


def test_a_store_of_an_earlier_version_has_the_node_for_such_notices_made(cluster: Cluster) -> None:
    """R6: by the first controller that looks for them."""
    session = cluster.store.engine.open_session()
    for path in paths.ROOTS:
        cluster.store.engine.apply(session, Create(path))
    cluster.start(1)
    create(cluster, assignments=((1,),))
    before = len(cluster.members[1].received)
    announce_failed_directory(cluster, codec.encode_log_dir_event(1))
    (order,) = cluster.members[1].received[before:]
    assert isinstance(order, LeaderAndIsr)


def test_a_notice_of_a_broker_that_is_gone_or_that_cannot_be_read_is_dropped(three: Cluster) -> None:
    """R6: a broker that comes back is ordered its roles anyway."""
    create(three)
    three.kill(1)
    before = [len(member.received) for member in three.members.values()]
    for data in (codec.encode_log_dir_event(1), codec.encode_log_dir_event(77), b"nonsense", b"{}", b"[]"):
        announce_failed_directory(three, data)
    assert [len(member.received) for member in three.members.values()] == before
    assert three.store.table.child_names(paths.LOG_DIR_EVENTS) == ()
    assert not [effect for effect in three.controller.effects if isinstance(effect, EventFailed)]


def test_the_answer_of_a_broker_that_is_gone_says_nothing_of_its_next_life(three: Cluster) -> None:
    """R6: its directory may have been repaired when it comes back."""
    create(three, assignments=((1,),))
    three.kill(1)
    three.controller.event(BrokerAnswered(10_000, 1, {FLIGHTS: ErrorCode.KAFKA_STORAGE_ERROR}))
    three.start(1)
    assert three.partition("flights").leader == 1


# --- races


def test_an_election_that_races_with_a_leaders_isr_write_decides_again(three: Cluster) -> None:
    """R2 the state is written on the condition of its version; the loser reads it again."""
    create(three)
    write_isr(three, FLIGHTS, PartitionImage((1, 2, 3), (1, 3), 1))
    three.ask(ControlledShutdown(1, three.image.brokers[1].epoch))
    assert three.partition("flights").leader == 3
    assert three.partition("flights").isr == (3,)


# --- trouble with the store


@pytest.mark.parametrize("executed", [True, False])
def test_after_a_lost_answer_the_store_says_what_was_done(three: Cluster, executed: bool) -> None:
    controller = three.controller
    controller.live_session.lose_connection(executed=executed, after=1)
    answer = three.ask_for(TopicOutcomes, CreateTopics((NewTopic("flights", 1, 1),)))
    assert [topic.error for topic in answer.topics] == [ErrorCode.NONE]
    three.ask(three.ids_for(1))
    assert "flights" in three.image.topics
    assert held_lines(three.image) == held_lines(stored_image(three))


def test_too_many_waiting_requests_are_refused(three: Cluster) -> None:
    three.holding = True
    member = three.controller
    for number in range(REQUESTS_WAITING_MAX + 2):
        member.event(RequestArrived(100 + number, three.ids_for(1)))
    last = member.answers.pop(100 + REQUESTS_WAITING_MAX + 1)
    assert isinstance(last, Refused)
    assert last.error is ErrorCode.REQUEST_TIMED_OUT
    three.store.deliver()
    blocks = [ProducerIdBlock(1, 1000 * number, 1000) for number in range(REQUESTS_WAITING_MAX + 1)]
    assert list(member.answers.values()) == blocks


def test_a_new_broker_is_told_everything(three: Cluster) -> None:
    create(three, assignments=((1, 2), (3, 1)))
    three.start(4)
    member = three.members[4]
    assert member.image.topics == three.image.topics
    assert list(member.image.brokers) == [1, 2, 3, 4]
    assert list(three.members[2].image.brokers) == [1, 2, 3, 4]
    assert isinstance(member.received[-1], UpdateMetadata)


def test_partitions_of_an_unfinished_topic_get_their_first_state(cluster: Cluster) -> None:
    """A topic with an assignment and no states, as another controller may leave it, becomes whole."""
    cluster.start(1)
    cluster.kill(1)
    session = cluster.store.engine.open_session()
    topic = codec.encode_topic(UUID(int=5), {0: PartitionImage((1,), (), NO_BROKER)})
    cluster.store.engine.apply(session, Create(paths.topic("flights"), topic))
    cluster.start(1)
    assert cluster.partition("flights").leader == 1
    found = cluster.store.engine.apply(session, GetData(paths.partition_state("flights", 0))).result
    assert isinstance(found, Data)
    assert codec.decode_state(found.data).leader == 1


def test_one_broker_runs_on_the_embedded_engine_and_restarts(tmp_path: Path) -> None:
    """The walking skeleton's way: every store call goes straight to the engine in a file."""

    def run(engine: EmbeddedEngine, events: Sequence[ControllerEvent]) -> tuple[Controller, list[Answer]]:
        controller = Controller(ControllerSettings(), ManualClock(), SeededChance(1))
        session = engine.open_session()
        answers: list[Answer] = []
        pending: deque[ControllerEvent] = deque([Started(make_broker(1), session), *events])
        while pending:
            for effect in controller.on_event(pending.popleft()):
                match effect:
                    case StoreCall(call_id, operation):
                        result = engine.apply(session, operation).result
                        pending.appendleft(StoreReplied(call_id, result))
                    case SendToBroker(broker_id, order_id):
                        pending.append(BrokerAnswered(order_id, broker_id, {}))
                    case Respond(_, answer):
                        answers.append(answer)
        engine.close()
        return controller, answers

    flights = CreateTopics((NewTopic("flights", 3, 1),))
    first, answers = run(EmbeddedEngine(tmp_path / "metadata"), [RequestArrived(1, flights)])
    (created,) = answers
    assert isinstance(created, TopicOutcomes)
    assert [outcome.error for outcome in created.topics] == [ErrorCode.NONE]
    second, _ = run(EmbeddedEngine(tmp_path / "metadata"), [])
    assert second.image.cluster_id == first.image.cluster_id
    assert second.image.topics["flights"].topic_id == first.image.topics["flights"].topic_id
    for number, state in second.image.topics["flights"].partitions.items():
        assert (state.leader, state.isr) == (1, (1,))
        assert state.leader_epoch > first.image.topics["flights"].partitions[number].leader_epoch


@pytest.mark.parametrize(
    ("resource_type", "name"),
    [(ResourceType.TOPIC, "flights"), (ResourceType.BROKER, ""), (ResourceType.BROKER, "1")],
)
def test_a_partition_without_a_leader_gets_one_when_unclean_elections_are_allowed(
    three: Cluster, resource_type: ResourceType, name: str
) -> None:
    """At once, as in Kafka, wherever they are allowed: topic, all brokers, the controller's own broker."""
    create(three, assignments=((2, 3),))
    three.kill(3)
    three.kill(2)
    three.start(3)
    assert three.partition("flights").leader == NO_BROKER
    three.controller.event(answered(3, LogEnd(three.partition("flights").leader_epoch, 0, 5)))
    for text, leader in (("false", NO_BROKER), ("true", 3)):
        operations = (("unclean.leader.election.enable", ConfigOperation.SET, text),)
        answer = three.ask_for(
            ResourceOutcomes, AlterConfigs((ConfigAmendment(resource_type, name, operations),))
        )
        assert answer.resources[0].error is ErrorCode.NONE
        assert three.partition("flights").leader == leader


def test_hundreds_of_answers_that_wait_are_taken_a_few_in_each_turn(
    three: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a take-over the brokers answer every order, and most answers need no store."""
    three.holding = True
    member, taken = three.controller, list[int]()
    controller = member.controller
    member.event(RequestArrived(900, three.ids_for(1)))
    for number in range(10 * ITEMS_PER_STEP):
        member.event(BrokerAnswered(number, 2, {}))
    on_event = controller.on_event

    def counted(event: ControllerEvent) -> list[Effect]:
        before = len(controller.events)
        effects = on_event(event)
        taken.append(before - len(controller.events))
        return effects

    monkeypatch.setattr(controller, "on_event", counted)
    three.store.deliver()
    assert len(controller.events) == 0
    assert sum(taken) == 10 * ITEMS_PER_STEP
    assert max(taken) <= ITEMS_PER_STEP
