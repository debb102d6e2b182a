"""What a fetch reads: who may, how far, and how much."""

from uuid import UUID

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import NO_TOPIC_ID, TopicPartition
from odradek.base.stored_bytes import StoredBytes
from odradek.metadata.image import BrokerImage, BrokerRegistered
from odradek.replication import DEBUGGING_CONSUMER_ID, FetchParams, Isolation, PartitionFetch
from odradek.replication.reading import HELD_BYTES_MAX
from tests.replication.replica_bench import ConsumeOptions, FetchAnswers, ReplicaBench

p1, p2, p3, p4 = (TopicPartition("flights", number) for number in (1, 2, 3, 4))
BIG = 1 << 20


def sizes(answers: FetchAnswers) -> list[int]:
    return [len(outcome.records) for outcome in answers.only]


def test_a_consumer_reads_to_hw_a_follower_to_the_log_end(bench: ReplicaBench) -> None:
    """R9."""
    bench.order(p1, isr=(1, 2))
    bench.produce(p1, acks=1)
    assert sizes(bench.consume({p1: 0}, max_wait_ms=0)) == [0]
    assert sizes(bench.follow(2, {p1: 0}, max_wait_ms=0)) == [100]


def test_a_read_committed_consumer_stops_at_the_lso(bench: ReplicaBench) -> None:
    """R9, F3."""
    bench.order(p1)
    bench.produce(p1)
    bench.begin_transaction(p1)
    bench.produce(p1)
    answers = bench.consume({p1: 0}, isolation=Isolation.LAST_STABLE)
    assert (sizes(answers), answers.only[0].last_stable_offset) == ([100], 1)


def test_a_replica_that_follows_serves_those_who_may_read_it(bench: ReplicaBench) -> None:
    """R9: Fetch >= 11, and debugging consumers, to the follower's own HW."""
    bench.order(p1)
    bench.produce(p1)
    bench.order(p1, leader=2, isr=(1, 2))
    assert bench.consume({p1: 0}).only[0].error_code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert sizes(bench.consume({p1: 0}, leader_only=False)) == [100]
    assert sizes(bench.consume({p1: 0}, leader_only=False, replica_id=DEBUGGING_CONSUMER_ID)) == [100]


def test_a_debugging_consumer_without_a_replica_is_told_so(bench: ReplicaBench) -> None:
    """R9."""
    bench.make_known(p1)
    answers = bench.consume({p1: 0, p2: 0}, leader_only=False, replica_id=DEBUGGING_CONSUMER_ID)
    assert [outcome.error_code for outcome in answers.only] == [
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]


@pytest.mark.parametrize(
    ("epoch", "expected"),
    [
        (-1, ErrorCode.NONE),
        (4, ErrorCode.FENCED_LEADER_EPOCH),
        (5, ErrorCode.NONE),
        (6, ErrorCode.UNKNOWN_LEADER_EPOCH),
    ],
)
def test_the_fetchers_leader_epoch_must_be_ours(bench: ReplicaBench, epoch: int, expected: ErrorCode) -> None:
    """F2 E, X5."""
    bench.order(p1, epoch=5)
    answers = bench.fetch(FetchParams(), PartitionFetch(p1, 0, BIG, current_leader_epoch=epoch))
    assert answers.only[0].error_code is expected


def test_a_topic_goes_by_its_id_where_the_fetcher_gives_one(bench: ReplicaBench) -> None:
    ours, other = UUID(int=7), UUID(int=8)
    bench.order(p1, topic_id=ours)

    def error_of(topic_partition: TopicPartition, topic_id: UUID) -> ErrorCode:
        answers = bench.fetch(FetchParams(), PartitionFetch(topic_partition, 0, BIG, topic_id=topic_id))
        return answers.only[0].error_code

    assert error_of(p1, ours) is ErrorCode.NONE
    assert error_of(p1, NO_TOPIC_ID) is ErrorCode.NONE
    assert error_of(p1, other) is ErrorCode.INCONSISTENT_TOPIC_ID
    assert error_of(TopicPartition("", 1), other) is ErrorCode.UNKNOWN_TOPIC_ID


def test_an_offset_outside_of_the_log_is_an_error_without_offsets(bench: ReplicaBench) -> None:
    """R9: HW -1 and no records."""
    bench.order(p1)
    (outcome,) = bench.consume({p1: 1}).only
    assert (outcome.error_code, outcome.high_watermark, outcome.log_start_offset) == (
        ErrorCode.OFFSET_OUT_OF_RANGE,
        -1,
        -1,
    )


def test_the_limit_is_over_all_partitions_in_their_order(bench: ReplicaBench) -> None:
    """R9: the worked example of reading.py."""
    for partition in (p1, p2, p3, p4):
        bench.order(partition)
    bench.produce(p1, p2, p3, p4, size_bytes=80)
    bench.produce(p1, size_bytes=80)
    answers = bench.consume(dict.fromkeys((p1, p2, p3, p4), 0), max_bytes=220, partition_max_bytes=120)
    assert sizes(answers) == [120, 80, 0, 0]
    assert [outcome.high_watermark for outcome in answers.only] == [2, 1, 1, 1]


