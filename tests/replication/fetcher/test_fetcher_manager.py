"""Which fetcher each partition belongs to, and what the manager reports of all fetchers together."""

from collections import Counter

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import exhaust
from odradek.base.ids import NO_BROKER, TopicPartition
from odradek.replication.fetcher import FetchAnswer, PartitionAnswer, State
from odradek.replication.fetcher.fetcher_manager import fetcher_number
from tests.replication.fetcher.brokers import Brokers, P, topic_id_of

MANY = [TopicPartition("orders", number) for number in range(12)]


def spread_over(brokers: Brokers, fetchers: int) -> None:
    brokers.fetchers_per_source = fetchers


def following(fetchers: int = 1, count: int = 12) -> Brokers:
    brokers = Brokers((1, 2))
    spread_over(brokers, fetchers)
    exhaust(brokers[2].fetchers.spread())
    for partition in MANY[:count]:
        brokers.elect(1, isr=(1, 2), partition=partition)
    brokers.settle()
    return brokers


def test_a_partition_belongs_to_one_fetcher_of_its_leader_whatever_the_order() -> None:
    """X1: the number comes from the name alone."""
    assert [fetcher_number(partition, 3) for partition in MANY[:4]] == [
        fetcher_number(partition, 3) for partition in MANY[:4]
    ]
    counts = Counter(fetcher_number(partition, 4) for partition in MANY)
    assert counts == {0: 3, 1: 3, 2: 3, 3: 3}


def test_each_source_has_as_many_fetchers_as_the_setting_says() -> None:
    """X1."""
    brokers = following(fetchers=3)
    found = [(one.source, one.number, len(one.partitions)) for one in brokers[2].fetchers.fetchers()]
    assert sorted(found) == [(1, 0, 4), (1, 1, 4), (1, 2, 4)]


def test_more_or_fewer_fetchers_take_the_partitions_over() -> None:
    """X1: `num.replica.fetchers` may change at any time."""
    brokers = following(fetchers=1)
    manager = brokers[2].fetchers
    for wanted in (4, 2):
        assert not manager.is_to_be_spread
        spread_over(brokers, wanted)
        assert manager.is_to_be_spread
        exhaust(manager.spread())
        assert len(list(manager.fetchers())) == wanted
        assert sum(len(fetcher.partitions) for fetcher in manager.fetchers()) == 12
        for partition in MANY:
            brokers[1].produce(1, partition)
        brokers.settle()
        for partition in MANY:
            brokers.check_logs(partition)
            assert brokers[2].log(partition).end_offset == brokers[1].log(partition).end_offset


def test_a_new_leader_means_another_fetcher_and_the_last_partition_ends_one() -> None:
    """R5c."""
    brokers = Brokers((1, 2, 3))
    brokers.elect(1, isr=(1, 2, 3))
    brokers.settle()
    earlier = brokers[3].fetcher
    brokers.elect(2, isr=(2, 3))
    assert brokers[3].fetcher.source == 2
    assert not brokers[3].fetchers.is_current(earlier)
    assert earlier.next_ask() is None


def test_under_the_next_epoch_of_the_same_leader_the_fetcher_and_its_session_stay() -> None:
    brokers = following(count=2)
    fetcher, session_id = brokers[2].fetcher, brokers[2].fetcher.partitions.session.session_id
    brokers.elect(1, isr=(1, 2), partition=MANY[0])
    brokers.settle()
    assert brokers[2].fetcher is fetcher
    assert fetcher.partitions.session.session_id == session_id


def test_who_leads_follows_nobody() -> None:
    """R5b."""
    brokers = following(count=1)
    brokers.elect(2, isr=(1, 2), partition=MANY[0])
    assert len(brokers[2].fetchers) == 0
    assert list(brokers[2].fetchers.fetchers()) == []


def test_without_a_leader_a_partition_waits_and_is_told_so() -> None:
    """R5c."""
    brokers = following(count=2)
    brokers.clock.advance(100)
    brokers.elect(NO_BROKER, isr=(1,), partition=MANY[0])
    brokers.clock.advance(250)
    manager = brokers[2].fetchers
    assert (len(manager), manager.partition(MANY[0])) == (2, None)
    assert manager.describe()["without_leader"] == [
        {"topic": "orders", "partition": 0, "state": "no leader", "since_ms": 250}
    ]
    brokers.elect(1, isr=(1, 2), partition=MANY[0])
    brokers.settle()
    assert manager.describe()["without_leader"] == []
    assert len(brokers[2].fetcher.partitions) == 2


def test_who_is_behind_by_how_much_since_when_and_why() -> None:
    """X2."""
    brokers = following(count=3)
    fetcher = brokers[2].fetcher
    assert brokers[2].fetchers.describe()["behind"] == []
    brokers.clock.advance(1_000)
    fetcher.next_ask()
    answer = FetchAnswer(
        session_id=fetcher.partitions.session.session_id,
        partitions=[
            PartitionAnswer(MANY[0], ErrorCode.NONE, 7, 0),
            PartitionAnswer(MANY[1], ErrorCode.NOT_LEADER_OR_FOLLOWER),
        ],
    )
    exhaust(fetcher.on_fetched(answer))
    brokers.clock.advance(400)
    described = brokers[2].fetchers.describe()
    by_number = {one["partition"]: one for one in described["behind"]}
    assert by_number[0]["behind_by"] == 7
    assert by_number[0]["behind_ms"] == 400
    assert (by_number[1]["state"], by_number[1]["why"]) == (
        "waits after an error",
        "the leader answered NOT_LEADER_OR_FOLLOWER",
    )
    assert (by_number[1]["in_state_ms"], by_number[1]["goes_on_in_ms"]) == (400, 600)
    (told,) = described["fetchers"]
    assert (told["source"], told["fetching"], told["delayed"], told["failed"]) == (1, 2, 1, 0)
    assert described["left_out"] == 0
    assert dict(brokers[2].fetchers.lags()) == {MANY[0]: 7, MANY[1]: 0, MANY[2]: 0}


def test_failed_partitions_are_counted() -> None:
    """X3, X5."""
    brokers = following(count=3)
    fetcher = brokers[2].fetcher
    fetcher.next_ask()
    answer = FetchAnswer(
        session_id=fetcher.partitions.session.session_id,
        partitions=[PartitionAnswer(MANY[1], ErrorCode.FENCED_LEADER_EPOCH)],
    )
    exhaust(fetcher.on_fetched(answer))
    manager = brokers[2].fetchers
    assert (manager.count(State.FAILED), manager.count(State.FETCHING)) == (1, 2)


def test_bytes_are_counted_beyond_the_end_of_a_fetcher() -> None:
    """X2."""
    brokers = Brokers((1, 2))
    brokers.elect(1, isr=(1, 2))
    brokers[1].produce(2)
    brokers.settle()
    assert brokers[2].fetchers.fetched_bytes == 200
    brokers[2].fetchers.unfollow(P)
    assert brokers[2].fetchers.fetched_bytes == 200
    brokers[2].fetchers.follow(P, topic_id_of(P), 1, 1)
    assert brokers[2].fetchers.fetched_bytes == 200
