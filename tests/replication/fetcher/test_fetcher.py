"""One fetcher, by the rules X1 to X5."""

import errno
from collections.abc import Iterator

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import exhaust
from odradek.base.ids import NO_TOPIC_ID, TopicPartition
from odradek.base.settings import TopicConfig
from odradek.replication.fetcher import (
    EpochEndAnswer,
    EpochEndsAsk,
    FetchAnswer,
    FetchAsk,
    Fetcher,
    NoteKind,
    OffsetAnswer,
    OffsetsAsk,
    PartitionAnswer,
    State,
)
from odradek.replication.fetcher.portions import BYTES_PER_STEP
from odradek.storage import EpochEnd
from odradek.storage.memory_files import Fault
from tests.replication.fetcher.brokers import BATCH_BYTES, Brokers, P, topic_id_of
from tests.replication.replica_bench import batch_of

Q = TopicPartition("orders", 1)
BACKOFF_MS = 1_000


@pytest.fixture
def brokers() -> Brokers:
    return Brokers((1, 2))


@pytest.fixture
def pair(brokers: Brokers) -> Brokers:
    """Broker 1 leads P and Q, broker 2 follows both and fetches."""
    for partition in (P, Q):
        brokers.elect(1, isr=(1, 2), partition=partition)
    brokers.settle()
    return brokers


def next_fetch(fetcher: Fetcher) -> FetchAsk:
    ask = fetcher.next_ask()
    assert isinstance(ask, FetchAsk), ask
    return ask


def answered(fetcher: Fetcher, *partitions: PartitionAnswer) -> None:
    session_id = fetcher.partitions.session.session_id
    exhaust(fetcher.on_fetched(FetchAnswer(session_id=session_id, partitions=partitions)))


def refused(fetcher: Fetcher, code: ErrorCode, partition: TopicPartition = P) -> None:
    """Fetch, and let the leader answer an error for one partition."""
    next_fetch(fetcher)
    answered(fetcher, PartitionAnswer(partition, code))


def records(*offsets: int, epoch: int = 0, size_bytes: int = BATCH_BYTES) -> bytes:
    """Batches as a leader has them."""
    batches = []
    for offset in offsets:
        batch = bytearray(batch_of(size_bytes, 1_000, base_offset=offset))
        batch[12:16] = epoch.to_bytes(4, "big")
        batches.append(bytes(batch))
    return b"".join(batches)


# --- X1


def test_one_request_names_all_partitions_and_one_is_under_way(pair: Brokers) -> None:
    """X1."""
    fetcher = pair[2].fetcher
    first = next(ask for ask in pair[2].asks if isinstance(ask, FetchAsk))
    assert [one.topic_partition for one in first.asks] == [P, Q]
    assert fetcher.next_ask() is not None
    assert fetcher.next_ask() is None
    assert fetcher.wakes_at_ms() is None


def test_the_session_goes_on_and_names_what_changed(pair: Brokers) -> None:
    """X1, KIP-227."""
    fetcher = pair[2].fetcher
    session_id = fetcher.partitions.session.session_id
    assert session_id
    pair[1].produce(1, Q)
    pair.round()
    ask = next_fetch(fetcher)
    assert (ask.session_id, [one.topic_partition for one in ask.asks]) == (session_id, [Q])
    assert [(one.fetch_offset, one.last_fetched_epoch, one.leader_epoch) for one in ask.asks] == [(1, 0, 0)]


