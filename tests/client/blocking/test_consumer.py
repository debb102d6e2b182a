"""The blocking consumer on a broker: threads, interruptions, and what it calls on which thread."""

import gc
import inspect
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import Any
from uuid import uuid4

import pytest

import odradek.aio
from odradek import (
    ApiError,
    Cause,
    Consumer,
    ConsumerRecord,
    OffsetAndMetadata,
    RebalanceListener,
    SettingError,
    TopicPartition,
    WakeupError,
)
from odradek.client.aio.home import Misuse
from odradek.client.core.requests import Outcome
from odradek.testing import Broker

pytestmark = [pytest.mark.slow, pytest.mark.integration]

Make = Callable[..., Consumer[Any, Any]]


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as running:
        yield running


@pytest.fixture
def topic(broker: Broker) -> str:
    """One partition with the values 0 to 9."""
    name = broker.create_topic(f"orders-{uuid4().hex}", partitions=1)
    broker.produce(name, *map(str, range(10)), key="k")
    return name


@pytest.fixture
def make(broker: Broker) -> Make:
    """Makes consumers that read from the first record on."""

    def make(*topics: str, **named: object) -> Consumer:
        given: dict[str, object] = {"bootstrap_servers": broker.bootstrap_servers}
        return Consumer(*topics, **{**given, "auto_offset_reset": "earliest", **named})  # type: ignore[arg-type]

    return make


def assigned(consumer: Consumer, topic: str) -> TopicPartition:
    partition = TopicPartition(topic, 0)
    consumer.assign([partition])
    return partition


def numbers(records: list[ConsumerRecord]) -> list[int]:
    return [int(str(record.value, "ascii")) for record in records if isinstance(record.value, bytes)]


def read(consumer: Consumer, count: int) -> list[int]:
    found: list[int] = []
    while len(found) < count:
        found += numbers(consumer.poll(10))
    assert len(found) == count
    return found


def interrupt() -> None:
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


INNER = {"handed_out", "leaving", "put_back_unless_committed", "poll_pieces", "stream"}
"""What the consumer of asyncio has for the other one alone, and what only makes sense there."""


def test_both_consumers_have_the_same_methods_and_describe_them() -> None:
    of_aio = {name for name in vars(odradek.aio.Consumer) if not name.startswith("_")}
    assert of_aio - INNER == {name for name in vars(Consumer) if name[0] != "_"}
    for name in of_aio - INNER:
        assert (getattr(Consumer, name).__doc__ or "").strip(), name
        if name != "close":
            taken = list(inspect.signature(getattr(Consumer, name)).parameters)
            assert taken == list(inspect.signature(getattr(odradek.aio.Consumer, name)).parameters), name


def test_records_positions_commits_and_offsets(make: Make, topic: str) -> None:
    with make(group_id=uuid4().hex, enable_auto_commit=False, fetch_max_wait_ms=50) as consumer:
        partition = assigned(consumer, topic)
        assert read(consumer, 10) == list(range(10))
        assert consumer.poll(0) == []
        assert consumer.why()[0].cause is Cause.AT_END
        assert consumer.metrics()["records-lag-max"] == 0
        consumer.seek(partition, 7)
        assert (consumer.position(partition), consumer.lag(partition)) == (7, 3)
        assert numbers(consumer.poll(10, max_records=2)) == [7, 8]
        consumer.commit()
        assert consumer.committed([partition]) == {partition: OffsetAndMetadata(9, leader_epoch=0)}
        consumer.pause([partition])
        assert consumer.paused() == {partition}
        assert consumer.poll(0) == []
        consumer.resume([partition])
        assert read(consumer, 1) == [9]
        assert consumer.beginning_offsets([partition]) == {partition: 0}
        assert consumer.end_offsets([partition]) == {partition: 10}
        found = consumer.offsets_for_times({partition: 0})[partition]
        assert found is not None
        assert found.offset == 0
        consumer.seek_to_beginning()
        assert read(consumer, 10) == list(range(10))
        consumer.seek_to_end()
        assert consumer.position(partition) == 10
        consumer.unsubscribe()
        assert consumer.assignment() == frozenset()
    assert consumer.why()[0].cause is Cause.CLOSED
    consumer.close()
    with pytest.raises(Misuse, match="this consumer was closed"):
        consumer.poll(0)


