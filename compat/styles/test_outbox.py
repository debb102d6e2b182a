"""A transactional outbox: one transaction of the database writes an order and its event, and a relay sends
each event to Kafka exactly once, wherever it crashes.

The relay commits its position, the last row that it sent, as an offset in the Kafka transaction that holds
the records. The next relay has the same transactional id: its start aborts the transaction that the last one
left open, and it continues behind the committed position.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from odradek.testing import Broker

BATCH = 2


class Crash(Exception):
    """The relay crashed and lost its memory."""


@pytest.fixture
def database() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("CREATE TABLE orders (item TEXT NOT NULL)")
        database.execute("CREATE TABLE outbox (row INTEGER PRIMARY KEY, event TEXT)")
        yield database


def order(database: sqlite3.Connection, *items: str | None) -> None:
    """The service: all orders with their events, or none."""
    with database:
        for item in items:
            database.execute("INSERT INTO outbox (event) VALUES (?)", [f"ordered {item}"])
            database.execute("INSERT INTO orders VALUES (?)", [item])


class Relay:
    """Sends the rows of the outbox in their order."""

    def __init__(self, servers: str, topic: str, database: sqlite3.Connection) -> None:
        name = f"relay-{topic}"
        self._topic = topic
        self._database = database
        self._producer = Producer({"bootstrap.servers": servers, "transactional.id": name, "log_level": 0})
        self._producer.init_transactions(30)
        self._places = Consumer({"bootstrap.servers": servers, "group.id": name})

    def send_batch(self, crash: str = "") -> int:
        """Send the next rows and return their number; `crash` says where the relay crashes."""
        (place,) = self._places.committed([TopicPartition(self._topic, 0)], timeout=30)
        rows = self._database.execute(
            "SELECT row, event FROM outbox WHERE row > ? ORDER BY row LIMIT ?", [place.offset, BATCH]
        ).fetchall()
        if not rows:
            return 0
        self._producer.begin_transaction()
        for row, event in rows:
            self._producer.produce(self._topic, event, headers={"row": str(row)})
        place.offset = rows[-1][0]
        self._producer.send_offsets_to_transaction([place], self._places.consumer_group_metadata(), 30)
        if crash == "before the commit":
            self._producer.flush(30)
            raise Crash
        self._producer.commit_transaction(30)
        if crash == "after the commit":
            raise Crash
        return len(rows)

    def send_all(self) -> None:
        while self.send_batch():
            pass


@pytest.mark.parametrize(("crash", "written"), [("before the commit", 6), ("after the commit", 4)])
def test_one_record_per_row_when_the_relay_crashes(
    odradek_broker: Broker, odradek_topic: str, database: sqlite3.Connection, crash: str, written: int
) -> None:
    order(database, "lamp", "table", "sofa")
    with pytest.raises(Crash):
        Relay(odradek_broker.bootstrap_servers, odradek_topic, database).send_batch(crash)

    order(database, "chair")
    Relay(odradek_broker.bootstrap_servers, odradek_topic, database).send_all()

    events = [record.text for record in odradek_broker.records(odradek_topic)]
    assert events == ["ordered lamp", "ordered table", "ordered sofa", "ordered chair"]
    with_aborted = odradek_broker.records(odradek_topic, isolation="read_uncommitted")
    assert len(with_aborted) == written


@pytest.mark.odradek
def test_one_record_per_row_when_the_broker_crashes(
    odradek_broker: Broker, odradek_topic: str, database: sqlite3.Connection
) -> None:
    order(database, "lamp", "table", "sofa")
    with pytest.raises(Crash):
        Relay(odradek_broker.bootstrap_servers, odradek_topic, database).send_batch("before the commit")
    odradek_broker.kill()
    odradek_broker.start()

    Relay(odradek_broker.bootstrap_servers, odradek_topic, database).send_all()

    events = [record.text for record in odradek_broker.records(odradek_topic)]
    assert events == ["ordered lamp", "ordered table", "ordered sofa"]


def test_an_order_that_fails_is_not_announced(
    odradek_broker: Broker, odradek_topic: str, database: sqlite3.Connection
) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        order(database, "lamp", None)
    Relay(odradek_broker.bootstrap_servers, odradek_topic, database).send_all()
    assert odradek_broker.records(odradek_topic) == []
