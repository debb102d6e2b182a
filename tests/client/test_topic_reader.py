"""Reads a topic to its end, as a consumer would, without one."""

from collections.abc import Iterator

import pytest

from odradek import Producer
from odradek.base.errors import ApiError
from odradek.base.ids import TopicPartition
from odradek.client.configuration import ClientConfig
from odradek.client.core.consumer.completed_fetch import ConsumerRecord
from odradek.client.topic_reader import TopicReader
from odradek.testing import Broker

pytestmark = pytest.mark.integration


class Kept(TopicReader):
    """Keeps what it reads."""

    def __init__(self, config: ClientConfig, topic: str) -> None:
        self.records: list[ConsumerRecord] = []
        super().__init__(config, topic)

    def on_record(self, partition: TopicPartition, record: ConsumerRecord) -> None:
        assert partition == (record.topic, record.partition)
        self.records.append(record)


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as running:
        yield running


def read(broker: Broker, topic: str, isolation: str = "read_committed", skip: int = 0) -> list[bytes]:
    config = ClientConfig(broker.bootstrap_servers, isolation_level=isolation)
    with Kept(config, topic) as reader:
        reader.skip_to({TopicPartition(topic, 0): skip})
        reader.read_to_end()
        return [one.value for one in reader.records if isinstance(one.value, bytes)]


def test_large_compressed_batches_are_read_whole_and_in_order(broker: Broker) -> None:
    topic = broker.create_topic()
    values = [b"%06d" % number + bytes(500) for number in range(6_000)]
    with Producer(broker.bootstrap_servers, compression_type="zstd", batch_size=4 << 20) as producer:
        for value in values:
            producer.send(topic, value)
    assert read(broker, topic) == values
    assert read(broker, topic, skip=5_990) == values[5_990:]


def test_records_of_aborted_transactions_are_for_readers_of_uncommitted_ones(broker: Broker) -> None:
    topic = broker.create_topic()
    with Producer(broker.bootstrap_servers, transactional_id=topic) as producer:
        producer.init_transactions()
        for value, end in (
            (b"1", producer.commit_transaction),
            (b"2", producer.abort_transaction),
            (b"3", producer.commit_transaction),
        ):
            producer.begin_transaction()
            producer.send(topic, value).result(10)
            end()
    assert read(broker, topic) == [b"1", b"3"]
    assert read(broker, topic, "read_uncommitted") == [b"1", b"2", b"3"]


def test_a_topic_that_is_not_there_is_refused(broker: Broker) -> None:
    with pytest.raises(ApiError, match="there is no topic nowhere"):
        read(broker, "nowhere")
