"""A producer that writes one record after another to each of several partitions, and the pauses it saw."""

import time
from collections.abc import Callable, Iterable

from confluent_kafka import KafkaError, Message, Producer
from peers import BrokerProcess

INTERVAL_S = 0.01
POLL_S = 0.002
RECORD = b"x" * 100
FLUSH_S = 30.0


class Pulse:
    """Sends the next record of a partition INTERVAL_S after the last one was acknowledged, with acks=all.

    Retries, time-outs and back-offs are confluent-kafka's defaults.
    """

    def __init__(self, broker: BrokerProcess, topic: str, partitions: Iterable[int]) -> None:
        self._producer = Producer(
            {"bootstrap.servers": broker.addresses, "acks": "all", "linger.ms": 0, "log_level": 0}
        )
        self._topic = topic
        now = time.perf_counter()
        # By partition: when its record under way was sent, None while there is none.
        self._sent: dict[int, float | None] = dict.fromkeys(partitions)
        # By partition: when its last record was acknowledged, and when that one had been sent.
        self._acknowledged = dict.fromkeys(self._sent, now)
        self._sent_before_that = dict.fromkeys(self._sent, 0.0)
        self.longest_pause_s = 0.0
        """The longest time between two acknowledgements of one partition, since `forget`."""
        self.errors: list[KafkaError] = []
        """What the producer has given up."""

    def run(self, is_over: Callable[[], bool], timeout_s: float) -> None:
        """Send until `is_over`, which is asked often. Raises AssertionError after `timeout_s`."""
        deadline = time.perf_counter() + timeout_s
        while not is_over():
            now = time.perf_counter()
            assert now < deadline, f"not over after {timeout_s} s"
            for partition, sent in self._sent.items():
                if sent is None and now - self._acknowledged[partition] >= INTERVAL_S:
                    self._sent[partition] = now
                    self._producer.produce(
                        self._topic, RECORD, partition=partition, on_delivery=self._on_delivered
                    )
            self._producer.poll(POLL_S)

    def forget(self) -> None:
        """Count pauses from now on."""
        self.longest_pause_s = 0.0

    def has_gone_on_since(self, moment: float) -> bool:
        """Whether each partition has acknowledged a record that was sent after that moment."""
        return min(self._sent_before_that.values()) > moment

    def close(self) -> None:
        """Wait for what is under way."""
        self._producer.flush(FLUSH_S)

    def _on_delivered(self, error: KafkaError | None, message: Message) -> None:
        partition, now = message.partition(), time.perf_counter()
        assert partition is not None
        sent, self._sent[partition] = self._sent[partition], None
        assert sent is not None, "a record is acknowledged once"
        if error is not None:
            self.errors.append(error)
            return
        self.longest_pause_s = max(self.longest_pause_s, now - self._acknowledged[partition])
        self._acknowledged[partition], self._sent_before_that[partition] = now, sent
