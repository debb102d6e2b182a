"""The core of a producer, event by event, against a broker that follows Kafka's rules."""

from typing import Any, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.base.chance import SeededChance
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.client.core.cluster_view import ClusterView
from odradek.client.core.producer.batch import Done, record_bytes_max
from odradek.client.core.producer.delivery import ProducerCore
from odradek.client.core.producer.identity import EPOCH_MAX
from odradek.client.core.producer.settings import ProducerSettings
from odradek.client.core.requests import Outcome, Send
from odradek.client.core.waiting import Cause
from odradek.net.request_pipeline import NotConnected
from odradek.records.header import read_header
from odradek.wire.messages.init_producer_id import InitProducerIdRequest
from odradek.wire.messages.produce import ProduceRequest
from tests.client.core.producer.model_broker import ORDERS, ModelBroker, known_view, lost

NO_LOGIN = NotConnected("who are you?", ErrorCode.SASL_AUTHENTICATION_FAILED)
Stamped: TypeAlias = tuple[int, int, int]


class Rig:
    """A core, its broker and the requests between them."""

    def __init__(self, *, first_epoch: int = 0, encodes_elsewhere: bool = False, **given: object) -> None:
        self.core = ProducerCore(
            ProducerSettings(**given),  # type: ignore[arg-type]
            known_view(),
            SeededChance(1),
            encodes_elsewhere=encodes_elsewhere,
        )
        self.broker = ModelBroker(first_epoch)
        self.now_ms = 0
        # On their way, the oldest first.
        self.flight: list[Send] = []
        # By batch and index of the record.
        self.done: dict[tuple[int, int], Done] = {}
        # Batch and index of each record, by its value.
        self.places: dict[bytes, tuple[int, int]] = {}

    def append(self, value: bytes) -> bool:
        batch = self.core.append(
            ORDERS, self.now_ms, None, value, (), record_bytes_max(None, value, ()), self.now_ms
        )
        if batch is not None:
            self.places[value] = (batch.id, batch.record_count - 1)
        return batch is not None

    def pump(self, *, ms: int = 0) -> list[Send]:
        """Let time go by, and take what is to be sent; returns what is new."""
        self.now_ms += ms
        sends = list(self.core.due(self.now_ms))
        self.flight += sends
        self._take_done()
        return sends

    def answer(self, refusal: ErrorCode = ErrorCode.NONE) -> None:
        """The broker carries out the oldest request, or refuses it."""
        self.core.outcome(self.broker.answer(self.flight.pop(0), refusal), self.now_ms)
        self._take_done()

    def lose_all(self, stored: int) -> None:
        """The connection breaks after the broker has carried out some of the requests."""
        flight, self.flight = self.flight, []
        for number, send in enumerate(flight):
            if number < stored:
                self.broker.answer(send)
        for send in flight:
            self.core.outcome(lost(send), self.now_ms)
        self._take_done()

    def settle(self) -> None:
        """From now on nothing goes wrong."""
        for _ in range(1_000):
            self.pump(ms=250)
            while self.flight:
                self.answer()
                self.pump()
            if self.core.is_empty:
                return
        raise AssertionError(f"it does not come to rest: {self.core.why(self.now_ms)}")

    def _take_done(self) -> None:
        for done in self.core.take_done():
            for index in range(done.first, done.first + done.records):
                assert (done.batch_id, index) not in self.done, "a record has one outcome"
                self.done[done.batch_id, index] = done

    def outcome(self, value: bytes) -> Done:
        return self.done[self.places[value]]


def stamps(sends: list[Send]) -> list[Stamped]:
    found = []
    for send in sends:
        if isinstance(send.request, ProduceRequest):
            for part in send.request.topic_data[0].partition_data:
                assert part.records is not None
                header = read_header(part.records)
                found.append((header.producer_id, header.producer_epoch, header.base_sequence))
    return found


def started(**given: object) -> Rig:
    """A rig whose producer has an id and one acknowledged record; every record is a batch of its own."""
    rig = Rig(**{"linger_ms": 0, "batch_size": 0, **given})  # type: ignore[arg-type]
    rig.append(b"first")
    rig.settle()
    return rig


def test_a_batch_lingers_and_is_sent_at_once_when_flushed() -> None:
    rig = Rig(linger_ms=50)
    rig.append(b"a")
    assert isinstance(rig.pump()[0].request, InitProducerIdRequest)
    rig.answer()
    assert rig.pump(ms=49) == []
    assert rig.core.next_deadline_ms() == 50
    assert rig.core.why(rig.now_ms)[0].cause is Cause.LINGER
    rig.append(b"b")
    assert stamps(rig.pump(ms=1)) == [(1, 0, 0)]
    rig.answer()
    assert rig.outcome(b"a") is rig.outcome(b"b")
    rig.append(b"c")
    assert rig.pump() == []
    rig.core.flush()
    assert stamps(rig.pump()) == [(1, 0, 2)]


