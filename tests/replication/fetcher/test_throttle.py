"""The follower's quota: throttled partitions that are behind are left out of the fetches, and only those."""

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import exhaust
from odradek.base.ids import Offset, TopicPartition
from odradek.replication.fetcher import FetchAnswer, FetchAsk, Fetcher, PartitionAnswer, State
from odradek.replication.fetcher.throttle import LISTS_READ_MS, MOVED_MAX
from tests.replication.fetcher.brokers import Brokers
from tests.replication.replica_bench import FakeQuota

SLOW, FAST = TopicPartition("slow", 0), TopicPartition("fast", 0)
FREE_MS = 700


def is_slow(named: TopicPartition) -> bool:
    """Which partitions are throttled, unless a test says otherwise."""
    return named.topic == "slow"


@pytest.fixture
def brokers() -> Brokers:
    """Broker 2 follows broker 1, which leads one throttled partition and one other."""
    made = Brokers((1, 2))
    for partition in (SLOW, FAST):
        made.elect(1, isr=(1, 2), partition=partition)
    return made


@pytest.fixture
def quota(brokers: Brokers) -> FakeQuota:
    made = FakeQuota(is_slow)
    brokers[2].fetcher._throttle._quota = made
    brokers.settle()
    return made


def asked(fetcher: Fetcher) -> set[TopicPartition] | None:
    """What the next fetch adds or changes; None if there is none."""
    ask = fetcher.next_ask()
    return None if ask is None else {one.topic_partition for one in fetches(ask).asks}


def fetches(ask: object) -> FetchAsk:
    assert isinstance(ask, FetchAsk)
    return ask


def answer(fetcher: Fetcher, high_watermarks: dict[TopicPartition, Offset]) -> None:
    """The leader answers without records; a high watermark above LEO is a lag."""
    parts = [PartitionAnswer(key, ErrorCode.NONE, offset, 0) for key, offset in high_watermarks.items()]
    session_id = fetcher.partitions.session.session_id
    exhaust(fetcher.on_fetched(FetchAnswer(session_id=session_id, partitions=parts)))


def fall_behind(fetcher: Fetcher, *partitions: TopicPartition) -> None:
    asked(fetcher)
    answer(fetcher, dict.fromkeys(partitions, 9))


def states(brokers: Brokers) -> list[State]:
    return [brokers[2].state(partition) for partition in (SLOW, FAST)]


def test_a_throttled_partition_that_is_behind_is_left_out_while_the_quota_is_exceeded(
    brokers: Brokers, quota: FakeQuota
) -> None:
    """F8: the other one, which is behind as well, is fetched on."""
    fetcher = brokers[2].fetcher
    fall_behind(fetcher, SLOW, FAST)
    quota.is_over = True
    ask = fetches(fetcher.next_ask())
    assert [one.topic_partition for one in ask.forgotten] == [SLOW]
    assert states(brokers) == [State.THROTTLED, State.FETCHING]
    answer(fetcher, {})
    quota.is_over = False
    assert asked(fetcher) == {SLOW}
    assert states(brokers) == [State.FETCHING, State.FETCHING]


def test_what_is_not_exceeded_or_not_behind_is_fetched(brokers: Brokers, quota: FakeQuota) -> None:
    """F8."""
    fetcher = brokers[2].fetcher
    fall_behind(fetcher, SLOW)
    asked(fetcher)
    assert states(brokers) == [State.FETCHING, State.FETCHING]
    answer(fetcher, {SLOW: 0})
    quota.is_over = True
    asked(fetcher)
    assert states(brokers) == [State.FETCHING, State.FETCHING], "its lag is 0"


def test_a_partition_whose_lag_is_not_known_is_fetched(brokers: Brokers, quota: FakeQuota) -> None:
    """F8: it may be in the ISR, and would leave it while the quota is exceeded."""
    quota.is_over = True
    brokers.elect(1, isr=(1, 2), partition=SLOW)
    brokers.settle()
    assert states(brokers) == [State.FETCHING, State.FETCHING]
    brokers[1].produce(2, SLOW)
    brokers.settle()
    assert brokers[2].log(SLOW).end_offset == 2


def test_the_fetched_bytes_of_throttled_partitions_are_counted(brokers: Brokers, quota: FakeQuota) -> None:
    brokers[1].produce(2, SLOW)
    brokers[1].produce(3, FAST)
    brokers.settle()
    assert brokers[2].log(FAST).end_offset == 3
    assert sum(size_bytes for _, size_bytes in quota.recorded) == brokers[2].log(SLOW).size_bytes > 0
    assert {named for named, _ in quota.recorded} == {SLOW}


def test_with_nothing_else_to_fetch_it_wakes_when_the_quota_may_be_free(
    brokers: Brokers, quota: FakeQuota
) -> None:
    brokers[2].fetchers.unfollow(FAST)
    fetcher = brokers[2].fetcher
    fall_behind(fetcher, SLOW)
    quota.is_over = True
    quota.free_at_ms = brokers.clock.monotonic_ms() + FREE_MS
    assert asked(fetcher) is None
    assert fetcher.wakes_at_ms() == quota.free_at_ms
    brokers.clock.advance(FREE_MS)
    assert asked(fetcher) is None, "it is not"
    quota.is_over = False
    assert fetcher.wakes_at_ms() == brokers.clock.monotonic_ms()
    assert fetches(fetcher.next_ask()).forgotten, "the session drops it first, without a wait"
    answer(fetcher, {})
    assert asked(fetcher) == {SLOW}