def test_iteration_polls_between_two_records(make: Make, topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    polls: list[float | None] = []
    poll = odradek.aio.Consumer.poll

    async def counted(
        self: odradek.aio.Consumer, timeout: float | None = 1.0, *, max_records: int | None = None
    ) -> list[ConsumerRecord]:
        polls.append(timeout)
        return await poll(self, timeout, max_records=max_records)

    monkeypatch.setattr(odradek.aio.Consumer, "poll", counted)
    monkeypatch.setattr("odradek.client.aio.polling.POLLS_AGAIN_MS", 0)
    with make() as consumer:
        assigned(consumer, topic)
        assert numbers(list(islice(consumer, 4))) == [0, 1, 2, 3]
        assert len(polls) == 4
        assert numbers(consumer.poll(10)) == [4, 5, 6, 7, 8, 9]


def test_iteration_commits_behind_the_record_at_hand(make: Make, topic: str) -> None:
    with make(group_id=uuid4().hex, enable_auto_commit=False) as consumer:
        partition = assigned(consumer, topic)
        seen = []
        for record in consumer:
            seen += numbers([record])
            consumer.commit()
            committed = consumer.committed([partition])[partition]
            assert committed is not None
            assert committed.offset == consumer.position(partition) == record.offset + 1
            if record.offset == 3:
                break
        assert seen == [0, 1, 2, 3]
        assert numbers(consumer.poll(10, max_records=2)) == [4, 5], "poll goes on where iteration ended"
        assert numbers([next(consumer)]) == [6]
        consumer.seek(partition, 8)
        assert numbers([next(consumer)]) == [8]


class Told(RebalanceListener):
    """Remembers on which thread it heard what, and uses its consumer."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, list[str]]] = []
        self.threads: set[threading.Thread] = set()
        self.consumer: Consumer | None = None

    def on_partitions_assigned(self, partitions: frozenset[TopicPartition]) -> None:
        self._hear("assigned", partitions)
        assert self.consumer is not None
        for one in partitions:
            self.consumer.seek(one, 5)

    def on_partitions_revoked(self, partitions: frozenset[TopicPartition]) -> None:
        self._hear("revoked", partitions)
        assert self.consumer is not None
        self.consumer.commit(dict.fromkeys(partitions, 6))

    def _hear(self, what: str, partitions: frozenset[TopicPartition]) -> None:
        self.threads.add(threading.current_thread())
        self.heard.append((what, [str(one) for one in partitions]))


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_the_listener_is_called_on_the_polling_thread_and_may_use_the_consumer(
    make: Make, topic: str, protocol: str
) -> None:
    listener = Told()
    settings = {"group_id": uuid4().hex, "group_protocol": protocol, "enable_auto_commit": False}
    with make(**settings) as consumer:
        listener.consumer = consumer
        consumer.subscribe([topic], listener=listener)
        assert read(consumer, 5) == [5, 6, 7, 8, 9]
    assert listener.heard == [("assigned", [f"{topic}-0"]), ("revoked", [f"{topic}-0"])]
    assert listener.threads == {threading.current_thread()}
    with make(topic, **settings) as consumer:
        assert read(consumer, 4) == [6, 7, 8, 9], "the commit while it was closed counts"


def test_an_exception_of_the_listener_comes_through_and_it_is_told_again(make: Make, topic: str) -> None:
    errors: list[BaseException] = [LookupError("no such shelf"), KeyboardInterrupt()]

    class Failing(RebalanceListener):
        def on_partitions_assigned(self, partitions: frozenset[TopicPartition]) -> None:
            if errors:
                raise errors.pop(0)

    with make(topic, group_id=uuid4().hex, listener=Failing()) as consumer:
        with pytest.raises(LookupError, match="no such shelf"):
            consumer.poll(10)
        with pytest.raises(KeyboardInterrupt):
            consumer.poll(10)
        assert read(consumer, 10) == list(range(10))


def test_a_listener_with_coroutines_is_refused_and_may_not_poll(make: Make, topic: str) -> None:
    class Coroutines(RebalanceListener):
        async def on_partitions_assigned(self, partitions: frozenset[TopicPartition]) -> None:
            raise AssertionError("nobody can run it")

    class Polls(RebalanceListener):
        def on_partitions_assigned(self, partitions: frozenset[TopicPartition]) -> None:
            consumer.poll(0)

    with make(topic, group_id=uuid4().hex, listener=Coroutines()) as consumer:
        with pytest.raises(TypeError, match=r"needs odradek\.aio\.Consumer"):
            consumer.poll(10)
        consumer.subscribe([topic], listener=Polls())
        with pytest.raises(Misuse, match="poll was called within poll"):
            consumer.poll(10)
        consumer.subscribe([topic], listener=RebalanceListener())
        assert read(consumer, 10) == list(range(10))


def test_a_listener_that_is_none_is_refused_at_once(make: Make, topic: str) -> None:
    wrong: Any = print
    with pytest.raises(TypeError, match="a listener is a RebalanceListener, not <built-in function print>"):
        make(topic, group_id=uuid4().hex, listener=wrong)
    with make(topic, group_id=uuid4().hex) as consumer:
        with pytest.raises(TypeError, match="derive from RebalanceListener, and give an object"):
            consumer.subscribe([topic], listener=wrong)
        with pytest.raises(TypeError, match="a timeout is a number of seconds, not '1'"):
            consumer.close(timeout="1")  # type: ignore[arg-type]
        assert read(consumer, 10) == list(range(10))


def test_wakeup_ends_a_poll_of_another_thread_and_loses_nothing(make: Make, topic: str) -> None:
    """C2."""
    with make(max_poll_records=4) as consumer:
        assigned(consumer, topic)
        consumer.wakeup()
        with pytest.raises(WakeupError):
            consumer.poll(10)
        assert numbers(consumer.poll(10)) == [0, 1, 2, 3]
        consumer.wakeup()
        with pytest.raises(WakeupError):
            next(consumer)
        assert numbers([next(consumer)]) == [4]
        consumer.wakeup()
        with pytest.raises(WakeupError, match=r"wakeup\(\) was called"):
            next(consumer)
        assert read(consumer, 5) == [5, 6, 7, 8, 9]
        waking = threading.Timer(0.01, consumer.wakeup)
        waking.start()
        with pytest.raises(WakeupError):
            consumer.poll(None)
        waking.join()
        assert consumer.poll(0) == [], "one wakeup ends one poll"


def test_another_thread_is_refused_while_one_polls(make: Make, topic: str) -> None:
    """C1."""
    refused: list[str] = []

    class Other(RebalanceListener):
        """Within poll it lets another thread try."""

        def on_partitions_assigned(self, partitions: frozenset[TopicPartition]) -> None:
            other = threading.Thread(target=self._use)
            other.start()
            other.join()

        def _use(self) -> None:
            for use in (lambda: consumer.poll(0), consumer.assignment, consumer.close):
                with pytest.raises(Misuse) as misuse:
                    use()
                refused.append(str(misuse.value))

    with make(topic, group_id=uuid4().hex, listener=Other()) as consumer:
        assert read(consumer, 10) == list(range(10))
    assert len(refused) == 3
    assert set(refused) == {
        "this consumer is in use by another thread; only wakeup() may be called meanwhile"
    }


def test_ctrl_c_ends_a_poll_and_loses_nothing(make: Make, topic: str) -> None:
    with make() as consumer:
        assigned(consumer, topic)
        assert read(consumer, 10) == list(range(10))

        def poll() -> None:
            consumer._network.post(interrupt)
            consumer.poll(None)

        with pytest.raises(KeyboardInterrupt):
            poll()
        consumer.seek_to_beginning()
        assert read(consumer, 10) == list(range(10))


def test_ctrl_c_when_records_have_just_come_loses_nothing(
    make: Make, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with make(group_id=uuid4().hex, enable_auto_commit=False) as consumer:
        partition = assigned(consumer, topic)
        poll = consumer._consumer.poll

        async def interrupted(
            timeout: float | None = 1.0, *, max_records: int | None = None
        ) -> list[ConsumerRecord]:
            records = await poll(timeout, max_records=max_records)
            interrupt()
            return records

        monkeypatch.setattr(consumer._consumer, "poll", interrupted)
        with pytest.raises(KeyboardInterrupt):
            consumer.poll(10)
        monkeypatch.undo()
        assert consumer.position(partition) == 0
        consumer.commit()
        assert consumer.committed([partition]) == {partition: OffsetAndMetadata(0)}
        assert read(consumer, 10) == list(range(10))


def test_a_value_that_is_refused_is_raised_until_it_is_passed_over(make: Make, topic: str) -> None:
    def no_three(value: bytes) -> int:
        if value == b"3":
            raise ArithmeticError("three")
        assert threading.current_thread() is threading.main_thread()
        return int(value)

    with make(value_deserializer=no_three, key_deserializer=bytes.decode) as consumer:
        partition = assigned(consumer, topic)
        assert [(one.key, one.value) for one in consumer.poll(10)] == [("k", 0), ("k", 1), ("k", 2)]
        for _ in range(2):
            with pytest.raises(ArithmeticError) as refused:
                consumer.poll(10)
            said = f"It was raised for {partition} at offset 3; the consumer goes on behind a seek."
            assert refused.value.__notes__ == [said]
            with pytest.raises(ArithmeticError):
                next(consumer)
        assert consumer.position(partition) == 3
        (why,) = consumer.why()
        assert (why.cause, why.data["position"]) == (Cause.UNREADABLE, 3)
        assert str(why) == f"{partition} cannot be read at offset 3: ArithmeticError: three"
        consumer.seek(partition, 4)
        assert [next(consumer).value for _ in range(6)] == [4, 5, 6, 7, 8, 9]


def test_interceptors_are_called_on_the_applications_thread(make: Make, topic: str) -> None:
    """C2."""
    threads = set()
    committed: list[int] = []

    class Twice:
        """Leaves out the even records and gives the others twice."""

        def on_consume(self, records: list[ConsumerRecord]) -> list[ConsumerRecord]:
            threads.add(threading.current_thread())
            return [record for record in records for _ in range(2) if record.offset % 2]

        def on_commit(self, offsets: dict[TopicPartition, OffsetAndMetadata]) -> None:
            threads.add(threading.current_thread())
            committed.extend(at.offset for at in offsets.values())
            raise LookupError("logged, no more")

    with make(group_id=uuid4().hex, interceptors=[Twice()]) as consumer:
        assigned(consumer, topic)
        assert numbers([next(consumer) for _ in range(3)]) == [1, 1, 3]
        consumer.commit()
        assert numbers(consumer.poll(10)) == [3, 5, 5, 7, 7, 9, 9]
    assert committed == [4, 10], "the second when it was closed"
    assert threads == {threading.current_thread()}


def test_callbacks_of_commits_are_called_on_the_applications_thread(make: Make, topic: str) -> None:
    told: list[tuple[threading.Thread, dict[TopicPartition, int], object]] = []

    def tell(offsets: Mapping[TopicPartition, OffsetAndMetadata], error: ApiError | None) -> None:
        told.append((threading.current_thread(), {one: at.offset for one, at in offsets.items()}, error))
        if len(told) == 2:
            raise ArithmeticError("comes out of the call")

    with make(group_id=uuid4().hex, enable_auto_commit=False) as consumer:
        partition = assigned(consumer, topic)
        assert read(consumer, 10) == list(range(10))

        def commit_and_poll() -> None:
            consumer.commit_async({partition: 4}, tell)
            consumer.commit_async({partition: 5}, tell)
            consumer.poll(None)  # nothing more to read: only the callback ends it

        with pytest.raises(ArithmeticError, match="comes out of the call"):
            commit_and_poll()
        assert consumer.poll(0) == []
        consumer.commit_async(callback=tell)
    assert [thread for thread, _, _ in told] == [threading.current_thread()] * 3
    assert [offsets for _, offsets, _ in told] == [{partition: 4}, {partition: 5}, {partition: 10}]
    assert [error for _, _, error in told] == [None] * 3


def test_closing_tells_each_callback_whichever_of_them_fail(make: Make, topic: str) -> None:
    told: list[int] = []

    def fail(number: int) -> None:
        told.append(number)
        raise ArithmeticError(number)

    consumer = make(group_id=uuid4().hex)
    consumer._untold.extend(partial(fail, number) for number in range(4))
    with pytest.raises(ArithmeticError, match="0"):
        consumer.close()
    assert told == [0, 1, 2, 3]
    consumer.close()


def test_the_error_of_a_commit_that_nobody_is_told_is_logged(
    make: Make, broker: Broker, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    with make(group_id=uuid4().hex, enable_auto_commit=False) as consumer:
        partition = assigned(consumer, topic)
        with broker.faults.error("OffsetCommit", "TOPIC_AUTHORIZATION_FAILED", times=1):
            consumer.commit_async({partition: 4})
            consumer.commit({partition: 5})
        assert consumer.committed([partition]) == {partition: OffsetAndMetadata(5)}
    (message,) = [one.getMessage() for one in caplog.records if one.name == "odradek.consumer"]
    assert message.startswith("a commit failed: ")
    assert "topic authorization failed" in message


def test_heartbeats_go_on_while_the_application_works(
    make: Make, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    enough = threading.Event()
    with make(topic, group_id=uuid4().hex, heartbeat_interval_ms=20) as consumer:
        assert read(consumer, 10) == list(range(10))
        member = consumer._consumer._core.member
        assert member is not None
        outcome, seen = member.outcome, []

        def count(one: Outcome, now_ms: int) -> None:
            seen.append(type(one.send).__name__)
            outcome(one, now_ms)
            if len(seen) == 3:
                enough.set()

        monkeypatch.setattr(member, "outcome", count)
        assert enough.wait(30), "this thread calls nothing of the consumer's"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_forked_process_is_told_to_make_its_own(make: Make, topic: str) -> None:
    with make() as consumer:
        assigned(consumer, topic)
        assert numbers([next(consumer)]) == [0]
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:  # pragma: no cover - another process
            try:
                next(consumer)
            except Misuse as misuse:
                os.write(writing, str(misuse).encode())
            finally:
                consumer.wakeup()
                consumer.close()
                os._exit(0)
        os.close(writing)
        said = os.read(reading, 1_000).decode()
        os.close(reading)
        os.waitpid(child, 0)
        assert said.startswith("this consumer was made before this process was forked")
        assert read(consumer, 9) == list(range(1, 10))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_process_forked_while_another_thread_polls_is_told_the_same(make: Make) -> None:
    with make() as consumer:
        # What a thread that polls holds; in a forked process nobody gives it back.
        holds, ends = threading.Event(), threading.Event()

        def use() -> None:
            with consumer._in_use():
                holds.set()
                ends.wait(30)

        other = threading.Thread(target=use)
        other.start()
        assert holds.wait(30)
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:  # pragma: no cover - another process
            code = 1
            try:
                consumer.poll(1)
            except Misuse as misuse:
                os.write(writing, str(misuse).encode())
                consumer.close()
                code = 0
            finally:
                os._exit(code)
        os.close(writing)
        said = os.read(reading, 1_000).decode()
        os.close(reading)
        assert os.waitpid(child, 0)[1] == 0, "closing it does nothing"
        assert said.startswith("this consumer was made before this process was forked")
        with pytest.raises(Misuse, match="in use by another thread"):
            consumer.poll(1)
        ends.set()
        other.join(30)


class Interceptor:
    def on_consume(self, records: list[ConsumerRecord]) -> list[ConsumerRecord]:
        return records

    def on_commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        pass


def drop(last: list[Consumer]) -> None:
    last.clear()
    gc.collect()


def test_a_consumer_that_is_dropped_leaves_its_group_and_ends_its_thread(make: Make, topic: str) -> None:
    group = uuid4().hex
    before = threading.active_count()
    dropped = [make(topic, group_id=group, listener=RebalanceListener(), interceptors=[Interceptor()])]
    thread = dropped[0]._network._thread
    assert read(dropped[0], 10)
    with pytest.warns(ResourceWarning, match=r"unclosed odradek\.Consumer"):
        drop(dropped)
    with make(topic, group_id=group) as other:
        assert read(other, 10) == list(range(10)), "it gets the partition, and nothing was committed"
    thread.join(10)
    assert threading.active_count() <= before


def test_wrong_settings_leave_no_thread() -> None:
    before = threading.active_count()
    with pytest.raises(SettingError, match=r"did you mean client\.id"):
        Consumer(bootstrap_servers="127.0.0.1:1", client_idd="me")  # type: ignore[call-arg]
    assert threading.active_count() == before


def test_close_ends_in_time_when_nobody_answers() -> None:
    with Broker() as broker:
        broker.create_topic("orders", partitions=1)
        broker.produce("orders", "0")
        consumer = Consumer(
            "orders",
            bootstrap_servers=broker.bootstrap_servers,
            group_id="g",
            auto_offset_reset="earliest",
        )
        assert read(consumer, 1) == [0]
    consumer.close(timeout=0.1)
    assert not consumer._network._thread.is_alive()
    with pytest.raises(ApiError, match="closed"):
        consumer.poll(0)


def test_columns_that_an_interrupted_call_did_not_return_come_again(make: Make, topic: str) -> None:
    pytest.importorskip("pyarrow")
    with make(enable_auto_commit=False) as consumer:
        partition = assigned(consumer, topic)
        batch = consumer.poll_batch(10, max_records=4)
        assert batch is not None
        assert batch.column("offset").to_pylist() == [0, 1, 2, 3]
        pieces = consumer._network.run(lambda: consumer._consumer.poll_pieces(10, 3, False))
        assert pieces
        consumer._pieces.extend(pieces)  # as if Ctrl-C came while the call returned
        assert consumer.position(partition) == 4
        assert read(consumer, 6) == list(range(4, 10))