def test_a_delayed_partition_is_left_out_and_comes_back(pair: Brokers) -> None:
    """X1, X5: NOT_LEADER delays that partition, and only that."""
    fetcher = pair[2].fetcher
    refused(fetcher, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert pair[2].state(P) is State.DELAYED
    ask = next_fetch(fetcher)
    assert [one.topic_partition for one in ask.forgotten] == [P]
    answered(fetcher)
    pair[1].produce(1, Q)
    pair.round()  # the session is lost: the leader was not told of the request above
    pair.round()
    assert pair[2].log(Q).end_offset == 1
    pair.clock.advance(BACKOFF_MS)
    assert P in [one.topic_partition for one in next_fetch(fetcher).asks]


def test_with_none_to_name_it_waits_for_the_first_that_goes_on(pair: Brokers) -> None:
    """X1."""
    fetcher = pair[2].fetcher
    now_ms = pair.clock.monotonic_ms()
    refused(fetcher, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    pair.clock.advance(300)
    refused(fetcher, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, Q)
    assert fetcher.next_ask() is None
    assert fetcher.wakes_at_ms() == now_ms + BACKOFF_MS
    pair.clock.advance(BACKOFF_MS - 300)
    ask = fetcher.next_ask()
    assert isinstance(ask, EpochEndsAsk | FetchAsk)
    assert pair[2].state(Q) is State.DELAYED


def test_a_request_without_an_answer_lets_the_fetcher_rest(pair: Brokers) -> None:
    """X1: then with a new session, for who knows what became of the old one."""
    fetcher = pair[2].fetcher
    next_fetch(fetcher)
    now_ms = pair.clock.monotonic_ms()
    fetcher.on_unanswered("timed out")
    assert (fetcher.next_ask(), fetcher.wakes_at_ms()) == (None, now_ms + BACKOFF_MS)
    assert fetcher.unreachable_because == "timed out"
    assert pair[2].noted(NoteKind.SOURCE_LOST) == ["timed out"]
    pair.clock.advance(BACKOFF_MS)
    ask = next_fetch(fetcher)
    assert (ask.session_epoch, len(ask.asks)) == (0, 2)
    answered(fetcher)
    assert fetcher.unreachable_because == ""


def test_a_lost_session_is_opened_at_once_and_not_forever(pair: Brokers) -> None:
    """X1: a leader that never has the session is asked at the backoff's pace."""
    fetcher = pair[2].fetcher
    next_fetch(fetcher)
    exhaust(fetcher.on_fetched(FetchAnswer(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)))
    assert next_fetch(fetcher).session_epoch == 0
    exhaust(fetcher.on_fetched(FetchAnswer(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)))
    assert fetcher.next_ask() is None
    assert [note.kind for note in pair[2].notes[-2:]] == [NoteKind.SESSION_LOST, NoteKind.SOURCE_LOST]


def test_an_error_of_the_whole_answer_lets_the_fetcher_rest(pair: Brokers) -> None:
    fetcher = pair[2].fetcher
    next_fetch(fetcher)
    exhaust(fetcher.on_fetched(FetchAnswer(ErrorCode.UNKNOWN_SERVER_ERROR)))
    assert fetcher.wakes_at_ms() == pair.clock.monotonic_ms() + BACKOFF_MS


def test_an_empty_log_is_fetched_without_a_question(brokers: Brokers) -> None:
    """X4: there is no epoch to ask about."""
    brokers.elect(1, isr=(1, 2))
    assert isinstance(brokers[2].fetcher.next_ask(), FetchAsk)


def test_a_topic_without_an_id_is_not_fetched(brokers: Brokers) -> None:
    fetcher = brokers[2].fetchers.follow(P, NO_TOPIC_ID, 1, 0)
    assert fetcher is not None
    assert brokers[2].state() is State.FAILED
    assert fetcher.next_ask() is None


# --- X2


def test_what_was_asked_for_at_the_end_is_appended(pair: Brokers) -> None:
    """X2, R11: offsets as given, HW the smaller of the leader's and LEO, the lag."""
    fetcher = pair[2].fetcher
    next_fetch(fetcher)
    answered(fetcher, PartitionAnswer(P, ErrorCode.NONE, 9, 0, records(0, 4, 7)))
    log, followed = pair[2].log(), fetcher.partitions.get(P)
    assert followed is not None
    assert (log.end_offset, log.high_watermark.offset) == (8, 8)
    assert (followed.fetch_offset, followed.lag, followed.fetched_bytes) == (8, 1, 3 * BATCH_BYTES)


def test_an_empty_answer_leaves_the_offset_and_moves_the_high_watermark(pair: Brokers) -> None:
    """X2, R11."""
    fetcher = pair[2].fetcher
    next_fetch(fetcher)
    answered(fetcher, PartitionAnswer(P, ErrorCode.NONE, 0, 0, records(0, 1)))
    assert pair[2].log().high_watermark.offset == 0
    next_fetch(fetcher)
    answered(fetcher, PartitionAnswer(P, ErrorCode.NONE, 2, 1))
    log = pair[2].log()
    assert (log.end_offset, log.high_watermark.offset, log.log_start_offset) == (2, 2, 1)
    ask = next_fetch(fetcher)
    assert [(one.fetch_offset, one.log_start_offset) for one in ask.asks] == [(2, 1)]


def test_a_log_that_does_not_end_where_it_was_fetched_fails(pair: Brokers) -> None:
    """X2."""
    fetcher = pair[2].fetcher
    next_fetch(fetcher)
    pair[2].log().append_as_follower(records(0))
    answered(fetcher, PartitionAnswer(P, ErrorCode.NONE, 1, 0, records(0)))
    assert pair[2].state() is State.FAILED
    assert pair[2].noted(NoteKind.FAILED) == ["offset 0 was fetched, the log ends at 1"]
    pair[1].produce(1, Q)
    pair.round()  # the session is lost: the leader was not told of the request above
    pair.round()
    assert pair[2].log(Q).end_offset == 1


def test_an_answer_to_an_earlier_epoch_is_dropped_and_told_again(pair: Brokers) -> None:
    """X2, X5."""
    fetcher = pair[2].fetcher
    next_fetch(fetcher)
    pair.elect(1, isr=(1, 2))
    answered(fetcher, PartitionAnswer(P, ErrorCode.NONE, 1, 0, records(0)))
    assert (pair[2].log().end_offset, fetcher.stale_answers) == (0, 1)
    pair[1].produce()
    pair.settle()
    assert (pair[2].log().end_offset, pair[2].log().high_watermark.offset) == (1, 1)


def test_an_answer_from_an_earlier_offset_is_dropped_and_counted(pair: Brokers) -> None:
    """X2: between the request and the answer the partition was truncated, and is fetched from elsewhere."""
    fetcher = pair[2].fetcher
    next_fetch(fetcher)
    answered(fetcher, PartitionAnswer(P, ErrorCode.NONE, 0, 0, records(0, 1)))
    next_fetch(fetcher)
    pair[2].log().truncate_to(1)
    pair[2].log().settle(pair[2].log().truncations)
    followed = fetcher.partitions.get(P)
    assert followed is not None
    fetcher.partitions.want(followed, pair[2].log())
    answered(fetcher, PartitionAnswer(P, ErrorCode.NONE, 0, 0, records(2)))
    assert (pair[2].log().end_offset, followed.state) == (1, State.FETCHING)
    assert fetcher.stale_answers == 1


def test_an_answer_for_what_is_followed_no_more_is_dropped(pair: Brokers) -> None:
    """X5, R5d."""
    fetcher = pair[2].fetcher
    next_fetch(fetcher)
    pair[2].fetchers.unfollow(P)
    answered(fetcher, PartitionAnswer(P, ErrorCode.NONE, 1, 0, records(0)))
    assert pair[2].log().end_offset == 0
    assert fetcher.stale_answers == 1


def test_what_was_never_asked_for_is_ignored(pair: Brokers) -> None:
    fetcher = pair[2].fetcher
    next_fetch(fetcher)
    answered(fetcher, PartitionAnswer(TopicPartition("others", 0), ErrorCode.NONE, 1, 0, records(0)))
    assert fetcher.stale_answers == 1


def test_a_broker_that_leads_by_now_writes_nothing_of_its_former_leader(pair: Brokers) -> None:
    """R5b: the role has changed, and its fetcher was not told yet."""
    fetcher = pair[2].fetcher
    next_fetch(fetcher)
    pair[2].fetchers.unfollow = lambda topic_partition: None  # type: ignore[method-assign]
    pair.elect(2, isr=(1, 2), only=(2,))
    answered(fetcher, PartitionAnswer(P, ErrorCode.NONE, 1, 0, records(0)))
    assert pair[2].log().end_offset == 0


# --- steps


def steps_of(work: Iterator[None]) -> int:
    return sum(1 for _ in work)


def test_a_large_answer_is_applied_in_steps_that_leave_the_log_whole(pair: Brokers) -> None:
    """X2: the next offset is the log's end after every step."""
    fetcher = pair[2].fetcher
    next_fetch(fetcher)
    size_bytes = BYTES_PER_STEP // 2
    data = records(*range(6), size_bytes=size_bytes)
    work = fetcher.on_fetched(
        FetchAnswer(
            session_id=fetcher.partitions.session.session_id,
            partitions=[PartitionAnswer(P, ErrorCode.NONE, 6, 0, data)],
        )
    )
    ends = []
    for _ in work:
        followed = fetcher.partitions.get(P)
        assert followed is not None
        assert followed.fetch_offset == pair[2].log().end_offset
        assert fetcher.next_ask() is None, "the answer is not applied yet"
        ends.append(followed.fetch_offset)
    assert ends == [2, 4, 6]
    assert not fetcher.is_asking


def test_a_partition_whose_role_changes_between_two_steps_gets_no_more_of_the_answer(pair: Brokers) -> None:
    """X5."""
    fetcher = pair[2].fetcher
    next_fetch(fetcher)
    data = records(*range(4), size_bytes=BYTES_PER_STEP)
    work = fetcher.on_fetched(
        FetchAnswer(
            session_id=fetcher.partitions.session.session_id,
            partitions=[
                PartitionAnswer(P, ErrorCode.NONE, 4, 0, data),
                PartitionAnswer(Q, ErrorCode.NONE, 1, 0, records(0)),
            ],
        )
    )
    next(work)
    assert pair[2].log().end_offset == 1
    pair.elect(1, isr=(1, 2))
    exhaust(work)
    assert pair[2].log().end_offset == 1
    assert pair[2].log(Q).end_offset == 1
    pair.settle()
    pair.check_logs()


def test_an_answer_of_many_partitions_takes_steps() -> None:
    brokers = Brokers((1, 2))
    many = [TopicPartition("orders", number) for number in range(100)]
    for partition in many:
        brokers.elect(1, isr=(1, 2), partition=partition)
    brokers.settle()
    fetcher = brokers[2].fetcher
    next_fetch(fetcher)
    answer = FetchAnswer(
        session_id=fetcher.partitions.session.session_id,
        partitions=[PartitionAnswer(partition, ErrorCode.NONE, 0, 0, records(0)) for partition in many],
    )
    assert steps_of(fetcher.on_fetched(answer)) == 6


# --- X3


def out_of_range(brokers: Brokers) -> Fetcher:
    """Broker 2's offset is refused, and it asks for the leader's end."""
    fetcher = brokers[2].fetcher
    refused(fetcher, ErrorCode.OFFSET_OUT_OF_RANGE)
    assert brokers[2].state() is State.LOCATING
    ask = fetcher.next_ask()
    assert isinstance(ask, OffsetsAsk)
    assert [(one.topic_partition, one.is_earliest) for one in ask.asks] == [(P, False)]
    return fetcher


def located(fetcher: Fetcher, offset: int, code: ErrorCode = ErrorCode.NONE) -> None:
    exhaust(fetcher.on_offsets([OffsetAnswer(P, code, offset)]))


def test_a_leader_that_ends_earlier_stops_the_partition_where_nothing_may_be_lost(pair: Brokers) -> None:
    """X3: visible to a person, and the broker goes on."""
    pair[1].produce(3)
    pair.settle()
    located(out_of_range(pair), 1)
    assert (pair[2].state(), pair[2].log().end_offset) == (State.FAILED, 3)
    (why,) = pair[2].noted(NoteKind.FAILED)
    assert "unclean.leader.election.enable" in why
    described = pair[2].fetchers.describe()["behind"]
    assert [(one["partition"], one["state"], one["why"]) for one in described] == [(0, "failed", why)]
    pair[1].produce(1, Q)
    pair.settle()
    assert pair[2].log(Q).end_offset == 1


def test_a_leader_that_ends_earlier_cuts_the_log_where_the_topic_allows_it() -> None:
    """X3."""
    brokers = Brokers((1, 2), config=TopicConfig(unclean_leader_election_enable=True))
    brokers.elect(1, isr=(1, 2))
    brokers[1].produce(3)
    brokers.settle()
    located(out_of_range(brokers), 1)
    assert (brokers[2].state(), brokers[2].log().end_offset) == (State.SETTLING, 1)
    brokers[2].settle_truncations()
    assert brokers[2].state() is State.FETCHING
    assert brokers[2].noted(NoteKind.TRUNCATED) == ["cut from 3 to 1, below the high watermark 3"]


def test_a_leader_that_begins_later_empties_the_log(pair: Brokers) -> None:
    """X3: delete everything and start there."""
    pair[1].produce(2)
    pair.settle()
    fetcher = out_of_range(pair)
    located(fetcher, 50)
    ask = fetcher.next_ask()
    assert isinstance(ask, OffsetsAsk)
    assert [one.is_earliest for one in ask.asks] == [True]
    located(fetcher, 40)
    log = pair[2].log()
    assert (log.log_start_offset, log.end_offset, pair[2].state()) == (40, 40, State.SETTLING)
    pair[2].settle_truncations()
    assert pair[2].state() is State.FETCHING
    assert pair[2].noted(NoteKind.STARTED_ANEW) == ["dropped 0 to 2: the leader begins at 40"]
    ask_again = next_fetch(fetcher)
    answered(fetcher)
    assert not ask_again.asks  # it is forgotten first
    (again,) = next_fetch(fetcher).asks
    assert (again.fetch_offset, again.last_fetched_epoch, again.log_start_offset) == (40, -1, 40)


def test_a_whole_history_that_the_leader_has_deleted(brokers: Brokers) -> None:
    """X3, by the leader's own answers: its segments are gone."""
    brokers.elect(1, isr=(1,))
    brokers[1].produce(8)
    brokers[1].log().roll()
    brokers[1].replicas.isr_maintenance.expire()
    brokers[1].log().delete_records_before(6)
    brokers.elect(1, isr=(1,))
    brokers.settle()
    log = brokers[2].log()
    assert (log.log_start_offset, log.end_offset) == (6, 8)
    brokers.check_logs()


def test_an_offset_that_the_leader_has_after_all_waits_and_compares_epochs(pair: Brokers) -> None:
    """X3: go on from the local LEO."""
    pair[1].produce(2)
    pair.settle()
    fetcher = out_of_range(pair)
    located(fetcher, 2)
    assert isinstance(fetcher.next_ask(), OffsetsAsk)
    located(fetcher, 0)
    assert (pair[2].state(), pair[2].log().end_offset) == (State.DELAYED, 2)
    pair.settle()
    assert pair[2].state() is State.FETCHING


@pytest.mark.parametrize(("offset", "code"), [(-1, ErrorCode.NONE), (-1, ErrorCode.NOT_LEADER_OR_FOLLOWER)])
def test_offsets_not_to_be_had_delay_the_partition(pair: Brokers, offset: int, code: ErrorCode) -> None:
    """X3."""
    located(out_of_range(pair), offset, code)
    assert pair[2].state() is State.DELAYED
    pair.settle()
    assert pair[2].state() is State.FETCHING


def test_a_partition_that_the_leader_left_out_is_delayed(pair: Brokers) -> None:
    fetcher = out_of_range(pair)
    exhaust(fetcher.on_offsets([]))
    assert pair[2].state() is State.DELAYED


# --- X4


def test_a_diverging_epoch_in_an_answer_cuts_as_a_question_does(pair: Brokers) -> None:
    """X4, F9: settled at once where the leader knows the epoch, else asked about."""
    pair[1].produce(4)
    pair.settle()
    fetcher = pair[2].fetcher
    next_fetch(fetcher)
    answered(fetcher, PartitionAnswer(P, ErrorCode.NONE, 3, 0, diverging=EpochEnd(0, 3)))
    assert (pair[2].state(), pair[2].log().end_offset) == (State.SETTLING, 3)
    pair[2].settle_truncations()
    forgets = next_fetch(fetcher)
    assert ([one.topic_partition for one in forgets.forgotten], forgets.may_wait) == ([P], False)
    answered(fetcher)
    (ask,) = next_fetch(fetcher).asks
    assert (ask.fetch_offset, ask.last_fetched_epoch) == (3, 0)


def test_a_partition_whose_truncation_is_not_on_disk_waits_alone(pair: Brokers) -> None:
    """X6: the fetcher names the others, and goes on with this one when it is told."""
    pair[1].produce(4)
    pair.settle()
    fetcher = pair[2].fetcher
    next_fetch(fetcher)
    answered(fetcher, PartitionAnswer(P, ErrorCode.NONE, 3, 0, diverging=EpochEnd(0, 3)))
    pair[2].holds_disk = True
    pair[1].produce(1, Q)
    for _ in range(3):
        pair.round()
    assert (pair[2].state(), pair[2].log().end_offset, pair[2].log(Q).end_offset) == (State.SETTLING, 3, 1)
    fetcher.on_settled(P)  # it is not
    assert pair[2].state() is State.SETTLING
    pair[2].settle_truncations()
    pair.settle()
    assert (pair[2].state(), pair[2].log().end_offset) == (State.FETCHING, 4)


def test_a_new_role_does_not_forget_that_a_truncation_is_not_on_disk(pair: Brokers) -> None:
    """X6: the next epoch's comparison finds nothing to truncate, and the partition waits all the same."""
    pair[1].produce(4)
    pair.settle()
    fetcher = pair[2].fetcher
    next_fetch(fetcher)
    answered(fetcher, PartitionAnswer(P, ErrorCode.NONE, 3, 0, diverging=EpochEnd(0, 3)))
    pair[2].holds_disk = True
    pair.elect(1, isr=(1,))
    pair.settle()
    assert (pair[2].state(), pair[2].log().end_offset) == (State.SETTLING, 3)
    pair[2].settle_truncations()
    pair.settle()
    assert (pair[2].state(), pair[2].log().end_offset) == (State.FETCHING, 4)


def test_a_diverging_epoch_that_settles_nothing_is_asked_about() -> None:
    """X4, F9."""
    brokers = Brokers((1, 2))
    brokers.elect(1, isr=(1, 2))
    brokers[1].produce(4)
    brokers.elect(1, isr=(1, 2))
    brokers[1].produce(2)
    brokers.settle()
    fetcher = brokers[2].fetcher
    next_fetch(fetcher)
    answered(fetcher, PartitionAnswer(P, ErrorCode.NONE, 3, 0, diverging=EpochEnd(0, 4)))
    assert (brokers[2].state(), brokers[2].log().end_offset) == (State.TRUNCATING, 4)
    ask = fetcher.next_ask()
    assert isinstance(ask, EpochEndsAsk)
    assert [(one.epoch, one.leader_epoch) for one in ask.asks] == [(0, 1)]


def test_an_answer_about_epochs_that_comes_too_late_is_dropped(pair: Brokers) -> None:
    """X4, X5: roles have changed meanwhile."""
    pair[1].produce(4)
    pair.settle()
    pair.elect(1, isr=(1, 2))
    fetcher = pair[2].fetcher
    assert isinstance(fetcher.next_ask(), EpochEndsAsk)
    pair.elect(1, isr=(1, 2))
    exhaust(fetcher.on_epoch_ends([EpochEndAnswer(P, ErrorCode.NONE, EpochEnd(0, 1))]))
    assert (pair[2].log().end_offset, fetcher.stale_answers) == (4, 1)
    pair.settle()
    assert pair[2].log().end_offset == 4


# --- X5


def test_corrupt_data_is_logged_and_fetched_again(pair: Brokers) -> None:
    """X5."""
    fetcher = pair[2].fetcher
    next_fetch(fetcher)
    broken = bytearray(records(0, 1))
    broken[-1] ^= 0xFF
    answered(fetcher, PartitionAnswer(P, ErrorCode.NONE, 2, 0, bytes(broken)))
    assert (pair[2].state(), pair[2].log().end_offset) == (State.DELAYED, 0)
    (why,) = pair[2].noted(NoteKind.UNUSABLE)
    assert "CRC" in why
    pair[1].produce(2)
    pair.settle()
    assert pair[2].log().end_offset == 2


def test_a_fenced_epoch_stops_until_the_next_order(pair: Brokers) -> None:
    """X5."""
    refused(pair[2].fetcher, ErrorCode.FENCED_LEADER_EPOCH)
    assert pair[2].state() is State.FAILED
    assert (len(pair[2].noted(NoteKind.FENCED)), pair[2].noted(NoteKind.FAILED)) == (1, [])
    pair.clock.advance(60_000)
    pair[1].produce()
    pair.settle()
    assert pair[2].log().end_offset == 0
    pair.elect(1, isr=(1, 2))
    pair.settle()
    assert (pair[2].state(), pair[2].log().end_offset) == (State.FETCHING, 1)


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.UNKNOWN_SERVER_ERROR,
    ],
)
def test_other_errors_delay_the_partition_in_every_state_that_asks(pair: Brokers, code: ErrorCode) -> None:
    """X5."""
    refused(pair[2].fetcher, code)
    followed = pair[2].fetchers.partition(P)
    assert followed is not None
    assert (followed.state, followed.reason) == (State.DELAYED, f"the leader answered {code.name}")
    pair[1].produce()
    pair.settle()
    pair.elect(1, isr=(1, 2))
    fetcher = pair[2].fetcher
    assert isinstance(fetcher.next_ask(), EpochEndsAsk)
    exhaust(fetcher.on_epoch_ends([EpochEndAnswer(P, code, EpochEnd(-1, -1))]))
    assert pair[2].state() is State.DELAYED


