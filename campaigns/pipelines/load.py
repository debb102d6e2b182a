"""What a pipeline of the campaign reads, and how it is known to have written each record once."""

from random import Random
from typing import Any, Protocol

from odradek.spark.pipeline.description import Description
from odradek.testing import Broker


class Load(Protocol):
    """The records of one topic, and the pipeline that reads them."""

    @property
    def description(self) -> Description:
        """The pipeline, into a table that is new."""

    def send(self, chance: Random) -> None:
        """Send some more records, at least one."""

    def finish(self) -> None:
        """Send what makes the pipeline give all that it keeps."""

    def check(self, spark: Any) -> list[str]:
        """What is wrong when the pipeline has read all, each in a sentence. `spark` is a local session."""


def send_all(broker: Broker, topic: str, records: list[tuple[bytes | None, bytes, int]]) -> None:
    """Send records, each a value, a key and a partition, and wait until all are acknowledged."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for value, key, partition in records:
        producer.produce(topic, value, key, partition)
    assert producer.flush(60) == 0
