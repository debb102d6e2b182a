"""The blocking producer on a broker: deliveries, many threads, waiting, the end."""

import inspect
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator

import pyarrow as pa
import pytest

import odradek.aio
from odradek import (
    Admin,
    ApiError,
    Cause,
    Delivery,
    ErrorCode,
    Producer,
    ProducerRecord,
    Receipt,
    SettingError,
    TopicPartition,
)
from odradek.client.aio.home import Misuse
from odradek.client.blocking import at_exit
from odradek.client.blocking.outbox import ROOM
from odradek.testing import Broker

pytestmark = [pytest.mark.slow, pytest.mark.integration]


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as running:
        yield running


@pytest.fixture
def producer(broker: Broker) -> Iterator[Producer]:
    with Producer(broker.bootstrap_servers, linger_ms=5) as made:
        yield made


def test_both_producers_have_the_same_methods_and_describe_them() -> None:
    names = {name for name in vars(Producer) if not name.startswith("_")}
    of_aio = {name for name in vars(odradek.aio.Producer) if not name.startswith("_")}
    of_shell = {"abandon", "add", "add_later", "give_by", "max_block_ms", "send_and_wait", "until"}
    assert names == of_aio - of_shell
    for name in names:
        assert (getattr(Producer, name).__doc__ or "").strip(), name
    for name in ("send", "produce_batch"):
        taken = list(inspect.signature(getattr(Producer, name)).parameters)
        assert taken == list(inspect.signature(getattr(odradek.aio.Producer, name)).parameters)


def test_a_record_is_stored_as_it_was_sent(producer: Producer, broker: Broker) -> None:
    broker.create_topic("flights", partitions=3)
    called: list[Receipt] = []
    delivery = producer.send(
        "flights", b"landed", key=b"LX38", headers={"gate": b"B12"}, partition=2, timestamp_ms=1_000
    )
    delivery.add_done_callback(lambda done: called.append(done.result()))
    assert delivery.result(10) == Receipt("flights", 2, 0, 1_000)
    assert delivery.exception() is None
    producer.flush(10)
    assert called == [delivery.result()]
    (record,) = broker.records("flights")
    assert (record.value, record.key, record.partition) == (b"landed", b"LX38", 2)
    assert dict(record.headers) == {"gate": b"B12"}
    assert producer.partitions_for("flights") == [0, 1, 2]
    assert producer.why() == []
    assert producer.metrics()["record-error-total"] == 0
    assert producer.metrics()["record-send-total"] > 0


class Marking:
    """Adds a mark to every record, and notes the threads on which it is called."""

    def __init__(self) -> None:
        self.sent_on: list[threading.Thread] = []
        self.told_on: list[threading.Thread] = []
        self.told: list[tuple[str, Receipt | None, str]] = []

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        """See `ProducerInterceptor`."""
        self.sent_on.append(threading.current_thread())
        return record._replace(key=b"marked")

    def on_acknowledgement(self, topic: str, receipt: Receipt | None, error: Exception | None) -> None:
        """See `ProducerInterceptor`."""
        self.told_on.append(threading.current_thread())
        self.told.append((topic, receipt, "" if error is None else str(error)))


def test_interceptors_see_records_on_the_applications_thread(broker: Broker) -> None:
    broker.create_topic("marked", partitions=1)
    marking = Marking()
    with Producer(broker.bootstrap_servers, max_block_ms=300, interceptors=[marking]) as producer:
        receipt = producer.send("marked", b"1").result(10)
        large = producer.send("marked", b"x" * (2 << 20))
        lost = producer.send("marked", b"2", partition=9)
        with pytest.raises(ApiError, match="not sent within"):
            lost.result(10)
        with pytest.raises(ApiError, match="the record takes up to"):
            large.result(10)
        with pytest.raises(ApiError, match="interceptors see no rows"):
            producer.produce_batch(pa.table({"value": [b"3"]}), topic="marked")
    with pytest.raises(Misuse, match="this producer was closed"):
        producer.send("marked", b"4")
    assert [topic for topic, _, _ in marking.told] == ["marked"] * 4
    assert [stored for _, stored, _ in marking.told if stored] == [receipt]
    assert marking.sent_on == [threading.main_thread()] * 4
    assert marking.told_on[:3] == [producer._network._thread] * 3
    assert [(record.key, record.value) for record in broker.records("marked")] == [(b"marked", b"1")]