def test_a_follower_that_knows_an_epoch_before_its_leader_waits_for_it(pair: Brokers) -> None:
    """X5: UNKNOWN_LEADER_EPOCH, by the leader's own answer."""
    pair[1].produce()
    pair.settle()
    pair.elect(1, isr=(1, 2), only=(2,))
    pair.round()
    assert pair[2].state() is State.DELAYED
    pair.elect(1, isr=(1, 2))
    pair.settle()
    assert pair[2].state() is State.FETCHING


def test_a_disk_that_fails_stops_its_partitions(pair: Brokers) -> None:
    """X5, L7: the directory goes offline in an event of its own."""
    pair[2].disk.faults.append(Fault("write", errno.EIO, times=-1))
    pair[1].produce()
    pair.round()
    assert pair[2].state() is State.FAILED
    assert pair[2].effects.failed_directories == [("/data", True)]
    assert pair[2].replicas.partition(P) is None


def test_a_mistake_of_our_own_stops_one_partition_and_is_told_whole(pair: Brokers) -> None:
    """X5: no partition's error affects another's."""
    apply = pair[2].following.apply

    def broken(topic_partition: TopicPartition, *rest: object) -> None:
        if topic_partition == P:
            raise KeyError("mistake")
        apply(topic_partition, *rest)  # type: ignore[arg-type]

    pair[2].following.apply = broken  # type: ignore[method-assign,assignment]
    pair[1].produce(1, P)
    pair[1].produce(1, Q)
    pair.round()
    assert (pair[2].state(P), pair[2].state(Q)) == (State.FAILED, State.FETCHING)
    assert pair[2].log(Q).end_offset == 1
    assert isinstance(pair[2].notes[-1].error, KeyError)