def test_the_first_batch_of_an_answer_is_whole_although_above_the_limits(bench: ReplicaBench) -> None:
    """KIP-74: only the first one, of the first partition that has any."""
    for partition in (p1, p2, p3):
        bench.order(partition)
    for partition in (p2, p3):
        bench.produce(partition, size_bytes=300)
    answers = bench.consume(dict.fromkeys((p1, p2, p3), 0), max_bytes=10, partition_max_bytes=10)
    assert sizes(answers) == [0, 300, 0]


@pytest.mark.parametrize("limits", [{"max_bytes": 0}, {"partition_max_bytes": 0}])
def test_a_reader_that_allows_nothing_gets_a_batch_all_the_same(
    bench: ReplicaBench, limits: ConsumeOptions
) -> None:
    """KIP-74, as in Kafka: the limits are wishes, also at 0."""
    bench.order(p1)
    bench.produce(p1, size_bytes=300)
    assert sizes(bench.consume({p1: 0}, **limits)) == [300]


def test_a_broker_that_no_partition_is_assigned_to_is_not_served(bench: ReplicaBench) -> None:
    """R9: beyond HW read the replicas of the partition, and no other broker."""
    bench.order(p1, isr=(1, 2))
    bench.produce(p1, acks=1)
    assert bench.follow(2, {p1: 0}).only[0].error_code is ErrorCode.NONE
    assert bench.follow(3, {p1: 0}).only[0].error_code is ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_hard_limit_cuts_the_first_batch_short(bench: ReplicaBench) -> None:
    """F1: Fetch < 3."""
    bench.order(p1)
    bench.produce(p1, size_bytes=300)
    answers = bench.consume({p1: 0}, partition_max_bytes=10, hard_max_bytes=True, min_bytes=0)
    assert sizes(answers) == [10]


def test_the_answer_carries_the_high_watermark_from_before(bench: ReplicaBench) -> None:
    """R10: the fetch that raises HW is not told of it."""
    bench.order(p1, isr=(1, 2))
    bench.produce(p1, acks=1)
    assert bench.follow(2, {p1: 1}, max_wait_ms=0).only[0].high_watermark == 0
    assert bench.follow(2, {p1: 1}, max_wait_ms=0).only[0].high_watermark == 1


def test_an_answer_holds_a_megabyte_of_records_and_leaves_the_rest_in_the_files(bench: ReplicaBench) -> None:
    """50 partitions of 1 MB each were 50 MB in memory, for as long as their reader liked."""
    parts = [TopicPartition("flights", number) for number in range(5)]
    for part in parts:
        bench.order(part)
    for part in parts:
        bench.produce(part, size_bytes=400_000)
    outcomes = bench.consume(dict.fromkeys(parts, 0)).only
    assert [len(outcome.records) for outcome in outcomes] == [400_000] * 5
    is_stored = [isinstance(outcome.records, StoredBytes) for outcome in outcomes]
    assert is_stored == [False, False, True, True, True]
    held = [outcome.records for outcome in outcomes[:2]]
    assert sum(map(len, held)) <= HELD_BYTES_MAX
    last = outcomes[4].records
    assert isinstance(last, StoredBytes)
    assert isinstance(held[0], bytes | memoryview)
    assert last.read_at(len(last), 0)[61:] == bytes(held[0])[61:], "the batches are alike"


@pytest.mark.parametrize(
    ("fetched", "expected"),
    [(6, ErrorCode.NOT_LEADER_OR_FOLLOWER), (7, ErrorCode.NONE), (8, ErrorCode.NONE), (-1, ErrorCode.NONE)],
)
def test_a_fetch_of_an_earlier_registration_moves_nothing(
    bench: ReplicaBench, fetched: int, expected: ErrorCode
) -> None:
    """R16, R10, KIP-903: it is late; one of a registration that is not known here yet is served."""
    bench.order(p1, isr=(1, 2))
    bench.image.apply(BrokerRegistered(BrokerImage(2, (), epoch=7)))
    waiting = bench.produce(p1)
    remote = bench.leadership(p1).remotes[2]
    before = remote.log_end.offset
    params = FetchParams(replica_id=2, replica_epoch=fetched, isolation=Isolation.LOG_END)
    answers = bench.fetch(params, PartitionFetch(p1, 1, BIG))
    assert answers.only[0].error_code is expected
    is_served = expected is ErrorCode.NONE
    assert remote.log_end.offset == (1 if is_served else before)
    assert bench.log(p1).high_watermark.offset == (1 if is_served else 0)
    assert waiting.is_answered is is_served
