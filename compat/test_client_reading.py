"""Behaviour of our consumers, blocking and asyncio: the same on Odradek and on Apache Kafka."""

import threading
import time
from collections.abc import Callable, Mapping

import pytest
from peers.waiting import wait_until

from compat.shells import Blocking
from compat.test_client_writing import SEND_S_MAX, read
from odradek import (
    ApiError,
    Cause,
    ConsumerRecord,
    ErrorCode,
    OffsetAndMetadata,
    RebalanceListener,
    TopicPartition,
    WakeupError,
)

PROTOCOLS = ["classic", "consumer"]
RECORDS = 10


@pytest.fixture
def filled(shell: Blocking, topic: str) -> TopicPartition:
    """A partition with records whose timestamps are a second apart; the first one's is now."""
    start_ms = int(time.time() * 1000)
    with shell.producer() as producer:
        for number in range(RECORDS):
            sent = producer.send(topic, b"%d" % number, timestamp_ms=start_ms + 1000 * number)
            sent.result(SEND_S_MAX)
    return TopicPartition(topic, 0)


class Told(RebalanceListener):
    """Remembers what a consumer was told, in its order."""

    def __init__(self) -> None:
        self.events: list[tuple[str, frozenset[TopicPartition]]] = []

    def on_partitions_revoked(self, partitions: frozenset[TopicPartition]) -> None:
        """These are given back."""
        self.events.append(("revoked", partitions))

    def on_partitions_assigned(self, partitions: frozenset[TopicPartition]) -> None:
        """These are new."""
        self.events.append(("assigned", partitions))

    def on_partitions_lost(self, partitions: frozenset[TopicPartition]) -> None:
        """These are gone."""
        self.events.append(("lost", partitions))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_group_goes_on_where_it_committed(
    shell: Blocking, filled: TopicPartition, fresh_name: Callable[[], str], protocol: str
) -> None:
    settings = {"group_id": fresh_name(), "group_protocol": protocol, "enable_auto_commit": False}
    with shell.consumer(filled.topic, **settings) as consumer:
        read(consumer, RECORDS)
        assert consumer.committed([filled]) == {filled: None}
        consumer.commit({filled: 4})
    with shell.consumer(filled.topic, **settings) as consumer:
        assert [one.offset for one in read(consumer, 6)] == list(range(4, RECORDS))
        consumer.commit()
        committed = consumer.committed([filled])[filled]
        assert committed is not None
        assert committed.offset == RECORDS


class Commits:
    """Remembers the commits that a consumer was told, in their order."""

    def __init__(self) -> None:
        self.offsets: list[Mapping[TopicPartition, OffsetAndMetadata]] = []

    def on_consume(self, records: list[ConsumerRecord]) -> list[ConsumerRecord]:
        """The records as they are."""
        return records

    def on_commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """These were committed."""
        self.offsets.append(offsets)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_commits_that_nobody_waits_for_are_told_in_order(
    shell: Blocking, filled: TopicPartition, fresh_name: Callable[[], str], protocol: str
) -> None:
    told = Commits()
    settings: dict[str, object] = {
        "group_id": fresh_name(),
        "group_protocol": protocol,
        "auto_commit_interval_ms": 1,
        "max_poll_records": 1,
    }

    def offsets() -> list[int]:
        return [committed[filled].offset for committed in told.offsets]

    with shell.consumer(filled.topic, interceptors=[told], **settings) as consumer:

        def is_told(end: int) -> bool:
            """Each poll says that what was returned before is processed, and begins to commit it."""
            return consumer.poll(0.05) == [] and offsets()[-1:] == [end]

        read(consumer, 1)
        consumer.pause([filled])
        wait_until(lambda: is_told(1), "the first record is not committed")
        consumer.resume([filled])
        read(consumer, RECORDS - 1)
        wait_until(lambda: is_told(RECORDS), "the last record is not committed")
    assert offsets() == sorted(set(offsets()))