def test_a_partition_without_a_log_is_delayed(pair: Brokers) -> None:
    """X5: its directory is offline, and the fetcher was not told yet."""
    fetcher = pair[2].fetcher
    pair[2].replicas.directory_failed("/data", "gone")
    next_fetch(fetcher)
    answered(fetcher, PartitionAnswer(P, ErrorCode.NONE, 1, 0, records(0)))
    assert pair[2].state() is State.DELAYED
    fetcher.follow(Q, topic_id_of(Q), 3)
    assert not isinstance(fetcher.next_ask(), EpochEndsAsk)
    assert pair[2].state(Q) is State.DELAYED


def test_the_backoff_in_force_is_used(pair: Brokers) -> None:
    pair.backoff_ms = 70
    refused(pair[2].fetcher, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    followed = pair[2].fetchers.partition(P)
    assert followed is not None
    assert followed.delayed_until_ms == pair.clock.monotonic_ms() + 70


def test_a_leader_that_has_not_its_order_yet_is_asked_again_soon(brokers: Brokers) -> None:
    """X5: its LeaderAndIsr is on the way; each refusal before the first answer doubles the delay."""
    brokers.elect(1, isr=(1, 2))
    fetcher = brokers[2].fetcher
    delays_ms = []
    for code in (
        *(ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        *(ErrorCode.UNKNOWN_LEADER_EPOCH, ErrorCode.NOT_LEADER_OR_FOLLOWER) * 3,
    ):
        refused(fetcher, code)
        wakes_at_ms = fetcher.wakes_at_ms()
        assert wakes_at_ms is not None
        delays_ms.append(wakes_at_ms - brokers.clock.monotonic_ms())
        brokers.clock.advance(delays_ms[-1])
    assert delays_ms == [20, 40, 80, 160, 320, 640, BACKOFF_MS, BACKOFF_MS]


def test_a_leader_that_has_answered_in_this_epoch_is_asked_again_after_the_backoff(pair: Brokers) -> None:
    """X5."""
    refused(pair[2].fetcher, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    followed = pair[2].fetchers.partition(P)
    assert followed is not None
    assert followed.delayed_until_ms == pair.clock.monotonic_ms() + BACKOFF_MS


def test_each_delay_ends_at_its_own_time(pair: Brokers) -> None:
    """X5: a partition whose delay is short does not wait for one that was delayed before it."""
    fetcher = pair[2].fetcher
    refused(fetcher, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    fetcher.follow(Q, topic_id_of(Q), 1)
    next_fetch(fetcher)
    answered(fetcher)  # the leader forgets Q in its earlier epoch, before it is named again
    refused(fetcher, ErrorCode.UNKNOWN_LEADER_EPOCH, Q)
    assert [pair[2].state(P), pair[2].state(Q)] == [State.DELAYED, State.DELAYED]
    assert fetcher.wakes_at_ms() == pair.clock.monotonic_ms() + 20
    pair.clock.advance(20)
    fetcher.next_ask()
    assert [pair[2].state(P), pair[2].state(Q)] == [State.DELAYED, State.FETCHING]
    assert fetcher.unfollow(P)
    answered(fetcher)
    pair.clock.advance(BACKOFF_MS)
    assert isinstance(fetcher.next_ask(), FetchAsk)
