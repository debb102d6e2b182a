"""What `odradek produce` sends with, on a broker in this process."""

import threading

import pytest

from odradek.base.errors import ApiError
from odradek.cli.sending import Sending
from odradek.client.core.producer.outgoing import Outgoing
from odradek.net.request_pipeline import ConnectionFailed
from odradek.testing import Broker

pytestmark = pytest.mark.integration


def sending(broker: Broker, **named: object) -> Sending:
    return Sending({"bootstrap.servers": broker.bootstrap_servers, "linger.ms": 0, **named}, "flights")


def outgoing(value: bytes, partition: int | None = None) -> Outgoing:
    return Outgoing("flights", value, None, (), partition, None)


IMPATIENT: dict[str, object] = {"delivery.timeout.ms": 300, "request.timeout.ms": 300}


def test_records_are_given_up_after_the_delivery_timeout() -> None:
    with Broker() as broker, sending(broker, **IMPATIENT) as one:
        one.open()
        one.send([outgoing(b"first")])
        one.flush()
        assert one.waiting_since_s is None
        broker.kill()
        one.send([outgoing(b"second"), outgoing(b"third")])
        assert (one.acknowledged, one.unanswered) == (1, 2)
        assert one.subject == "2 records have not been acknowledged"
        assert one.waiting_since_s is not None
        with pytest.raises(ApiError, match=r"were not acknowledged within 0\.3 s: .*"):
            one.flush()
        assert (one.acknowledged, one.unanswered) == (1, 0)


def test_a_silent_broker_takes_no_longer_than_the_delivery_timeout() -> None:
    with Broker() as broker, sending(broker, **IMPATIENT) as one:
        one.open()
        broker.pause()
        try:
            one.send([outgoing(b"first")])
            with pytest.raises(ApiError, match="not acknowledged within"):
                one.flush()
        finally:
            broker.resume()


def test_it_is_known_whether_the_topic_was_made_for_it() -> None:
    with Broker(settings={"num.partitions": "3"}) as broker:
        for is_new in (True, False):
            with sending(broker) as one:
                one.open()
                assert (one.has_made_topic, one.partition_count) == (is_new, 3)


def test_who_waits_for_a_topic_says_why() -> None:
    """The topic comes when it has been said."""
    settings = {"auto.create.topics.enable": "false"}
    with Broker(settings=settings) as broker, sending(broker, **{"max.block.ms": 60_000}) as one:
        opening = threading.Thread(target=one.open)
        opening.start()
        while "auto.create.topics.enable" not in one.obstacle:
            assert opening.is_alive()
        assert one.subject == "records have waited for topic flights"
        assert one.waiting_since_s is not None
        broker.create_topic("flights")
        opening.join(20)
        assert one.waiting_since_s is None
        assert one.has_made_topic


def test_a_topic_that_does_not_come_is_refused_with_the_reason() -> None:
    settings = {"auto.create.topics.enable": "false"}
    with (
        Broker(settings=settings) as broker,
        sending(broker, **{"max.block.ms": 100}) as one,
        pytest.raises(
            ApiError, match=r"not sent within 0\.1 s: there is no topic flights: the brokers do not "
        ),
    ):
        one.open()


def test_a_broker_that_is_not_there_is_named_at_once() -> None:
    with (
        Sending({"bootstrap.servers": "127.0.0.1:1,127.0.0.1:2"}, "flights") as one,
        pytest.raises(ConnectionFailed) as failed,
    ):
        one.open()
    assert str(failed.value) == (
        "cannot connect to 127.0.0.1:1: connection refused; cannot connect to 127.0.0.1:2: connection refused"
    )


def test_a_partition_that_is_none_is_refused_before_anything_is_sent() -> None:
    with Broker(settings={"num.partitions": "2"}) as broker, sending(broker) as one:
        one.open()
        with pytest.raises(
            ApiError, match="there is no partition 2 of topic flights: it has partitions 0 to 1"
        ):
            one.send([outgoing(b"one", 1), outgoing(b"two", 2)])
        assert (one.acknowledged, one.unanswered) == (0, 0)


def test_more_lists_than_may_be_on_their_way_are_all_sent() -> None:
    with Broker() as broker, sending(broker) as one:
        one.open()
        for number in range(20):
            one.send([outgoing(b"%d" % number)])
        one.flush()
        assert one.acknowledged == 20
        assert [int(record.value or b"") for record in broker.records("flights")] == list(range(20))