def test_records_behind_a_topic_that_never_came_are_told_at_the_close(broker: Broker) -> None:
    broker.create_topic("closed", partitions=1)
    marking = Marking()
    producer = Producer(broker.bootstrap_servers, interceptors=[marking])
    deliveries = [producer.send("closed", b"%d" % number, partition=5) for number in range(3)]
    producer.close(timeout=0.2)
    assert [one.exception(10) is not None for one in deliveries] == [True] * 3
    assert len(marking.told) == 3
    assert all("this producer was closed" in said for _, _, said in marking.told)


def test_a_record_fails_whose_waiting_had_not_begun_when_the_thread_ended(broker: Broker) -> None:
    broker.create_topic("ended", partitions=1)
    producer = Producer(broker.bootstrap_servers)
    producer.send("ended", b"1").result(10)
    network, is_sent = producer._network, threading.Event()

    def hold() -> None:
        is_sent.wait()

    network.post(hold)
    late = producer.send("ended", b"2", partition=5)
    network.post(network._loop.stop)  # in the turn in which the record is taken
    is_sent.set()
    with pytest.raises(ApiError, match="this producer was closed"):
        late.result(10)


def test_threads_share_it_and_each_keeps_its_order(producer: Producer, broker: Broker) -> None:
    broker.create_topic("shared", partitions=1)
    deliveries: list[Delivery] = []

    def send(thread: int) -> None:
        for number in range(400):
            deliveries.append(producer.send("shared", b"%d %d" % (thread, number)))

    threads = [threading.Thread(target=send, args=(one,)) for one in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    producer.flush(30)
    assert sorted(done.result(0).offset or 0 for done in deliveries) == list(range(1_200))
    stored = [record.value or b"" for record in broker.records("shared")]
    for one in range(3):
        mine = [value for value in stored if value.startswith(b"%d " % one)]
        assert mine == [b"%d %d" % (one, number) for number in range(400)]


def test_records_that_must_wait_keep_their_order_and_hold_up_no_other_topic(broker: Broker) -> None:
    broker.create_topic("known", partitions=1)
    broker.create_topic("late", partitions=1)
    with (
        Admin(broker.bootstrap_servers) as admin,
        Producer(broker.bootstrap_servers, metadata_max_age_ms=100) as producer,
    ):
        late = [producer.send("late", b"%d" % number, partition=1) for number in range(50)]
        assert producer.send("known", b"1").result(10).offset == 0
        assert not any(one.done() for one in late)
        assert [str(one) for one in producer.why()] == ["partition 1 of topic late is not known: it has 1"]
        admin.create_partitions({"late": 2})
        producer.flush(30)
        assert [one.result(0).offset for one in late] == list(range(50))
    assert [record.value for record in broker.records("late")] == [b"%d" % one for one in range(50)]


def test_what_fails_is_told_by_the_delivery(broker: Broker) -> None:
    with Producer(broker.bootstrap_servers, max_request_size=2_000, max_block_ms=200) as producer:
        broker.create_topic("one", partitions=1)
        with pytest.raises(ApiError) as refused:
            producer.send("one", b"x" * 3_000).result(10)
        assert refused.value.code is ErrorCode.MESSAGE_TOO_LARGE
        deliveries = [producer.send("one", b"x", partition=7) for _ in range(3)]
        for one in deliveries:
            error = one.exception(10)
            assert isinstance(error, ApiError)
            assert str(error).startswith("not sent within 0.2 s: partition 7 of topic one is not known")
        with pytest.raises(ApiError, match="partition -1 is below 0"):
            producer.send("one", partition=-1)
        with pytest.raises(TypeError, match="the value of a record is bytes or None, not str"):
            producer.send("one", "text")  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="the topic of a record is a str"):
            producer.send(b"one", b"x")  # type: ignore[arg-type]