def test_a_partition_listed_no_more_goes_on_within_a_second(brokers: Brokers, quota: FakeQuota) -> None:
    """The quota stays exceeded: what is accepted as a setting takes effect."""
    fetcher = brokers[2].fetcher
    fall_behind(fetcher, SLOW)
    quota.is_over = True
    asked(fetcher)
    answer(fetcher, {})
    quota.listed = lambda named: False
    brokers.clock.advance(LISTS_READ_MS - 1)
    assert asked(fetcher) == set()
    answer(fetcher, {})
    brokers.clock.advance(1)
    assert asked(fetcher) == {SLOW}


@pytest.mark.slow
def test_of_many_partitions_held_back_any_may_be_listed_no_more() -> None:
    """The quota stays exceeded, and each call looks at some of them only."""
    brokers = Brokers((1, 2))
    many = [TopicPartition("slow", number) for number in range(2 * MOVED_MAX)]
    for partition in many:
        brokers.elect(1, isr=(1, 2), partition=partition)
    fetcher, quota = brokers[2].fetcher, FakeQuota(is_slow)
    fetcher._throttle._quota = quota
    brokers.settle()
    fall_behind(fetcher, *many)
    quota.is_over = True
    quota.free_at_ms = brokers.clock.monotonic_ms() + 60_000
    for _ in range(2):
        if fetcher.next_ask() is not None:
            answer(fetcher, {})
    assert fetcher.partitions.count(State.THROTTLED) == len(many)
    quota.listed = lambda named: named != many[-1]
    deadline_ms = brokers.clock.monotonic_ms() + 2 * LISTS_READ_MS
    while brokers[2].state(many[-1]) is State.THROTTLED:
        wakes_at_ms = fetcher.wakes_at_ms()
        assert wakes_at_ms is not None
        assert wakes_at_ms <= deadline_ms
        brokers.clock.advance(max(0, wakes_at_ms - brokers.clock.monotonic_ms()))
        if fetcher.next_ask() is not None:
            answer(fetcher, {})
    assert fetcher.partitions.count(State.THROTTLED) == len(many) - 1


def test_a_partition_held_back_and_followed_no_more_is_forgotten(brokers: Brokers, quota: FakeQuota) -> None:
    fetcher = brokers[2].fetcher
    fall_behind(fetcher, SLOW)
    quota.is_over = True
    brokers[2].fetchers.unfollow(SLOW)
    asked(fetcher)
    assert fetcher.partitions.count(State.THROTTLED) == 0
    assert fetcher._throttle.looks_at_ms() is None


def test_the_next_leader_epoch_compares_the_epochs_first(brokers: Brokers, quota: FakeQuota) -> None:
    """X4: also of a partition that was held back."""
    fetcher = brokers[2].fetcher
    fall_behind(fetcher, SLOW)
    quota.is_over = True
    asked(fetcher)
    assert states(brokers)[0] is State.THROTTLED
    brokers.elect(1, isr=(1,), partition=SLOW)
    assert states(brokers)[0] is State.TRUNCATING


def test_a_partition_held_back_whose_directory_fails_does_not_keep_the_fetcher_awake(
    brokers: Brokers, quota: FakeQuota
) -> None:
    fetcher = brokers[2].fetcher
    fall_behind(fetcher, SLOW)
    quota.is_over = True
    asked(fetcher)
    brokers[2].replicas.directory_failed("/data", "gone")
    quota.is_over = False
    fetcher.on_unanswered("over")
    brokers.clock.advance(brokers.backoff_ms)
    fetcher.next_ask()
    assert states(brokers)[0] is State.DELAYED
    now_ms = brokers.clock.monotonic_ms()
    assert fetcher.wakes_at_ms() != now_ms or fetcher.is_asking


@pytest.mark.slow
def test_many_partitions_are_held_back_and_released_some_at_a_time() -> None:
    brokers = Brokers((1, 2))
    many = [TopicPartition("slow", number) for number in range(MOVED_MAX + 5)]
    for partition in many:
        brokers.elect(1, isr=(1, 2), partition=partition)
    fetcher, quota = brokers[2].fetcher, FakeQuota(is_slow)
    fetcher._throttle._quota = quota
    brokers.settle()
    fall_behind(fetcher, *many)
    quota.is_over = True
    fetcher.next_ask()
    assert fetcher.partitions.count(State.THROTTLED) == MOVED_MAX
    answer(fetcher, {})
    assert fetcher.next_ask() is None
    assert fetcher.partitions.count(State.THROTTLED) == len(many)
    quota.is_over = False
    fetcher.next_ask()
    assert fetcher.partitions.count(State.THROTTLED) == 5
