"""The sentences about who is behind."""

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import exhaust
from odradek.base.ids import NO_BROKER, TopicPartition
from odradek.metadata.image import BrokerGone
from odradek.replication.fetcher import FetchAnswer, PartitionAnswer
from odradek.replication.replica_words import followers_behind, following, lasting
from tests.replication.fetcher.brokers import Brokers
from tests.replication.fetcher.brokers import P as P0
from tests.replication.replica_bench import FakeQuota, ReplicaBench

p1 = TopicPartition("flights", 1)
LAG_MS = 10_000


@pytest.mark.parametrize(
    ("duration_ms", "words"),
    [
        (0, "0 ms"),
        (999, "999 ms"),
        (1_000, "1 s"),
        (119_999, "119 s"),
        (120_000, "2 min"),
        (7_199_999, "119 min"),
        (7_200_000, "2 h"),
    ],
)
def test_a_duration_has_its_largest_unit(duration_ms: int, words: str) -> None:
    assert lasting(duration_ms) == words


def leader_says(bench: ReplicaBench, *, is_throttled: bool = False) -> list[str]:
    quota = FakeQuota(is_over=is_throttled)
    return followers_behind(bench.partition(p1), bench.image, quota, bench.clock.monotonic_ms())


def test_a_leader_is_silent_about_followers_that_keep_up(bench: ReplicaBench) -> None:
    """A member of the ISR that lacks the last record for a moment is not called behind."""
    bench.order(p1, isr=(1, 2))
    bench.produce(p1)
    assert leader_says(bench) == []
    bench.follow(2, {p1: 1}, max_wait_ms=0)
    bench.pass_time(60_000)
    assert leader_says(bench) == []


def test_a_leader_says_how_far_a_follower_is_behind_and_since_when(bench: ReplicaBench) -> None:
    """R2, R10: in the ISR, then leaving it, then out of it."""
    bench.order(p1, isr=(1, 2))
    bench.produce(p1)
    bench.follow(2, {p1: 0}, max_wait_ms=0)
    bench.pass_time(LAG_MS + 1)
    words = "broker 2: last fetch 10 s ago, LEO 0 of 1, last caught up 10 s ago"
    assert leader_says(bench) == [words]
    exhaust(bench.manager.isr_maintenance.expire())
    assert leader_says(bench) == [f"{words}, leaves the ISR"]
    bench.manager.isr_maintenance.on_written(bench.effects.isr_writes[0], 1)
    assert leader_says(bench) == [f"{words}, out of the ISR"]


def test_a_leader_says_that_a_follower_has_died_or_never_fetched(bench: ReplicaBench) -> None:
    bench.order(p1, isr=(1,), replicas=(1, 2), epoch=4)
    assert leader_says(bench) == ["broker 2: no fetch in leader epoch 4, out of the ISR"]
    bench.image.apply(BrokerGone(2))
    assert leader_says(bench) == ["broker 2: is not live, no fetch in leader epoch 4, out of the ISR"]


def test_a_leader_says_that_it_throttles_a_follower_out_of_the_isr(bench: ReplicaBench) -> None:
    """F8: never a member of the ISR."""
    bench.order(p1, isr=(1, 2), replicas=(1, 2, 3))
    bench.produce(p1)
    bench.pass_time(2_000)
    in_sync, out_of_sync = leader_says(bench, is_throttled=True)
    assert in_sync == "broker 2: no fetch in leader epoch 0"
    assert out_of_sync.endswith("out of the ISR, throttled by leader.replication.throttled.rate")


