"""The scenarios of the specification, run literally, and the replica manager's own rules."""

import errno
import gc
from itertools import pairwise

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import ITEMS_PER_STEP, Steps, deliver, exhaust
from odradek.base.ids import TopicPartition
from odradek.base.settings import TopicConfig
from odradek.metadata.orders import StopReplica, StopReplicaPartition
from odradek.records.work import finish
from odradek.replication import FetchOutcome, FetchParams, Partition, PartitionFetch
from odradek.replication.delayed_fetch import DelayedFetch
from odradek.replication.purgatories import WOKEN_PER_TURN
from odradek.storage import Origin
from odradek.storage.memory_files import Fault
from odradek.timer import DelayedOperation, Purgatory
from tests.replication.replica_bench import FetchAnswers, ProduceAnswers, ReplicaBench, batch_of

p1, p2, p3, p4, p5, p6, p7 = (TopicPartition("flights", number) for number in range(1, 8))
BATCH_BYTES = 100
MIN_BYTES = 150
A_BATCH = batch_of(BATCH_BYTES, 0)


def lead(bench: ReplicaBench, *partitions: TopicPartition, isr: tuple[int, ...] = (1,)) -> None:
    for partition in partitions:
        bench.order(partition, isr=isr)


def never(result: object) -> None:
    raise AssertionError(f"an event although the call returned the result: {result}")


# --- S0


def test_one_operation_is_watched_under_every_key_and_purged_from_all(bench: ReplicaBench) -> None:
    """S0, first half."""
    lead(bench, p1, p2, p3, p4, p5, p6, p7)
    first = bench.consume(dict.fromkeys((p1, p2, p3, p4, p5), 0))
    bench.consume(dict.fromkeys((p1, p3, p5, p6, p7), 0))
    watchers = bench.manager.purgatories.fetch.watchers()
    operation_1, operation_2 = watchers[p1]
    assert {key: len(operations) for key, operations in watchers.items()} == {
        p1: 2, p2: 1, p3: 2, p4: 1, p5: 2, p6: 1, p7: 1,
    }  # fmt: skip
    assert [watchers[key] for key in (p1, p3, p5)] == [[operation_1, operation_2]] * 3
    assert [watchers[key] for key in (p2, p4)] == [[operation_1]] * 2
    assert [watchers[key] for key in (p6, p7)] == [[operation_2]] * 2

    bench.produce(p2, acks=1)
    assert first.is_answered
    bench.purge()
    assert bench.manager.purgatories.fetch.watchers() == {key: [operation_2] for key in (p1, p3, p5, p6, p7)}


def test_watched_counts_entries_and_delayed_counts_operations(bench: ReplicaBench) -> None:
    """S0, second half."""
    lead(bench, p1, p2, isr=(1, 2, 3, 4))
    bench.produce(p1, p2)
    bench.consume({p1: 0}, min_bytes=MIN_BYTES)
    bench.consume({p2: 0}, min_bytes=MIN_BYTES)
    for follower in (2, 3, 4):
        bench.follow(follower, {p1: 0, p2: 0}, min_bytes=1000)
    purgatories = bench.manager.purgatories.all()
    assert [bench.waiting(p1), bench.waiting(p2)] == [["produce", "fetch", "fetch", "fetch", "fetch"]] * 2
    assert sum(purgatory.watched for purgatory in purgatories) == 10
    assert sum(purgatory.delayed for purgatory in purgatories) == 6


# --- S1


