"""Odradek's own producer with transactions."""

import contextlib
from collections.abc import Iterator, Sequence

from compat.clients.model import Record, Refused
from compat.members import Member
from compat.members.odradek import OdradekMember
from compat.transactions.model import TransactionalProducer
from odradek import ApiError, Producer, TopicPartition


class OdradekProducer(TransactionalProducer):
    """`odradek.Producer` with a transactional id."""

    def __init__(self, bootstrap: str, transactional_id: str) -> None:
        self._producer = Producer(bootstrap, transactional_id=transactional_id)
        with _refusals():
            self._producer.init_transactions()

    def begin(self) -> None:
        """Begin a transaction."""
        with _refusals():
            self._producer.begin_transaction()

    def send(self, topic: str, records: Sequence[Record]) -> None:
        """Send, and wait for each delivery."""
        with _refusals():
            sent = [
                self._producer.send(topic, record.value, key=record.key, partition=record.partition)
                for record in records
            ]
            for delivery in sent:
                delivery.result()

    def send_offsets(self, member: Member) -> None:
        """Send the consumer's positions."""
        assert isinstance(member, OdradekMember)
        read = [TopicPartition(member.membership.topic, number) for number in member.assignment()]
        with _refusals():
            positions = {one: member.consumer.position(one) for one in read}
            self._producer.send_offsets_to_transaction(positions, member.consumer.group_metadata())

    def commit(self) -> None:
        """Commit the transaction."""
        with _refusals():
            self._producer.commit_transaction()

    def abort(self) -> None:
        """Abort the transaction."""
        with _refusals():
            self._producer.abort_transaction()

    def close(self) -> None:
        """Close the producer, which aborts what is open."""
        self._producer.close(0)


@contextlib.contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except ApiError as error:
        raise Refused(error.code) from error