def test_a_leader_says_what_a_follower_lacks_to_join(bench: ReplicaBench) -> None:
    """R3: the start of the leader epoch; then the write of the ISR."""
    bench.order(p1, isr=(1,), replicas=(1, 2))
    bench.produce(p1)
    bench.order(p1, isr=(1,), replicas=(1, 2), epoch=3)
    bench.follow(2, {p1: 0}, max_wait_ms=0)
    assert leader_says(bench) == [
        "broker 2: last fetch 0 ms ago, LEO 0 of 1, leader epoch 3 begins at 1, out of the ISR"
    ]
    bench.follow(2, {p1: 1}, max_wait_ms=0)
    assert leader_says(bench) == [
        "broker 2: last fetch 0 ms ago, LEO 1 of 1, last caught up 0 ms ago, joins the ISR"
    ]


def test_a_follower_has_no_followers(bench: ReplicaBench) -> None:
    bench.order(p1, leader=2, isr=(1, 2))
    assert leader_says(bench) == []


@pytest.fixture
def brokers() -> Brokers:
    """Broker 2 follows broker 1."""
    made = Brokers((1, 2))
    made.elect(1, isr=(1, 2))
    return made


def follower_says(brokers: Brokers) -> list[str]:
    partition = brokers[2].replicas.partition(P0)
    assert partition is not None
    return following(partition, brokers[2].fetchers, brokers.clock.monotonic_ms())


def fetched(brokers: Brokers, high_watermark: int, code: ErrorCode = ErrorCode.NONE) -> None:
    """The leader answers a fetch without records."""
    fetcher = brokers[2].fetcher
    fetcher.next_ask()
    session_id = fetcher.partitions.session.session_id
    exhaust(
        fetcher.on_fetched(
            FetchAnswer(session_id=session_id, partitions=[PartitionAnswer(P0, code, high_watermark, 0)])
        )
    )


def test_a_follower_without_lag_says_nothing(brokers: Brokers) -> None:
    brokers.settle()
    assert follower_says(brokers) == []


def test_a_follower_says_what_it_does_before_its_first_answer(brokers: Brokers) -> None:
    """X4: an empty log has no epoch to ask about."""
    brokers.clock.advance(300)
    assert follower_says(brokers) == ["compares epochs with the leader for 300 ms"]
    brokers[2].fetcher.next_ask()
    brokers.clock.advance(40)
    assert follower_says(brokers) == ["fetches from broker 1 for 40 ms, without an answer yet"]


def test_a_follower_says_how_far_it_is_behind(brokers: Brokers) -> None:
    """X2."""
    brokers.settle()
    fetched(brokers, 16)
    brokers.clock.advance(3_000)
    assert follower_says(brokers) == ["16 records behind broker 1 for 3 s"]
    fetched(brokers, 1)
    assert follower_says(brokers) == ["1 record behind broker 1 for 3 s"]


def test_a_follower_says_why_it_does_not_fetch(brokers: Brokers) -> None:
    """X5: an error that may pass, one that does not, no answer at all, no leader."""
    brokers.settle()
    fetched(brokers, -1, ErrorCode.UNKNOWN_LEADER_EPOCH)
    brokers.clock.advance(200)
    assert follower_says(brokers) == [
        "waits after an error: the leader answered UNKNOWN_LEADER_EPOCH; asks again in 800 ms"
    ]
    brokers.settle()
    brokers[2].fetcher.next_ask()
    brokers[2].fetcher.on_unanswered("refused")
    brokers.clock.advance(1_000)
    brokers[2].fetcher.next_ask()
    brokers[2].fetcher.on_unanswered("timed out")
    assert follower_says(brokers) == ["no answer of broker 1 for 1 s: timed out"]
    brokers.settle()
    fetched(brokers, -1, ErrorCode.FENCED_LEADER_EPOCH)
    brokers.clock.advance(5_000)
    assert follower_says(brokers) == ["failed 5 s ago: leader epoch 0 is over, the next is not known here"]
    brokers.elect(NO_BROKER, isr=(1,))
    brokers.clock.advance(150)
    assert follower_says(brokers) == ["no leader for 150 ms"]
    brokers[2].fetchers.unfollow(P0)
    assert follower_says(brokers) == ["is not fetched"]
