"""The admin client for transactions: lists them, shows which are open and since when, and ends one."""

from odradek.base.ids import ProducerId
from odradek.client.admin_connection import AdminConnection, CoordinatorKey, Missing, patient
from odradek.client.core.admin.transactions import (
    FENCING_TIMEOUT_MS,
    TransactionDescription,
    TransactionListing,
    described_transaction,
    listed_transactions,
    listing_request,
)
from odradek.client.refusal import raise_for
from odradek.net.blocking_connection import BrokerConnection
from odradek.wire.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from odradek.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from odradek.wire.messages.list_transactions import ListTransactionsResponse


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
        request = listing_request(producer_id)

        def listed(connection: BrokerConnection) -> list[TransactionListing]:
            return listed_transactions(connection.ask(request, ListTransactionsResponse))

        return sorted(self._ask_brokers(listed, missing), key=lambda one: one.transactional_id)

    @patient
    def describe(self, transactional_id: str) -> TransactionDescription:
        """One transactional id. Raises ApiError if the coordinator does not know it."""
        request = DescribeTransactionsRequest(transactional_ids=[transactional_id])
        with self._coordinator(CoordinatorKey.TRANSACTION, transactional_id) as connection:
            return described_transaction(connection.ask(request, DescribeTransactionsResponse))

    @patient
    def terminate(self, transactional_id: str) -> None:
        """Fence the producer of a transactional id; the coordinator aborts its open transaction, if any.

        Returns when the transaction has ended in all its partitions. Raises ApiError for an unknown id.
        """
        self.describe(transactional_id)  # InitProducerId would create an unknown id.
        request = InitProducerIdRequest(transactional_id, FENCING_TIMEOUT_MS)
        with self._coordinator(CoordinatorKey.TRANSACTION, transactional_id) as connection:
            answer = connection.ask(request, InitProducerIdResponse)
        raise_for(answer.error_code, about=f"transactional id {transactional_id!r}")