def test_a_produce_waits_for_three_followers_and_fetches_wait_for_bytes(bench: ReplicaBench) -> None:
    """S1: p1 and p2 led here, ISR = {1, 2, 3, 4}; b < min bytes <= 2b."""
    lead(bench, p1, p2, isr=(1, 2, 3, 4))
    purgatories = bench.manager.purgatories

    def lists() -> list[list[str]]:
        produces, fetches = purgatories.produce.watchers(), purgatories.fetch.watchers()
        return [[names[id(one)] for one in produces.get(key, []) + fetches.get(key, [])] for key in (p1, p2)]

    names: dict[int, str] = {}
    kept = []  # so that no id is given twice

    def name_newest(name: str, purgatory: Purgatory[TopicPartition], key: TopicPartition) -> None:
        kept.append(purgatory.watchers()[key][-1])
        names[id(kept[-1])] = name

    # (1)
    produce = bench.produce(p1, acks=-1, size_bytes=BATCH_BYTES)
    name_newest("DP", purgatories.produce, p1)
    assert lists() == [["DP"], []]
    # (2)
    consumer = bench.consume({p1: 0}, min_bytes=MIN_BYTES)
    name_newest("DF1", purgatories.fetch, p1)
    assert lists() == [["DP", "DF1"], []]
    # (3) (4) (5)
    followers = {}
    for follower in (2, 3, 4):
        followers[follower] = bench.follow(follower, {p1: 0, p2: 0}, min_bytes=MIN_BYTES)
        name_newest(f"DF{follower}", purgatories.fetch, p1)
    assert lists() == [["DP", "DF1", "DF2", "DF3", "DF4"], ["DF2", "DF3", "DF4"]]
    # (6)
    for follower in (2, 3):
        second = bench.follow(follower, {p1: 1, p2: 0}, min_bytes=MIN_BYTES, max_wait_ms=0)
        assert second.is_answered
        assert not produce.is_answered
        assert lists() == [["DP", "DF1", "DF2", "DF3", "DF4"], ["DF2", "DF3", "DF4"]]
    bench.follow(4, {p1: 1, p2: 0}, min_bytes=MIN_BYTES, max_wait_ms=0)
    assert produce.only[p1].error_code is ErrorCode.NONE
    assert lists() == [["DF1", "DF2", "DF3", "DF4"], ["DF2", "DF3", "DF4"]]
    # (7)
    assert bench.log(p1).high_watermark.offset == 1
    assert not consumer.is_answered
    # (8)
    bench.produce(p1, acks=1, size_bytes=BATCH_BYTES)
    assert all(answers.is_answered for answers in followers.values())
    assert [len(followers[2].only[0].records), len(followers[2].only[1].records)] == [200, 0]
    assert lists() == [["DF1"], ["DF2", "DF3", "DF4"]]
    assert all(operation.is_completed for operation in purgatories.fetch.watchers()[p2])
    # (9)
    for follower in (2, 3, 4):
        bench.follow(follower, {p1: 2, p2: 0}, min_bytes=MIN_BYTES, max_wait_ms=0)
    assert bench.log(p1).high_watermark.offset == 2
    assert len(consumer.only[0].records) == 200
    bench.purge()
    assert lists() == [[], []]
    assert [purgatory.watchers() for purgatory in purgatories.all()] == [{}, {}, {}]
    assert sum(purgatory.delayed for purgatory in purgatories.all()) == 0


# --- S2


def unread_batches(bench: ReplicaBench) -> tuple[dict[int, FetchAnswers], dict[int, DelayedOperation]]:
    """Unread: p1 2, p2 1, p3 2 batches; broker 2 follows p1 + p2, broker 3 p2 + p3, broker 4 p1 + p3."""
    lead(bench, p1, isr=(1, 2, 4))
    lead(bench, p2, isr=(1, 2, 3))
    lead(bench, p3, isr=(1, 3, 4))
    for partition in (p1, p1, p2, p3, p3):
        bench.produce(partition, acks=1, size_bytes=BATCH_BYTES)
    followed = {2: (p1, p2), 3: (p2, p3), 4: (p1, p3)}
    answers = {
        broker_id: bench.follow(broker_id, dict.fromkeys(keys, 0), min_bytes=5 * BATCH_BYTES)
        for broker_id, keys in followed.items()
    }
    watchers = bench.manager.purgatories.fetch.watchers()
    operations = {2: watchers[p1][0], 3: watchers[p2][1], 4: watchers[p1][1]}
    assert watchers == {
        p1: [operations[2], operations[4]],
        p2: [operations[2], operations[3]],
        p3: [operations[3], operations[4]],
    }
    return answers, operations


def answered(answers: dict[int, FetchAnswers]) -> list[int]:
    return [broker_id for broker_id, one in answers.items() if one.is_answered]