def test_commits_of_the_application_that_it_does_not_wait_for(
    shell: Blocking, filled: TopicPartition, fresh_name: Callable[[], str]
) -> None:
    settings: dict[str, object] = {"group_id": fresh_name(), "enable_auto_commit": False}
    ended: list[tuple[int, ApiError | None]] = []

    def end(offsets: Mapping[TopicPartition, OffsetAndMetadata], error: ApiError | None) -> None:
        ended.append((offsets[filled].offset, error))

    with shell.consumer(**settings) as consumer:
        consumer.assign([filled])
        for offset in range(1, 6):
            consumer.commit_async({filled: offset}, end)
        wait_until(lambda: consumer.poll(0.05) is not None and len(ended) == 5, "a commit has not ended")
        assert consumer.committed([filled]) == {filled: OffsetAndMetadata(5)}
        consumer.commit_async({filled: 7}, end)
    assert ended == [(offset, None) for offset in (1, 2, 3, 4, 5, 7)]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_listener_hears_in_order_and_members_share(
    shell: Blocking, new_topic: Callable[..., str], fresh_name: Callable[[], str], protocol: str
) -> None:
    topic, told = new_topic(partitions=2), Told()
    settings: dict[str, object] = {"group_id": fresh_name(), "group_protocol": protocol}
    if protocol == "classic":
        settings["heartbeat_interval_ms"] = 500  # so that the first member soon hears of the second
    everything = frozenset(TopicPartition(topic, number) for number in range(2))
    with shell.consumer(**settings) as first:
        first.subscribe([topic], listener=told)
        wait_until(lambda: first.poll(0.1) == [] and first.assignment() == everything, "nothing is assigned")
        with shell.consumer(topic, **settings) as second:

            def is_shared() -> bool:
                first.poll(0.1)
                second.poll(0.1)
                halves = first.assignment(), second.assignment()
                return all(halves) and halves[0] | halves[1] == everything and not halves[0] & halves[1]

            wait_until(is_shared, "the second member gets nothing")
        wait_until(lambda: first.poll(0.1) == [] and first.assignment() == everything, "half is missing")
    held: frozenset[TopicPartition] = frozenset()
    for event, partitions in told.events:
        if event == "assigned":
            assert not held & partitions
            held |= partitions
        else:
            assert event == "revoked"
            assert partitions <= held
            held -= partitions
    assert not held


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_static_member_comes_back_to_its_partitions(
    shell: Blocking, filled: TopicPartition, fresh_name: Callable[[], str], protocol: str
) -> None:
    settings = {
        "group_id": fresh_name(),
        "group_protocol": protocol,
        "group_instance_id": "desk-1",
    }
    for values in ([b"%d" % number for number in range(RECORDS)], [b"later"]):
        with shell.consumer(filled.topic, **settings) as consumer:
            if values == [b"later"]:
                with shell.producer() as producer:
                    producer.send(filled.topic, b"later").result(SEND_S_MAX)
            assert [one.value for one in read(consumer, len(values))] == values


def test_positions_are_chosen_and_partitions_held_back(shell: Blocking, filled: TopicPartition) -> None:
    with shell.consumer() as consumer:
        consumer.assign([filled])
        assert consumer.position(filled) == 0
        consumer.seek(filled, 7)
        assert [one.offset for one in read(consumer, 3)] == [7, 8, 9]
        assert (consumer.position(filled), consumer.lag(filled)) == (RECORDS, 0)
        consumer.pause([filled])
        consumer.seek_to_beginning([filled])
        assert consumer.paused() == {filled}
        assert consumer.poll(0.3) == []
        consumer.resume([filled])
        assert len(read(consumer, RECORDS)) == RECORDS
        consumer.seek_to_end([filled])
        assert consumer.position(filled) == RECORDS


def test_offsets_are_looked_up(shell: Blocking, filled: TopicPartition) -> None:
    with shell.consumer() as consumer:
        consumer.assign([filled])
        assert consumer.beginning_offsets([filled]) == {filled: 0}
        assert consumer.end_offsets([filled]) == {filled: RECORDS}
        third: ConsumerRecord = read(consumer, RECORDS)[3]
        found = consumer.offsets_for_times({filled: third.timestamp - 1})[filled]
        assert found is not None
        assert (found.offset, found.timestamp) == (3, third.timestamp)
        assert consumer.offsets_for_times({filled: third.timestamp + 3_600_000}) == {filled: None}


