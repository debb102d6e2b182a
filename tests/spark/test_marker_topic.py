from collections.abc import Iterator

import pytest

from odradek.base.errors import ApiError
from odradek.spark.brokers import Brokers
from odradek.spark.marker_topic import FENCED, Notes, transactional_producer
from odradek.testing import Broker

pytestmark = [pytest.mark.spark, pytest.mark.integration]


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as running:
        yield running


def test_the_newest_note_of_a_key_is_found_among_many(broker: Broker) -> None:
    brokers = Brokers(broker.bootstrap_servers, "test")
    with transactional_producer(brokers, "notes", "writer") as producer:
        assert Notes(brokers, "notes", "a").newest() is None
        with producer.transaction():
            producer.send("notes", b"first", key=b"a")
            for number in range(700):  # more than are looked at in the first two steps
                producer.send("notes", b"%d" % number, key=b"b")
    with transactional_producer(brokers, "notes", "writer") as producer:
        follows = Notes(brokers, "notes", "a")
        assert follows.newest() == "first"
        assert Notes(brokers, "notes", "b").newest() == "699"
        assert Notes(brokers, "notes", "c").newest() is None
        with producer.transaction():
            producer.send("notes", b"second", key=b"a")
        producer.begin_transaction()
        producer.send("notes", b"aborted", key=b"a")
        producer.abort_transaction()
    transactional_producer(brokers, "notes", "writer").close()
    assert follows.newest() == Notes(brokers, "notes", "a").newest() == "second"


def test_a_producer_fences_the_one_before(broker: Broker) -> None:
    brokers = Brokers(broker.bootstrap_servers, "test")
    with transactional_producer(brokers, "fenced", "one") as older:
        older.begin_transaction()
        older.send("fenced", b"lost", key=b"a")
        older.flush()
        transactional_producer(brokers, "fenced", "one").close()
        assert Notes(brokers, "fenced", "a").newest() is None
        with pytest.raises(ApiError) as refused:
            older.commit_transaction()
    assert refused.value.code in FENCED
