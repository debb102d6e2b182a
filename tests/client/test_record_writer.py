from dataclasses import replace

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.client.bootstrap import Address
from odradek.client.configuration import ClientConfig, from_properties
from odradek.client.leader_connections import LeaderConnections
from odradek.client.record_writer import OutgoingRecord, RecordWriter
from odradek.net.blocking_connection import BrokerConnection
from odradek.net.request_pipeline import ConnectionFailed
from odradek.testing import Broker

pytestmark = pytest.mark.integration


def test_a_batch_is_given_up_after_the_delivery_timeout() -> None:
    config, warnings = from_properties({"delivery.timeout.ms": "300"}, ClientConfig())
    assert not warnings
    with Broker() as broker:
        config = replace(config, bootstrap_servers=broker.bootstrap_servers)
        with RecordWriter(config, "flights") as writer:
            writer.write(OutgoingRecord(None, b"first"))
            writer.flush()
            assert writer.waiting_since_s is None
            broker.kill()
            writer.write(OutgoingRecord(None, b"second"))
            with pytest.raises(ApiError, match=r"not acknowledged within 0\.3 s: .*"):
                writer.flush()
            assert (writer.acknowledged, writer.unanswered) == (1, 1)
            assert writer.obstacle


def test_no_request_takes_longer_than_the_delivery_timeout() -> None:
    with Broker() as broker:
        config = ClientConfig(broker.bootstrap_servers, delivery_timeout_ms=300)
        with RecordWriter(config, "flights") as writer:
            writer.write(OutgoingRecord(None, b"first"))
            broker.pause()
            try:
                with pytest.raises(ApiError, match="not acknowledged within"):
                    writer.flush()
            finally:
                broker.resume()


def test_a_writer_knows_whether_its_topic_was_made_for_it() -> None:
    with Broker(settings={"num.partitions": "3"}) as broker:
        for is_new in (True, False):
            with RecordWriter(ClientConfig(broker.bootstrap_servers), "flights") as writer:
                assert (writer.has_made_topic, writer.partition_count) == (is_new, 3)


def test_a_writer_says_for_which_topic_it_waits_and_why(monkeypatch: pytest.MonkeyPatch) -> None:
    """The topic has no leader until the third look."""
    refresh = LeaderConnections.refresh
    seen: list[tuple[str, str]] = []
    with Broker() as broker:
        writer = RecordWriter(ClientConfig(broker.bootstrap_servers), "flights")

        def look(connections: LeaderConnections) -> None:
            refresh(connections)
            assert writer.waiting_since_s is not None
            seen.append((writer.waits_for, writer.obstacle))
            if len(seen) < 3:
                connections.leaders.addresses.clear()

        monkeypatch.setattr(LeaderConnections, "refresh", look)
        broker.create_topic("flights")
        with writer:
            assert (writer.waits_for, writer.obstacle, writer.waiting_since_s) == ("", "", None)
    assert seen == [
        ("topic flights", ""),
        ("topic flights", "topic flights has no leader"),
        ("topic flights", "topic flights has no leader"),
    ]


def test_a_writer_that_was_not_opened_can_be_closed() -> None:
    RecordWriter(ClientConfig("127.0.0.1:1"), "flights").close()


@pytest.mark.parametrize("attempts", [3, None])
def test_a_producer_id_is_asked_for_as_long_as_a_batch_may_take(
    attempts: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No broker answers until the third attempt, or ever."""
    with Broker() as broker:
        config = ClientConfig(
            broker.bootstrap_servers, delivery_timeout_ms=300 if attempts is None else 60_000
        )
        connect = ClientConfig.connect
        seen: list[tuple[str, str]] = []
        with RecordWriter(config, "flights") as writer:

            def refuse(own: ClientConfig, address: Address | None = None) -> BrokerConnection:
                if address is not None:
                    return connect(own, address)
                assert writer.waiting_since_s is not None
                seen.append((writer.waits_for, writer.obstacle))
                if len(seen) == attempts:
                    return connect(own)
                raise ConnectionFailed("nobody is there")

            monkeypatch.setattr(ClientConfig, "connect", refuse)
            if attempts is None:
                with pytest.raises(
                    ApiError, match=r"not acknowledged within 0\.3 s: nobody is there"
                ) as failed:
                    writer.write(OutgoingRecord(None, b"first"))
                assert failed.value.code is ErrorCode.NETWORK_EXCEPTION
            else:
                writer.write(OutgoingRecord(None, b"first"))
                assert (writer.waits_for, writer.waiting_since_s) == ("", None)
                writer.flush()
                assert writer.acknowledged == 1
        assert seen[:3] == [("a producer id", ""), *[("a producer id", "nobody is there")] * 2]