def test_the_first_batch_is_alone_and_then_five_are_in_flight() -> None:
    rig = Rig(linger_ms=0, batch_size=0)
    for number in range(8):
        rig.append(b"%d" % number)
    rig.pump()
    rig.answer()
    assert stamps(rig.pump()) == [(1, 0, 0)]
    assert rig.pump() == []
    rig.answer()
    assert stamps(rig.pump()) == [(1, 0, number) for number in range(1, 6)]


def test_a_retry_keeps_its_stamp_and_goes_alone() -> None:
    rig = started()
    rig.append(b"a")
    rig.append(b"b")
    first = stamps(rig.pump())
    rig.lose_all(stored=1)
    rig.append(b"c")
    assert rig.pump() == [], "it waits for retry.backoff.ms"
    assert stamps(rig.pump(ms=200)) == first[:1]
    rig.answer()
    assert rig.broker.log == [b"first", b"a"]
    assert rig.outcome(b"a").base_offset == 1
    assert stamps(rig.pump()) == first[1:]


def test_a_batch_that_is_refused_for_good_makes_the_next_ones_begin_again() -> None:
    rig = started()
    for value in (b"a", b"b", b"c"):
        rig.append(value)
    assert stamps(rig.pump()) == [(1, 0, 1), (1, 0, 2), (1, 0, 3)]
    rig.answer(ErrorCode.MESSAGE_TOO_LARGE)
    rig.answer()
    rig.answer()
    rig.settle()
    assert rig.broker.log == [b"first", b"b", b"c"]
    error = rig.outcome(b"a").error
    assert isinstance(error, ApiError)
    assert error.code is ErrorCode.MESSAGE_TOO_LARGE
    assert rig.broker.producers[1].epoch == 1, "KIP-360"


def test_a_producer_that_the_broker_forgot_begins_again_under_the_next_epoch() -> None:
    rig = started()
    rig.append(b"a")
    rig.pump()
    rig.answer(ErrorCode.UNKNOWN_PRODUCER_ID)
    assert stamps(rig.pump(ms=200)) == [(1, 1, 0)]
    rig.answer()
    assert rig.broker.log == [b"first", b"a"]


