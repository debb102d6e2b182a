"""The admin client for transactions: lists them, shows which are open and since when, and ends one."""

from dataclasses import dataclass

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.ids import ProducerId, TopicPartition
from odradek.client.admin_connection import AdminConnection, CoordinatorKey, Missing, patient
from odradek.client.refusal import raise_for
from odradek.net.blocking_connection import BrokerConnection
from odradek.wire.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from odradek.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from odradek.wire.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse

# The producer id that InitProducerId returns is not used: a transaction of it may end at once.
_FENCING_TIMEOUT_MS = 1


@dataclass(frozen=True, slots=True)
class TransactionListing:
    """One transactional id of a list."""

    transactional_id: str
    producer_id: int
    state: str


@dataclass(frozen=True, slots=True)
class TransactionDescription:
    """A transactional id: its producer, and the partitions of its open transaction."""

    transactional_id: str
    state: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    # When the open transaction began, None when there is none.
    started_ms: int | None
    partitions: list[TopicPartition]


class TransactionAdmin(AdminConnection):
    """Raises ApiError for refusals, ConnectionFailed when no broker answers."""

    @patient
    def list_transactions(
        self, producer_id: ProducerId | None = None, missing: Missing | None = None
    ) -> list[TransactionListing]:
        """The transactional ids of the cluster, by name, or those of one producer id.

        Each broker lists those that it coordinates. Those of a broker that does not answer are left out, and
        the broker is put into `missing`; without `missing` that raises ConnectionFailed.
        """
        request = ListTransactionsRequest(producer_id_filters=[] if producer_id is None else [producer_id])

        def listed(connection: BrokerConnection) -> list[TransactionListing]:
            answer = connection.ask(request, ListTransactionsResponse)
            raise_for(answer.error_code, about="listing transactional ids")
            return [
                TransactionListing(one.transactional_id, one.producer_id, one.transaction_state)
                for one in answer.transaction_states
            ]

        return sorted(self._ask_brokers(listed, missing), key=lambda one: one.transactional_id)

    @patient
    def describe(self, transactional_id: str) -> TransactionDescription:
        """One transactional id. Raises ApiError if the coordinator does not know it."""
        request = DescribeTransactionsRequest(transactional_ids=[transactional_id])
        with self._coordinator(CoordinatorKey.TRANSACTION, transactional_id) as connection:
            (found,) = connection.ask(request, DescribeTransactionsResponse).transaction_states
        if found.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
            raise ApiError(
                ErrorCode.TRANSACTIONAL_ID_NOT_FOUND, f"there is no transactional id {transactional_id}"
            )
        raise_for(found.error_code, about=f"transactional id {transactional_id!r}")
        started_ms = found.transaction_start_time_ms
        return TransactionDescription(
            transactional_id,
            found.transaction_state,
            found.producer_id,
            found.producer_epoch,
            found.transaction_timeout_ms,
            None if started_ms < 0 else started_ms,
            sorted(TopicPartition(one.topic, number) for one in found.topics for number in one.partitions),
        )

    @patient
    def terminate(self, transactional_id: str) -> None:
        """Fence the producer of a transactional id; the coordinator aborts its open transaction, if any.

        Returns when the transaction has ended in all its partitions. Raises ApiError for an unknown id.
        """
        self.describe(transactional_id)  # InitProducerId would create an unknown id.
        request = InitProducerIdRequest(transactional_id, _FENCING_TIMEOUT_MS)
        with self._coordinator(CoordinatorKey.TRANSACTION, transactional_id) as connection:
            answer = connection.ask(request, InitProducerIdResponse)
        raise_for(answer.error_code, about=f"transactional id {transactional_id!r}")