@pytest.mark.parametrize("policy", ["earliest", "latest", "none"])
def test_a_position_out_of_range_follows_the_policy(
    shell: Blocking, filled: TopicPartition, policy: str
) -> None:
    with shell.consumer(auto_offset_reset=policy) as consumer:
        consumer.assign([filled])
        consumer.seek(filled, 1_000)
        if policy == "earliest":
            assert read(consumer, RECORDS)[0].offset == 0
        elif policy == "latest":
            wait_until(lambda: not consumer.poll(0.1) and consumer.position(filled) == RECORDS, "no reset")
        else:
            with pytest.raises(ApiError) as refused:
                read(consumer, 1)
            assert refused.value.code is ErrorCode.OFFSET_OUT_OF_RANGE


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_pattern_finds_topics_that_are_made_later(
    shell: Blocking, new_topic: Callable[..., str], fresh_name: Callable[[], str], protocol: str
) -> None:
    first = new_topic()
    settings = {"group_id": fresh_name(), "group_protocol": protocol, "metadata_max_age_ms": 300}
    with shell.consumer(**settings) as consumer:
        consumer.subscribe(pattern=f"{first}(-later)?")
        wait_until(
            lambda: consumer.poll(0.1) == [] and len(consumer.assignment()) == 1, "nothing is assigned"
        )
        with shell.admin() as admin:
            admin.create_topic(f"{first}-later", partitions=1)
        wait_until(lambda: consumer.poll(0.1) == [] and len(consumer.assignment()) == 2, "it is not found")


def test_wakeup_ends_a_poll(shell: Blocking, topic: str) -> None:
    with shell.consumer() as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        waker = threading.Thread(target=consumer.wakeup)
        waker.start()
        with pytest.raises(WakeupError):
            consumer.poll(60)
        waker.join()
        assert consumer.poll(0.1) == []


def test_columns_and_iteration_give_the_same_records(shell: Blocking, filled: TopicPartition) -> None:
    with shell.consumer() as consumer:
        consumer.assign([filled])
        values: list[bytes] = []

        def are_there() -> bool:
            batch = consumer.poll_batch(0.2)
            if batch is not None:
                values.extend(batch.column("value").to_pylist())
            return len(values) == RECORDS

        wait_until(are_there, "there are fewer columns than records")
        consumer.seek_to_beginning()
        assert [one.value for one in shell.iterate(consumer, RECORDS)] == values


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_who_does_not_poll_loses_its_partitions_and_comes_back(
    shell: Blocking, topic: str, fresh_name: Callable[[], str], protocol: str
) -> None:
    told, group = Told(), fresh_name()
    with (
        shell.consumer(group_id=group, group_protocol=protocol, max_poll_interval_ms=1_000) as consumer,
        shell.admin() as admin,
    ):
        consumer.subscribe([topic], listener=told)
        wait_until(lambda: consumer.poll(0.1) == [] and bool(consumer.assignment()), "nothing is assigned")
        wait_until(lambda: not admin.describe_group(group).members, "it is still in the group")
        wait_until(lambda: consumer.poll(0.1) == [] and len(told.events) >= 3, "it does not come back")
    assert [event for event, _ in told.events] == ["assigned", "lost", "assigned", "revoked"], told.events


def test_who_reads_a_topic_that_is_made_again_begins_at_its_start(
    shell: Blocking, filled: TopicPartition
) -> None:
    # By default the consumer's own questions may make the topic again before the test does.
    settings = {"metadata_max_age_ms": 300, "allow_auto_create_topics": False}
    with shell.consumer(**settings) as consumer, shell.admin() as admin:
        consumer.assign([filled])
        read(consumer, RECORDS)
        admin.delete_topics([filled.topic])
        wait_until(lambda: filled.topic not in admin.list_topics(), "it is still there")
        admin.create_topic(filled.topic, partitions=1)
        with shell.producer() as producer:
            producer.send(filled.topic, b"again").result(SEND_S_MAX)
        assert [(one.offset, one.value) for one in read(consumer, 1)] == [(0, b"again")]


def test_a_topic_that_does_not_exist_is_waited_for_and_named(
    shell: Blocking, fresh_name: Callable[[], str], new_topic: Callable[..., str]
) -> None:
    name = fresh_name()
    first = TopicPartition(name, 0)
    settings = {"default_api_timeout_ms": 1_500, "allow_auto_create_topics": False}
    with shell.consumer(metadata_max_age_ms=500, **settings) as consumer:
        consumer.assign([first])
        begun = time.monotonic()
        assert consumer.poll(0.5) == []
        why = consumer.why()[0]
        assert (why.cause, why.data["topic"]) == (Cause.UNKNOWN_TOPIC, name)
        for ask in (consumer.end_offsets, consumer.beginning_offsets):
            with pytest.raises(ApiError) as unknown:
                ask([first])
            assert unknown.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        with pytest.raises(ApiError) as late:
            consumer.position(first)
        assert late.value.code is ErrorCode.REQUEST_TIMED_OUT
        assert time.monotonic() - begun >= 0.4 + 3 * 1.4  # it may be made until then
        with shell.producer() as producer:
            producer.send(name, b"made", partition=0).result(SEND_S_MAX)
        assert [one.value for one in read(consumer, 1)] == [b"made"]