def test_batches_above_the_topics_limit_are_stored_in_parts(broker: Broker) -> None:
    broker.create_topic("small", partitions=1, configs={"max.message.bytes": "600"})
    with Producer(broker.bootstrap_servers, linger_ms=50, compression_type="lz4") as producer:
        values = [os.urandom(number * 31 % 500) + b"%d" % number for number in range(200)]
        deliveries = [producer.send("small", value) for value in values]
        large = producer.send("small", os.urandom(700))
        assert [delivery.result(30).offset for delivery in deliveries] == list(range(200))
        error = large.exception(30)
        assert isinstance(error, ApiError)
        assert error.code is ErrorCode.MESSAGE_TOO_LARGE
        assert producer.metrics()["batch-split-total"] > 0
    assert [record.value for record in broker.records("small")] == values


def test_a_table_is_stored_between_the_records_before_and_after_it(broker: Broker) -> None:
    pa = pytest.importorskip("pyarrow")
    broker.create_topic("tables", partitions=1)
    values = [b"%d" % number * 9 for number in range(2_000)]
    with Producer(broker.bootstrap_servers, linger_ms=50, buffer_memory=60_000) as producer:
        first = producer.send("tables", b"first")
        delivery = producer.produce_batch(pa.table({"value": values}), topic="tables")
        last = producer.send("tables", b"last")
        called: list[int] = []
        delivery.add_done_callback(lambda done: called.append(done.result().records))
        receipt = delivery.result(30)
        assert receipt.offsets == {TopicPartition("tables", 0): (range(1, 2_001),)}
        assert delivery.exception() is None
        assert (first.result(10).offset, last.result(10).offset) == (0, 2_001)
        assert called == [2_000]
        with pytest.raises(ApiError, match="the table has no column value"):
            producer.produce_batch(pa.table({"key": [b"k"]}), topic="tables")
        large = producer.produce_batch(pa.table({"value": [b"x"], "partition": [0]}), topic="tables")
        assert large.result(10).records == 1
    assert [record.value for record in broker.records("tables")] == [b"first", *values, b"last", b"x"]


def test_a_table_that_is_refused_says_so_in_its_delivery(broker: Broker) -> None:
    pa = pytest.importorskip("pyarrow")
    broker.create_topic("narrow", partitions=1, configs={"max.message.bytes": "300"})
    with Producer(broker.bootstrap_servers) as producer:
        delivery = producer.produce_batch(pa.table({"value": [b"fits", b"x" * 400, b"fits"]}), topic="narrow")
        error = delivery.exception(10)
    assert isinstance(error, ApiError)
    assert error.code is ErrorCode.MESSAGE_TOO_LARGE
    assert str(error).startswith("1 of 3 rows are not acknowledged; row 1: narrow-0 refuses the records")
    assert [record.value for record in broker.records("narrow")] == [b"fits", b"fits"]