def test_after_the_last_epoch_another_id_is_asked_for() -> None:
    rig = started(first_epoch=EPOCH_MAX)
    rig.append(b"a")
    assert stamps(rig.pump()) == [(1, EPOCH_MAX, 1)]
    rig.answer(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
    rig.settle()
    assert rig.broker.ids_given == 2
    assert rig.broker.log == [b"first", b"a"]


def test_a_batch_fails_when_its_time_counted_from_the_append_is_over() -> None:
    rig = started(delivery_timeout_ms=1_000, request_timeout_ms=500)
    rig.append(b"a")
    rig.pump()
    rig.lose_all(stored=1)
    rig.pump(ms=999)
    assert b"a" in rig.places
    assert rig.places[b"a"] not in rig.done
    rig.pump(ms=1)
    error = rig.outcome(b"a").error
    assert "not acknowledged within 1 s: the connection broke" in str(error)
    rig.append(b"b")
    rig.settle()
    assert rig.broker.log == [b"first", b"a", b"b"], "it was stored, and nobody was told"


def test_no_producer_id_fails_what_waits_if_it_is_forbidden() -> None:
    rig = Rig(linger_ms=0)
    rig.append(b"a")
    (send,) = rig.pump()
    outcome = rig.broker.answer(send)
    assert outcome.response is not None
    outcome.response.error_code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED  # type: ignore[attr-defined]
    rig.core.outcome(outcome, 0)
    rig.flight.clear()
    rig.pump()
    assert "no broker gives a producer id" in str(rig.outcome(b"a").error)


def test_brokers_that_give_no_producer_ids_fail_what_waits_at_once() -> None:
    rig = Rig(linger_ms=0)
    rig.append(b"a")
    (send,) = rig.pump()
    unserved = NotConnected("InitProducerId is not served", ErrorCode.UNSUPPORTED_VERSION)
    rig.core.outcome(Outcome(send, error=unserved), 0)
    rig.flight.clear()
    rig.pump()
    assert rig.outcome(b"a").error is unserved


@pytest.mark.parametrize("value", [b"x" * 1_000, b"x" * 3_000])
def test_memory_is_bounded_and_comes_back(value: bytes) -> None:
    rig = started(buffer_memory=4_000)
    added = 0
    while rig.append(b"%d" % added + value):
        added += 1
    assert added == 4_000 // (len(value) + 100)
    assert rig.core.why(0)[0].cause in (Cause.MEMORY, Cause.REQUEST)
    rig.settle()
    assert rig.append(value)
    with pytest.raises(ApiError, match=r"buffer\.memory is 4000"):
        rig.append(b"x" * 4_000)


def test_a_large_batch_that_is_compressed_waits_for_its_encoding() -> None:
    rig = started(compression_type="zstd", encodes_elsewhere=True)
    values = [b"%d" % number * 40_000 for number in range(7)]
    small = b"small"
    for value in [*values[:1], small, *values[1:]]:
        rig.append(value)
    assert rig.pump() == []
    assert rig.core.next_deadline_ms() == rig.now_ms + 120_000, "it waits for nothing but its encodings"
    encodings = rig.core.take_encodings()
    assert len(encodings) == 4, "of the first five batches those that are large"
    assert rig.core.take_encodings() == []
    rig.core.encoded(encodings[1], encodings[1].work())
    assert rig.pump() == [], "the one before it is not encoded"
    rig.core.encoded(encodings[0], encodings[0].work())
    assert stamps(rig.pump()) == [(1, 0, 1), (1, 0, 2), (1, 0, 3)]
    for one in [*encodings[2:], *rig.core.take_encodings()]:
        rig.core.encoded(one, one.work())
    while not rig.core.is_empty:
        rig.pump()
        for one in rig.core.take_encodings():
            rig.core.encoded(one, one.work())
        if rig.flight:
            rig.answer()
    assert rig.broker.log == [b"first", values[0], small, *values[1:]]


def test_a_batch_may_expire_while_it_is_encoded() -> None:
    rig = started(
        compression_type="zstd", encodes_elsewhere=True, delivery_timeout_ms=1_000, request_timeout_ms=500
    )
    rig.append(b"x" * 40_000)
    rig.pump()
    (encoding,) = rig.core.take_encodings()
    rig.pump(ms=1_000)
    error = rig.outcome(b"x" * 40_000).error
    assert error is not None
    assert error.code is ErrorCode.REQUEST_TIMED_OUT
    rig.core.encoded(encoding, encoding.work())
    assert rig.core.is_empty
    rig.append(b"next")
    rig.settle()
    assert rig.broker.log == [b"first", b"next"]
    assert (
        rig.core.figures(rig.now_ms)["buffer-available-bytes"]
        == rig.core.figures(rig.now_ms)["buffer-total-bytes"]
    )


def test_small_and_plain_batches_are_encoded_where_they_are_sent() -> None:
    for settings_ in ({"compression_type": "zstd"}, {"compression_type": "none"}):
        rig = started(encodes_elsewhere=True, **settings_)
        rig.append(b"x" * (1_000 if settings_["compression_type"] == "zstd" else 40_000))
        assert len(rig.pump()) == 1
        assert rig.core.take_encodings() == []


EVENTS = st.lists(
    st.one_of(
        st.just(("append", 0)),
        st.tuples(st.just("tick"), st.integers(0, 400)),
        st.just(("answer", 0)),
        st.just(("refuse", ErrorCode.NOT_LEADER_OR_FOLLOWER)),
        st.just(("refuse", ErrorCode.MESSAGE_TOO_LARGE)),
        st.tuples(st.just("lose"), st.integers(0, 5)),
    ),
    max_size=60,
)


def carry_out(rig: Rig, events: list[tuple[str, int]]) -> list[bytes]:
    """Returns the values that were appended, in order."""
    values: list[bytes] = []
    for event, number in events:
        if event == "append":
            values.append(b"%d" % len(values))
            assert rig.append(values[-1])
        elif event == "tick":
            rig.now_ms += number
        elif event == "lose":
            rig.lose_all(number)
        elif rig.flight:
            rig.answer(ErrorCode(number))
        rig.pump()
    rig.settle()
    return values


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(EVENTS, st.sampled_from([0, 40, 400]), st.sampled_from([0, EPOCH_MAX - 1]), st.booleans())
def test_each_acknowledged_record_is_stored_once_and_in_order(
    events: list[tuple[str, int]], batch_size: int, first_epoch: int, is_hasty: bool
) -> None:
    limits: dict[str, Any] = {"delivery_timeout_ms": 900, "request_timeout_ms": 500} if is_hasty else {}
    rig = Rig(first_epoch=first_epoch, linger_ms=0, batch_size=batch_size, **limits)
    values = carry_out(rig, events)
    log = rig.broker.log
    assert len(set(log)) == len(log), "a record was stored twice"
    assert log == sorted(log, key=values.index), "a record overtook an earlier one"
    for value in values:
        done = rig.outcome(value)
        if done.error is None:
            assert value in log, "an acknowledged record was not stored"
            if done.base_offset >= 0:
                assert log[done.base_offset + rig.places[value][1] - done.first] == value
        elif not is_hasty:
            # Out of order: a part of a batch that may be stored, since an answer was lost before the refusal.
            assert done.error.code in (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
    assert rig.core.take_done() == []


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(EVENTS)
def test_without_idempotence_one_in_flight_keeps_the_order(events: list[tuple[str, int]]) -> None:
    rig = Rig(linger_ms=0, batch_size=0, enable_idempotence=False, max_in_flight=1)
    values = carry_out(rig, events)
    first_time = list(dict.fromkeys(rig.broker.log))
    assert first_time == sorted(first_time, key=values.index)
    for value in values:
        assert rig.outcome(value).error is not None or value in first_time


def test_a_topic_is_not_waited_for_while_no_broker_lets_the_producer_in() -> None:
    view = ClusterView(SeededChance(1))
    core = ProducerCore(ProducerSettings(), view, SeededChance(1))
    assert core.placement.find("orders", None, None, 0) is None
    (send,) = view.due(0)
    view.outcome(Outcome(send, error=NO_LOGIN), 0)
    with pytest.raises(ApiError, match="who are you"):
        core.placement.find("orders", None, None, 0)
