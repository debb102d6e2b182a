"""confluent-kafka with transactions: librdkafka's producer."""

import contextlib
from collections.abc import Iterator, Sequence

from confluent_kafka import KafkaError, KafkaException, Message, Producer
from peers.waiting import WAIT_S_MAX

from compat.clients.confluent import refusal_of
from compat.clients.model import Record, Refused
from compat.members import Member
from compat.members.confluent import ConfluentMember
from compat.transactions.model import TransactionalProducer
from odradek.base.error_codes import ErrorCode

# librdkafka's own name for a producer that a newer one replaced.
FENCED = "_FENCED"


class ConfluentProducer(TransactionalProducer):
    """Producer of confluent-kafka with a transactional id."""

    def __init__(self, bootstrap: str, transactional_id: str) -> None:
        self._producer = Producer(
            {"bootstrap.servers": bootstrap, "transactional.id": transactional_id, "linger.ms": 5}
        )
        with _refusals():
            self._producer.init_transactions(WAIT_S_MAX)

    def begin(self) -> None:
        """Begin a transaction."""
        with _refusals():
            self._producer.begin_transaction()

    def send(self, topic: str, records: Sequence[Record]) -> None:
        """Produce and flush."""
        errors: list[KafkaError] = []

        def delivered(error: KafkaError | None, _: Message) -> None:
            if error is not None:
                errors.append(error)

        for record in records:
            self._producer.produce(
                topic,
                value=record.value,
                key=record.key,
                partition=-1 if record.partition is None else record.partition,
                on_delivery=delivered,
            )
        left = self._producer.flush(WAIT_S_MAX)
        if errors:
            raise _refusal(errors[0])
        assert left == 0, f"{left} records were neither acknowledged nor refused"

    def send_offsets(self, member: Member) -> None:
        """Send the consumer's positions."""
        assert isinstance(member, ConfluentMember)
        positions = member.consumer.position(member.consumer.assignment())
        read = [each for each in positions if each.offset >= 0]
        with _refusals():
            group = member.consumer.consumer_group_metadata()
            self._producer.send_offsets_to_transaction(read, group, WAIT_S_MAX)

    def commit(self) -> None:
        """Commit the transaction."""
        with _refusals():
            self._producer.commit_transaction(WAIT_S_MAX)

    def abort(self) -> None:
        """Abort the transaction."""
        with _refusals():
            self._producer.abort_transaction(WAIT_S_MAX)

    def close(self) -> None:
        """Drop what is queued; the garbage collector ends librdkafka's threads."""
        self._producer.purge()


@contextlib.contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except KafkaException as exception:
        raise _refusal(exception.args[0]) from exception


def _refusal(error: KafkaError) -> Exception:
    return Refused(ErrorCode.PRODUCER_FENCED) if error.name() == FENCED else refusal_of(error)
