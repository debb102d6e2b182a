from dataclasses import replace

import pytest

from odradek.base.errors import ApiError
from odradek.client.configuration import ClientConfig, from_properties
from odradek.client.record_writer import OutgoingRecord, RecordWriter
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