def test_a_thread_waits_for_room_and_is_told_when_the_producer_is_closed() -> None:
    producer = Producer("127.0.0.1:1")
    value = b"x" * (ROOM // 4)
    waiting = [producer.send("orders", value) for _ in range(4)]
    errors: list[str] = []
    began = threading.Event()

    def send() -> None:
        began.set()
        try:
            producer.send("orders", value)
        except Misuse as misuse:
            errors.append(str(misuse))

    other = threading.Thread(target=send)
    other.start()
    assert began.wait(10)
    with pytest.raises(TimeoutError, match=r"not all records were acknowledged within 0\.05 s"):
        producer.flush(0.05)
    producer.close(0.05)
    other.join(10)
    assert errors == ["this producer was closed"]
    for one in waiting:
        with pytest.raises(ApiError, match="this producer was closed"):
            one.result(10)
    producer.close()
    assert producer.why()[0].cause is Cause.CLOSED
    with pytest.raises(Misuse, match="this producer was closed"):
        producer.send("orders")
    with pytest.raises(Misuse, match="this producer was closed"):
        producer.flush()


def test_leaving_the_block_sends_what_is_left(broker: Broker) -> None:
    broker.create_topic("left")
    with Producer(broker.bootstrap_servers, linger_ms=60_000) as producer:
        deliveries = [producer.send("left", b"%d" % number, partition=0) for number in range(1_000)]
    assert [one.result(0).offset for one in deliveries] == list(range(1_000))


def interrupt() -> None:
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def test_ctrl_c_ends_a_flush_and_leaves_the_producer_usable(broker: Broker) -> None:
    broker.create_topic("kept", partitions=1)
    with (
        Admin(broker.bootstrap_servers) as admin,
        Producer(broker.bootstrap_servers, metadata_max_age_ms=100) as producer,
    ):
        delivery = producer.send("kept", b"0", partition=1)

        def flush() -> None:
            producer._network.post(interrupt)
            producer.flush()

        with pytest.raises(KeyboardInterrupt):
            flush()
        admin.create_partitions({"kept": 2})
        assert delivery.result(10).offset == 0


def test_ctrl_c_ends_a_close_and_no_delivery_is_left_waiting(broker: Broker) -> None:
    producer = Producer(broker.bootstrap_servers, linger_ms=60_000)
    broker.create_topic("interrupted", partitions=1)
    with broker.faults.delay(600.0, "Produce"):
        added = producer.send("interrupted", b"0")
        unplaced = producer.send("interrupted", b"1", partition=7)

        def close() -> None:
            producer._network.post(interrupt)
            producer.close()

        with pytest.raises(KeyboardInterrupt):
            close()
        for delivery in (added, unplaced):
            with pytest.raises(ApiError, match="this producer was closed"):
                delivery.result(10)


def test_a_callback_may_not_wait(broker: Broker) -> None:
    broker.create_topic("back", partitions=1)
    refused: list[str] = []
    with Producer(broker.bootstrap_servers, linger_ms=60_000) as producer:
        second = Delivery(producer._network, producer._ended)

        def call(_: object) -> None:
            for use in (lambda: producer.send("back"), producer.flush, second.result, producer.close):
                with pytest.raises(Misuse) as misuse:
                    use()
                refused.append(str(misuse.value))

        producer.send("back", b"0").add_done_callback(call)
        producer.flush(10)
    assert len(refused) == 4
    assert set(refused) == {
        "this producer was called from its own network thread, which would wait for itself"
    }


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_forked_process_is_told_to_make_its_own(producer: Producer, broker: Broker) -> None:
    delivery = Delivery(producer._network, producer._ended)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover - another process
        try:
            for use in (lambda: producer.send("forked"), delivery.result):
                try:
                    use()
                except Misuse as misuse:
                    os.write(writing, f"{misuse}\n".encode())
        finally:
            producer.close()
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said = pipe.read().splitlines()
    os.waitpid(child, 0)
    assert len(said) == 2
    assert all(one.startswith("this producer was made before this process was forked") for one in said)
    assert producer.send("forked", b"0").result(10).offset == 0


def test_wrong_settings_leave_no_thread() -> None:
    before = threading.active_count()
    with pytest.raises(SettingError, match=r"did you mean client\.id"):
        Producer("127.0.0.1:1", client_idd="me")  # type: ignore[call-arg]
    assert threading.active_count() == before


def test_what_is_no_time_is_refused_also_when_the_outcome_is_known() -> None:
    with Producer("127.0.0.1:1", max_block_ms=100) as producer:
        delivery = producer.send("flights")
        for _ in range(2):
            for wait in (delivery.result, delivery.exception):
                with pytest.raises(TypeError, match="a timeout is a number of seconds, not '1'"):
                    wait("1")  # type: ignore[arg-type]
                with pytest.raises(ValueError, match="a timeout is a number of seconds, not nan"):
                    wait(float("nan"))
            assert delivery.exception(float("inf")) is not None
        with pytest.raises(ApiError, match="not sent within"):
            delivery.result(-1)


UNCLOSED = """
import sys
from odradek import Producer

producer = Producer(sys.argv[1], linger_ms=60_000, compression_type="gzip", batch_size=1 << 20, settings={
    "delivery.timeout.ms": 120_000})
for number in range(50):
    producer.send("unclosed", b"%05d" % number * 1_000)
sys.exit(int(sys.argv[2]))
"""


def test_a_program_that_does_not_close_its_producer_loses_nothing(broker: Broker) -> None:
    broker.create_topic("unclosed")
    arguments = [sys.executable, "-X", "dev", "-c", UNCLOSED, broker.bootstrap_servers, "3"]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 3
    assert "ResourceWarning: unclosed odradek.Producer" in done.stderr
    assert len(broker.records("unclosed")) == 50


DROPPED = """
import gc, sys
from odradek import Producer

def send():
    producer = Producer(sys.argv[1], linger_ms=60_000, key_serializer=str.encode)
    return [producer.send(f"dropped-{sys.argv[2]}", b"%d" % number, key="k") for number in range(50)]

deliveries = send()
gc.collect()
if sys.argv[2] == "waits":
    print({delivery.result(30).partition for delivery in deliveries})
"""


@pytest.mark.parametrize("then", ["waits", "ends"])
def test_what_a_producer_had_when_it_was_dropped_is_sent(broker: Broker, then: str) -> None:
    topic = broker.create_topic(f"dropped-{then}")
    arguments = [sys.executable, "-X", "dev", "-c", DROPPED, broker.bootstrap_servers, then]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0
    assert done.stdout == ("{0}\n" if then == "waits" else "")
    assert "ResourceWarning: unclosed odradek.Producer" in done.stderr
    assert "ended before all records" not in done.stderr
    assert len(broker.records(topic)) == 50


def test_a_dropped_producer_ends_its_thread_and_is_forgotten(broker: Broker) -> None:
    known = len(at_exit._flushes)
    kept = [Producer(broker.bootstrap_servers)]
    thread = kept[0]._network._thread
    delivery = kept[0].send("dropped-here", b"lamp")
    with pytest.warns(ResourceWarning, match=r"unclosed odradek\.Producer"):
        kept.clear()
    assert delivery.result(30).offset == 0
    thread.join(30)
    assert not thread.is_alive()
    assert len(at_exit._flushes) == known


UNREACHABLE = """
import sys
from odradek import Producer
from odradek.client.blocking import at_exit

producer = Producer(sys.argv[1])
producer.send("unclosed", b"nobody listens")
at_exit.end_all(0.2)
"""


def test_what_cannot_be_sent_at_the_end_of_a_program_is_said() -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{bound.getsockname()[1]}"
        arguments = [sys.executable, "-c", UNREACHABLE, address]
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0
    assert done.stderr.startswith("the program ended before all records of an unclosed producer were sent: ")
    assert "no broker answers" in done.stderr


def test_serializers_are_called_here_and_the_partitioner_for_every_record(broker: Broker) -> None:
    broker.create_topic("served", partitions=3)
    threads: set[int] = set()

    def text(value: str) -> bytes:
        threads.add(threading.get_ident())
        return value.encode()

    with Producer(
        broker.bootstrap_servers, key_serializer=text, value_serializer=text, partitioner=lambda key, *_: 2
    ) as producer:
        assert producer.send("served", "lamp", key="k").result(10).partition == 2
        with pytest.raises(AttributeError, match="has no attribute 'encode'"):
            producer.send("served", 5)  # type: ignore[arg-type]
    assert threads == {threading.get_ident()}
    with (
        Producer(broker.bootstrap_servers, partitioner=lambda *_: 3) as other,
        pytest.raises(ApiError, match="chose partition 3 of topic served, which has 3"),
    ):
        other.send("served", b"lamp").result(10)


OTHERS_GO_ON = """
import os, sys, threading, time
from odradek import Consumer, Producer, TopicPartition

servers = sys.argv[1].replace("127.0.0.1", "localhost")
producer = Producer(servers, compression_type="gzip", batch_size=100_000)
consumer = Consumer(bootstrap_servers=servers, auto_offset_reset="earliest")

def work():
    threading.main_thread().join()
    for number in range(3):
        producer.send("going", b"%d" % number * 60_000)
        producer.flush(30)
    consumer.assign([TopicPartition("going", 0)])
    count = 0
    while count < 4:
        count += len(consumer.poll(30))
    print("read", count)
    consumer.close()

threading.Thread(target=work).start()
producer.send("going", b"main")
"""


def test_threads_that_go_on_after_the_main_thread_use_their_clients(broker: Broker) -> None:
    """Names are looked up then, and large batches compressed and uncompressed."""
    broker.create_topic("going")
    arguments = [sys.executable, "-c", OTHERS_GO_ON, broker.bootstrap_servers]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("read 4\n", "", 0)
