from collections.abc import Iterator

import pyarrow as pa
import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.spark.direct_sink import send_rows
from odradek.spark.sink_options import SinkOptions
from odradek.testing import Broker
from tests.spark.committed import committed_messages

pytestmark = [pytest.mark.spark, pytest.mark.integration]


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as running:
        yield running


def test_all_columns_take_effect(broker: Broker) -> None:
    topics = [broker.create_topic(partitions=3), broker.create_topic(partitions=3)]
    kind = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    rows = pa.table(
        {
            "topic": [topics[n % 2] for n in range(100)],
            "key": [f"k{n}" if n % 5 else None for n in range(100)],
            "value": [b"%d" % n if n % 7 else None for n in range(100)],
            "headers": pa.array(
                [[{"key": "h", "value": b"%d" % n}] if n % 3 else None for n in range(100)], kind
            ),
            "partition": pa.array([n % 3 if n % 2 else None for n in range(100)], pa.int32()),
        }
    )
    options = SinkOptions(None, {"bootstrap.servers": broker.bootstrap_servers})
    assert send_rows(options, rows.to_batches(max_chunksize=30)) == 100
    for place, topic in enumerate(topics):
        found = {
            (message.key(), message.value(), message.headers()[0][1] if message.headers() else None): message
            for message in committed_messages(broker, topic)
        }
        numbers = range(place, 100, 2)
        assert len(found) == len(numbers)
        for n in numbers:
            message = found[
                f"k{n}".encode() if n % 5 else None,
                b"%d" % n if n % 7 else None,
                b"%d" % n if n % 3 else None,
            ]
            assert not n % 2 or message.partition() == n % 3


def test_a_record_that_the_broker_refuses_fails_the_task(broker: Broker) -> None:
    topic = broker.create_topic(configs={"max.message.bytes": 100})
    options = SinkOptions(topic, {"bootstrap.servers": broker.bootstrap_servers})
    with pytest.raises(ApiError) as refused:
        send_rows(options, [pa.record_batch([pa.array([b"v" * 200])], names=["value"])])
    assert refused.value.code is ErrorCode.MESSAGE_TOO_LARGE
