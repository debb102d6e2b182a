"""Transactions: all of their records or none, and the offsets with them."""

from collections.abc import Callable, Iterator

import pytest
from peers import BrokerProcess, KafkaTools

from compat import members, transactions
from compat.clients import Ability, Client, Record, Refused
from compat.committed import committed_records
from compat.members import Membership
from compat.transactions import TransactionalProducer
from odradek.base.error_codes import ErrorCode

pytestmark = [
    pytest.mark.needs_api("AddPartitionsToTxn", "EndTxn"),
    pytest.mark.parametrize("library", transactions.LIBRARIES),
]

PLAIN = [Record(value=b"plain")]
KEPT = [Record(value=f"kept {number}".encode()) for number in range(5)]
THROWN_AWAY = [Record(value=f"thrown away {number}".encode()) for number in range(5)]

Start = Callable[[str], TransactionalProducer]


@pytest.fixture
def start(library: str, broker: BrokerProcess, all_clients: dict[str, Client]) -> Iterator[Start]:
    """Make transactional producers, `start("transactional id")`, of the library under test."""
    if library != "odradek" and library not in all_clients:
        pytest.skip(f"{library} cannot run here")
    started: list[TransactionalProducer] = []

    def start(transactional_id: str) -> TransactionalProducer:
        started.append(transactions.start(library, all_clients, broker.bootstrap, transactional_id))
        return started[-1]

    yield start
    for producer in started:
        producer.close()


@pytest.fixture
def plain(all_clients: dict[str, Client]) -> Client:
    """A client without transactions."""
    return all_clients["confluent-kafka"]


def values(records: list[Record]) -> list[bytes | None]:
    return [record.value for record in records]


@pytest.mark.essential
@pytest.mark.needs(Ability.TRANSACTIONS)
def test_a_committed_transaction_is_read_by_every_client(
    start: Start, readers: list[Client], topic: str, fresh_name: Callable[[], str]
) -> None:
    producer = start(fresh_name())
    for half in (KEPT[:3], KEPT[3:]):
        producer.begin()
        producer.send(topic, half)
        producer.commit()
    for reader in readers:
        for committed_only in (True, False):
            read = reader.read(topic, len(KEPT), committed_only=committed_only)
            assert values(read) == values(KEPT), reader.name
            # A marker stands behind each transaction, and takes an offset.
            assert [record.offset for record in read] == [0, 1, 2, 4, 5], reader.name


@pytest.mark.needs(Ability.TRANSACTIONS)
def test_an_aborted_transaction_is_left_out_by_every_client_that_asks(
    start: Start, readers: list[Client], plain: Client, topic: str, fresh_name: Callable[[], str]
) -> None:
    producer = start(fresh_name())
    producer.begin()
    producer.send(topic, THROWN_AWAY)
    producer.abort()
    producer.begin()
    producer.send(topic, KEPT)
    producer.commit()
    plain.write(topic, PLAIN)
    for reader in readers:
        committed = reader.read(topic, len(KEPT + PLAIN), committed_only=True)
        assert values(committed) == values(KEPT + PLAIN), reader.name
        everything = reader.read(topic, len(THROWN_AWAY + KEPT + PLAIN))
        assert values(everything) == values(THROWN_AWAY + KEPT + PLAIN), reader.name


def test_an_open_transaction_holds_back_what_stands_behind_it(
    start: Start, plain: Client, topic: str, broker: BrokerProcess, fresh_name: Callable[[], str]
) -> None:
    plain.write(topic, PLAIN)
    producer = start(fresh_name())
    producer.begin()
    producer.send(topic, KEPT)
    plain.write(topic, PLAIN)
    assert values(plain.read(topic, len(PLAIN + KEPT + PLAIN))) == values(PLAIN + KEPT + PLAIN)
    assert committed_records(broker.bootstrap, topic) == [(None, b"plain")]
    producer.commit()
    read = plain.read(topic, len(PLAIN + KEPT + PLAIN), committed_only=True)
    assert values(read) == values(PLAIN + KEPT + PLAIN)


def test_several_partitions_are_committed_together(
    start: Start, plain: Client, new_topic: Callable[..., str], fresh_name: Callable[[], str]
) -> None:
    topics = [new_topic(partitions=2), new_topic(partitions=2)]
    producer = start(fresh_name())
    producer.begin()
    for topic in topics:
        for partition in (0, 1):
            producer.send(topic, [Record(value=b"v", partition=partition)])
    producer.commit()
    for topic in topics:
        for partition in (0, 1):
            read = plain.read(topic, 1, partition=partition, committed_only=True)
            assert values(read) == [b"v"]
            assert plain.offset_range(topic, partition) == (0, 2)


def test_a_newer_producer_of_the_same_id_aborts_and_fences_the_older(
    start: Start, plain: Client, topic: str, fresh_name: Callable[[], str]
) -> None:
    transactional_id = fresh_name()
    older = start(transactional_id)
    older.begin()
    older.send(topic, THROWN_AWAY)
    newer = start(transactional_id)
    newer.begin()
    newer.send(topic, KEPT)
    newer.commit()
    with pytest.raises(Refused) as refused:
        older.commit()
    assert refused.value.error in (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH)
    assert values(plain.read(topic, len(KEPT), committed_only=True)) == values(KEPT)


def test_what_was_consumed_and_what_was_made_of_it_are_committed_together(
    library: str,
    start: Start,
    broker: BrokerProcess,
    all_clients: dict[str, Client],
    plain: Client,
    new_topic: Callable[..., str],
    fresh_name: Callable[[], str],
) -> None:
    source, sink = new_topic(), new_topic()
    membership = Membership(fresh_name(), source)
    plain.write(source, KEPT)
    producer = start(fresh_name())
    # The first try is aborted, so its offsets are not committed and the second reads the same again.
    for end in (producer.abort, producer.commit):
        consumer = members.join(library, all_clients, broker.bootstrap, membership)
        read = consumer.read(len(KEPT))
        assert values(read) == values(KEPT)
        producer.begin()
        producer.send(sink, read)
        producer.send_offsets(consumer)
        end()
        consumer.leave()
    plain.write(source, PLAIN)
    consumer = members.join(library, all_clients, broker.bootstrap, membership)
    assert values(consumer.read(len(PLAIN))) == values(PLAIN)
    consumer.leave()
    assert values(plain.read(sink, len(KEPT), committed_only=True)) == values(KEPT)


def test_the_transactions_tool_lists_and_describes(
    start: Start, topic: str, tools: KafkaTools, fresh_name: Callable[[], str]
) -> None:
    transactional_id = fresh_name()
    producer = start(transactional_id)
    producer.begin()
    producer.send(topic, KEPT)
    listed = tools.on_broker("transactions", "list").splitlines()
    (row,) = (line.split() for line in listed if line.startswith(transactional_id))
    assert row[3] == "Ongoing"
    described = tools.on_broker("transactions", "describe", "--transactional-id", transactional_id)
    assert f"{topic}-0" in described
    producers = tools.on_broker("transactions", "describe-producers", "--topic", topic, "--partition", "0")
    assert row[2] in producers.split(), producers
    producer.commit()
    described = tools.on_broker("transactions", "describe", "--transactional-id", transactional_id)
    assert "CompleteCommit" in described