def test_a_fetch_completes_by_the_sum_over_its_partitions(bench: ReplicaBench) -> None:
    """S2 (a), (b): batches of u bytes, min bytes 5u."""
    answers, operations = unread_batches(bench)
    watchers = bench.manager.purgatories.fetch.watchers
    # (a)
    bench.produce(p1, acks=1, size_bytes=BATCH_BYTES)
    assert answered(answers) == [4]
    assert watchers()[p1] == [operations[2]]
    assert watchers()[p3] == [operations[3], operations[4]]
    assert operations[4].is_completed
    # (b)
    bench.produce(p1, acks=1, size_bytes=BATCH_BYTES)
    assert answered(answers) == [2, 4]
    assert p1 not in watchers()
    assert watchers()[p2] == [operations[2], operations[3]]
    assert operations[2].is_completed
    bench.purge()
    assert watchers() == {p2: [operations[3]], p3: [operations[3]]}


def test_two_batches_at_once_complete_both_fetches(bench: ReplicaBench) -> None:
    """S2 (c)."""
    answers, operations = unread_batches(bench)
    bench.produce(p1, acks=1, size_bytes=2 * BATCH_BYTES)
    assert answered(answers) == [2, 4]
    bench.purge()
    assert bench.manager.purgatories.fetch.watchers() == {p2: [operations[3]], p3: [operations[3]]}


# --- S3


def test_a_produce_waits_for_its_last_partition_and_a_fetch_for_its_sum(bench: ReplicaBench) -> None:
    """S3."""
    lead(bench, p1, p2, isr=(1, 2))
    produce = bench.produce(p1, p2)
    consumer = bench.consume({p1: 0, p2: 0}, min_bytes=BATCH_BYTES)
    bench.follow(2, {p1: 1, p2: 0}, max_wait_ms=0)
    assert not produce.is_answered
    assert [len(outcome.records) for outcome in consumer.only] == [BATCH_BYTES, 0]
    bench.follow(2, {p1: 1, p2: 1}, max_wait_ms=0)
    assert [outcome.error_code for outcome in produce.only.values()] == [ErrorCode.NONE, ErrorCode.NONE]


# --- R6


def test_an_append_is_refused_where_this_broker_cannot_lead_and_succeeds_elsewhere(
    bench: ReplicaBench,
) -> None:
    """R6, P3 A: every partition answers for itself."""
    bench = ReplicaBench(directories=("/data", "/other"))
    lead(bench, p5)
    bench.manager.directory_failed(bench.log(p5).directory, "the disk is gone")
    lead(bench, p1, p2, p3)
    bench.order(p2, leader=2, isr=(1, 2))
    bench.make_known(p4)
    answers = bench.produce(p1, p2, p3, p4, p5, p6, acks=1).only
    assert {key: outcome.error_code for key, outcome in answers.items()} == {
        p1: ErrorCode.NONE,
        p2: ErrorCode.NOT_LEADER_OR_FOLLOWER,
        p3: ErrorCode.NONE,
        p4: ErrorCode.NOT_LEADER_OR_FOLLOWER,
        p5: ErrorCode.KAFKA_STORAGE_ERROR,
        p6: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert [answers[key].base_offset for key in (p1, p2, p6)] == [0, -1, -1]


def test_internal_topics_take_records_from_those_allowed_only(bench: ReplicaBench) -> None:
    """R6."""
    offsets, states = TopicPartition("__consumer_offsets", 0), TopicPartition("__transaction_state", 0)
    lead(bench, offsets, states)
    refused = bench.produce(offsets, states, acks=1).only
    assert {outcome.error_code for outcome in refused.values()} == {ErrorCode.INVALID_TOPIC_EXCEPTION}
    assert bench.log(offsets).end_offset == 0
    allowed = bench.produce(offsets, acks=1, internal_allowed=True, origin=Origin.COORDINATOR).only
    assert allowed[offsets].error_code is ErrorCode.NONE


def test_too_few_in_sync_replicas_refuse_acks_all_alone(bench: ReplicaBench) -> None:
    """R6: nothing is written; acks=1 goes through."""
    bench.set_config(TopicConfig(min_insync_replicas=2))
    bench.order(p1, isr=(1,), replicas=(1, 2))
    assert bench.produce(p1, acks=-1).only[p1].error_code is ErrorCode.NOT_ENOUGH_REPLICAS
    assert bench.log(p1).end_offset == 0
    assert bench.produce(p1, acks=1).only[p1].error_code is ErrorCode.NONE


def test_min_isr_is_at_most_the_number_of_replicas(bench: ReplicaBench) -> None:
    """P3: a topic with one replica takes acks=all whatever `min.insync.replicas` says."""
    bench.set_config(TopicConfig(min_insync_replicas=3))
    lead(bench, p1)
    assert bench.produce(p1, acks=-1).only[p1].error_code is ErrorCode.NONE


def test_what_the_log_refuses_is_answered_with_its_code_and_words(bench: ReplicaBench) -> None:
    """R6."""
    lead(bench, p1, p2)
    bench.set_config(TopicConfig(max_message_bytes=BATCH_BYTES))
    assert bench.produce(p1, acks=1, size_bytes=101).only[p1].error_code is ErrorCode.MESSAGE_TOO_LARGE
    damaged = bytearray(batch_of(BATCH_BYTES, 0))
    damaged[-1] ^= 1
    answers = ProduceAnswers()
    deliver(bench.manager.append({p2: damaged}, acks=1, timeout_ms=0, later=never), answers)
    assert answers.only[p2].error_code is ErrorCode.CORRUPT_MESSAGE
    assert "has CRC" in (answers.only[p2].error_message or "")


def test_a_failing_disk_takes_its_directory_and_all_its_partitions_away(bench: ReplicaBench) -> None:
    """R6, R14, L7: KAFKA_STORAGE_ERROR, also for those who waited; the last directory stops the broker."""
    bench = ReplicaBench(directories=("/data", "/other"))
    lead(bench, p1, p3, p2, isr=(1, 2))  # in turn: the second lies in /other
    assert [bench.log(partition).directory for partition in (p1, p2, p3)] == ["/data", "/data", "/other"]
    waiting_produce = bench.produce(p2)
    waiting_fetch = bench.consume({p2: 0})
    bench.files.inject(Fault("write", errno.ENOSPC, "flights-1"))
    answers = bench.produce(p1, p3, acks=1).only
    assert answers[p1].error_code is ErrorCode.KAFKA_STORAGE_ERROR
    assert answers[p3].error_code is ErrorCode.NONE
    assert waiting_produce.only[p2].error_code is ErrorCode.KAFKA_STORAGE_ERROR
    assert waiting_fetch.only[0].error_code is ErrorCode.KAFKA_STORAGE_ERROR
    assert bench.effects.failed_directories == [("/data", False)]
    assert [one.topic_partition for one in bench.manager.partitions()] == [p3]

    bench.manager.directory_failed("/data", "reported twice")
    bench.manager.directory_failed("/other", "gone too")
    assert bench.effects.failed_directories == [("/data", False), ("/other", True)]


def test_an_append_wakes_its_readers_in_a_later_turn_once(bench: ReplicaBench) -> None:
    """R7, R14: the producer is answered first, and no next request comes while the append is at work."""
    bench.order(p1)
    consumer = bench.consume({p1: 0}, min_bytes=150)
    for _ in range(2):
        outcomes = bench.manager.append({p1: A_BATCH}, acks=1, timeout_ms=0, later=never)
        assert outcomes is not None
        assert outcomes[p1].error_code is ErrorCode.NONE
    assert not consumer.is_answered
    assert len(bench.turns) == 1
    bench.run_turns()
    assert len(consumer.only[0].records) == 200


def test_who_has_answered_may_wake_the_readers_at_once(bench: ReplicaBench) -> None:
    """R7: the round trip of a consumer does not pay for a turn of the loop."""
    bench.order(p1)
    consumer = bench.consume({p1: 0})
    bench.manager.append({p1: A_BATCH}, acks=1, timeout_ms=0, later=never)
    bench.manager.purgatories.wake_changed()
    assert consumer.is_answered
    bench.run_turns()


def test_what_is_appended_while_readers_are_woken_wakes_its_own(bench: ReplicaBench) -> None:
    """R14: a woken reader's connection brings its next request, maybe a produce to the same partition."""
    bench.order(p1)

    def produce_next(outcomes: list[FetchOutcome]) -> None:
        bench.manager.append({p1: A_BATCH}, acks=1, timeout_ms=0, later=never)

    known = bench.manager.fetch(
        FetchParams(min_bytes=1, max_wait_ms=500), [PartitionFetch(p1, 0, 1 << 20)], produce_next
    )
    assert isinstance(known, DelayedFetch)
    behind = bench.consume({p1: 1})
    bench.produce(p1)
    assert behind.is_answered


def test_an_order_is_obeyed_before_what_it_ends_is_answered(bench: ReplicaBench) -> None:
    """R14: the broker's coordinators are given the new roles before any client is answered."""
    lead(bench, p1, isr=(1, 2))
    waiting = bench.produce(p1), bench.consume({p1: 0})
    changes = bench.manager.stop_replica(StopReplica(1, 1, 0, (StopReplicaPartition(p1, -2, False),)))
    assert changes.stopped == [p1]
    assert [one.is_answered for one in waiting] == [False, False]
    bench.run_turns()
    assert waiting[0].only[p1].error_code is ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_readers_of_many_partitions_are_woken_a_few_per_turn(bench: ReplicaBench) -> None:
    partitions = [TopicPartition("flights", number) for number in range(WOKEN_PER_TURN + 1)]
    for one in partitions:
        bench.order(one)
    consumers = [bench.consume({one: 0}) for one in partitions]
    bench.manager.append(dict.fromkeys(partitions, A_BATCH), acks=1, timeout_ms=0, later=never)
    bench.turns.popleft()()
    assert [consumer.is_answered for consumer in consumers] == [True] * WOKEN_PER_TURN + [False]
    bench.run_turns()
    assert consumers[-1].is_answered


def test_a_failed_directory_is_given_up_in_steps(bench: ReplicaBench) -> None:
    """R6, R14: its logs refuse at once; the server is told, and clients are answered, when none is left."""
    partitions = [TopicPartition("flights", number) for number in range(2 * ITEMS_PER_STEP + 1)]
    lead(bench, *partitions, isr=(1, 2))
    waiting = [bench.produce(one) for one in partitions]
    taken: list[Steps[None]] = []
    bench.run_steps = taken.append
    bench.manager.directory_failed("/data", "no space left on device")
    (steps,) = taken
    hosted = [len(partitions)]
    while not bench.effects.failed_directories and next(steps, True) is None:
        hosted.append(len(list(bench.manager.partitions())))
        if hosted[-1]:
            codes = [one.error_code for one in bench.produce(*partitions, acks=1).only.values()]
            assert codes == [ErrorCode.KAFKA_STORAGE_ERROR] * len(partitions)
            assert not any(one.is_answered for one in waiting)
    assert max(before - after for before, after in pairwise(hosted)) == ITEMS_PER_STEP
    bench.run_steps = exhaust
    exhaust(steps)
    bench.run_turns()
    assert bench.effects.failed_directories == [("/data", True)]
    codes = [one.only[key].error_code for key, one in zip(partitions, waiting, strict=True)]
    assert codes == [ErrorCode.KAFKA_STORAGE_ERROR] * len(partitions)


def test_partitions_of_a_failed_directory_are_freed_a_few_in_each_step(bench: ReplicaBench) -> None:
    """R6: not all at once when the last one is given up."""
    topic = "freed"
    lead(bench, *(TopicPartition(topic, number) for number in range(3 * ITEMS_PER_STEP)))
    gc.collect()

    def alive() -> int:
        return sum(
            isinstance(one, Partition) and one.topic_partition.topic == topic for one in gc.get_objects()
        )

    taken: list[Steps[None]] = []
    bench.run_steps = taken.append
    bench.manager.directory_failed("/data", "no space left on device")
    counts = [alive(), *(alive() for _ in taken[0])]
    assert (counts[0], counts[-1]) == (3 * ITEMS_PER_STEP, 0)
    assert max(before - after for before, after in pairwise(counts)) == ITEMS_PER_STEP


@pytest.mark.parametrize("operation", ["append", "fetch", "delete"])
def test_a_request_that_meets_a_failing_disk_is_answered_before_the_directory_is_given_up(
    bench: ReplicaBench, operation: str
) -> None:
    """R6, L7: nothing else happens in the middle of it; what follows is an event of its own."""
    bench.order(p1)
    bench.order(p2)
    bench.produce(p1)
    waiting = bench.consume({p2: 0})
    bench.files.inject(Fault("read" if operation == "fetch" else "write", errno.ENOSPC, times=-1))
    match operation:
        case "append":
            appended = bench.manager.append({p1: A_BATCH}, acks=-1, timeout_ms=9, later=never)
            code = None if appended is None else appended[p1].error_code
        case "fetch":
            read = bench.manager.fetch(FetchParams(), [PartitionFetch(p1, 0, 99)], never)
            code = None if isinstance(read, DelayedFetch) else read[0].error_code
        case _:
            deleted = finish(bench.manager.delete_records({p1: 1}, timeout_ms=9, later=never))
            code = None if deleted is None else deleted[p1].error_code
    assert code is ErrorCode.KAFKA_STORAGE_ERROR
    assert (waiting.is_answered, bench.effects.failed_directories) == (False, [])
    assert bench.manager.partition(p1) is not None
    bench.run_turns()
    assert waiting.only[0].error_code is ErrorCode.KAFKA_STORAGE_ERROR
    assert bench.effects.failed_directories == [("/data", True)]
    assert bench.manager.partition(p1) is None


# --- flush before acknowledging


def test_acks_wait_for_the_disk_where_the_topic_asks_for_it(bench: ReplicaBench) -> None:
    """odradek.log.flush.before.ack: acks=1 and acks=all wait until the log's flushed offset covers them."""
    bench.set_config(TopicConfig(odradek_log_flush_before_ack=True))
    lead(bench, p1)
    waiting = [bench.produce(p1, acks=1), bench.produce(p1, acks=-1)]
    assert bench.produce(p1, acks=0).is_answered
    assert bench.effects.flushes == [p1, p1]
    first = bench.log(p1).pending_flush(up_to=1)
    assert first is not None
    first.run()
    bench.log(p1).mark_flushed(first)
    bench.manager.on_flushed(p1)
    assert [answers.is_answered for answers in waiting] == [True, False]
    bench.flush(p1)
    assert [answers.only[p1].error_code for answers in waiting] == [ErrorCode.NONE, ErrorCode.NONE]


def test_acks_wait_for_the_flush_that_flush_messages_asks_for(bench: ReplicaBench) -> None:
    """P1: with flush.messages=2 every second append of one record waits for the disk, as in Kafka."""
    lead(bench, p1)
    bench.set_config(TopicConfig(flush_messages=2))
    assert bench.produce(p1, acks=1).is_answered
    assert bench.effects.flushes == []
    waiting = bench.produce(p1, acks=1)
    assert not waiting.is_answered
    assert bench.effects.flushes == [p1]
    bench.flush(p1)
    assert waiting.only[p1].error_code is ErrorCode.NONE


def test_a_rolled_segment_is_flushed_and_nobody_waits_for_it(bench: ReplicaBench) -> None:
    """L2: in the background, as in Kafka."""
    lead(bench, p1)
    bench.set_config(TopicConfig(segment_bytes=250))
    answers = [bench.produce(p1, acks=1) for _ in range(3)]
    assert all(one.is_answered for one in answers)
    assert bench.effects.flushes == [p1]


def test_a_failed_flush_answers_the_acks_that_waited_for_it(bench: ReplicaBench) -> None:
    """L7."""
    bench.set_config(TopicConfig(odradek_log_flush_before_ack=True))
    lead(bench, p1)
    waiting = bench.produce(p1, acks=1)
    bench.manager.directory_failed("/data", "fsync: input/output error")
    bench.run_turns()
    assert waiting.only[p1].error_code is ErrorCode.KAFKA_STORAGE_ERROR


# --- lookups and checkpoints


def test_the_high_watermark_survives_through_its_checkpoint(bench: ReplicaBench) -> None:
    """R12: read when a partition is hosted again, clamped to the log."""
    lead(bench, p1)
    for _ in range(3):
        bench.produce(p1, acks=1)
    for write in exhaust(bench.logs.checkpoints.high_watermarks()):
        write.run()
    bench.log(p1).truncate_to(2)
    bench.files.kill()
    bench.start()
    bench.order(p1, leader=2, isr=(1, 2), epoch=5)
    assert bench.logs.checkpointed_high_watermark(p1) == 3
    assert bench.log(p1).high_watermark.offset == 2


def test_the_end_of_an_epoch_is_found_in_the_leaders_log(bench: ReplicaBench) -> None:
    """X4: OffsetForLeaderEpoch."""
    lead(bench, p1)
    bench.produce(p1, acks=1)
    bench.order(p1, epoch=3)
    bench.produce(p1, acks=1)
    ends = [bench.manager.end_offset_for_epoch(p1, epoch) for epoch in (0, 1, 3)]
    assert [(end.leader_epoch, end.end_offset) for end in ends] == [(0, 1), (0, 1), (3, 2)]
    fenced = bench.manager.end_offset_for_epoch(p1, 0, current_leader_epoch=0)
    assert (fenced.error_code, fenced.end_offset) == (ErrorCode.FENCED_LEADER_EPOCH, -1)
    assert bench.manager.end_offset_for_epoch(p2, 0).error_code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_the_current_leader_is_told_to_those_who_came_to_the_wrong_broker(bench: ReplicaBench) -> None:
    bench.order(p1, leader=2, isr=(1, 2), epoch=4)
    assert bench.manager.current_leader(p1) == (2, 4)
    assert bench.manager.current_leader(p2) == (-1, -1)


def test_describe_tells_where_every_partition_stands(bench: ReplicaBench) -> None:
    bench.order(p2, leader=2, isr=(1, 2))
    bench.order(p1, isr=(1, 2), replicas=(1, 2, 3))
    bench.produce(p1, acks=1)
    bench.pass_time(40)
    bench.follow(2, {p1: 1}, max_wait_ms=0)
    bench.pass_time(2)
    led, followed = bench.manager.describe()
    assert (followed["partition"], followed["role"], followed["leader_id"]) == (2, "follower", 2)
    assert (led["isr"], led["high_watermark"], led["log_end_offset"]) == ([1, 2], 1, 1)
    assert led["followers"] == [
        {
            "broker_id": 2,
            "log_end_offset": 1,
            "behind_by": 0,
            "since_last_fetch_ms": 2,
            "since_caught_up_ms": 2,
        },
        {
            "broker_id": 3,
            "log_end_offset": -1,
            "behind_by": None,
            "since_last_fetch_ms": None,
            "since_caught_up_ms": None,
        },
    ]


def test_a_disk_that_fails_under_the_stored_log_answers_all_who_depend_on_it(bench: ReplicaBench) -> None:
    """R6, L7: the same through `storage`, down to the write that failed."""
    lead(bench, p1, p2, isr=(1, 2))
    waiting = bench.produce(p1), bench.consume({p1: 0})
    bench.files.inject(Fault("write", errno.ENOSPC, "flights-2"))
    assert bench.produce(p2, acks=1).only[p2].error_code is ErrorCode.KAFKA_STORAGE_ERROR
    assert waiting[0].only[p1].error_code is ErrorCode.KAFKA_STORAGE_ERROR
    assert waiting[1].only[0].error_code is ErrorCode.KAFKA_STORAGE_ERROR
    assert bench.effects.failed_directories == [("/data", True)]


def test_an_order_that_meets_a_failing_disk_gives_the_directory_up(bench: ReplicaBench) -> None:
    """R5a, R6: nobody is left waiting on a partition that is lost."""
    lead(bench, p1, isr=(1, 2))
    waiting = bench.produce(p1)
    bench.files.inject(Fault("make_directory", errno.EIO))
    changes = bench.order(p2, isr=(1, 2))
    assert changes.partition_errors == {p2: ErrorCode.KAFKA_STORAGE_ERROR}
    assert waiting.only[p1].error_code is ErrorCode.KAFKA_STORAGE_ERROR


def test_a_directory_that_failed_in_the_background_is_noticed(bench: ReplicaBench) -> None:
    """R12, R14: a checkpoint, retention or a flush met the error first."""
    bench.order(p1)
    waiting = bench.consume({p1: 0})
    bench.manager.notice_failed_directories()
    assert not waiting.is_answered
    bench.logs.fail_directory("/data", "no space left on device")
    bench.manager.notice_failed_directories()
    bench.run_turns()
    assert waiting.only[0].error_code is ErrorCode.KAFKA_STORAGE_ERROR
    assert bench.effects.failed_directories == [("/data", True)]
