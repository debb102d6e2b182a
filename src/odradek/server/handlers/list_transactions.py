"""ListTransactions: the transactional ids that this broker coordinates (KIP-664, KIP-994, KIP-1152)."""

from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import Steps, stepwise
from odradek.coordinator.transactions.inspection import TransactionFilter, list_transactions
from odradek.coordinator.transactions.state import STATES_BY_TITLE
from odradek.coordinator.transactions.transaction import Transaction
from odradek.server.edge.context import RequestContext, Respond, Response
from odradek.server.edge.serving import Serves
from odradek.server.node.core import BrokerCore
from odradek.wire.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
    TransactionState,
)

SERVES: Final = Serves(66, 0, 2, kips={0: 664, 1: 994, 2: 1152})


def handle(
    core: BrokerCore, context: RequestContext, request: ListTransactionsRequest, respond: Respond
) -> None:
    """List the ids that pass every filter; a pattern has to match the whole id."""
    pattern = request.transactional_id_pattern
    known = [STATES_BY_TITLE[title] for title in request.state_filters if title in STATES_BY_TITLE]
    wanted = TransactionFilter(
        states=known if request.state_filters else None,
        producer_ids=frozenset(request.producer_id_filters) or None,
        open_for_more_than_ms=request.duration_filter if request.duration_filter >= 0 else None,
    )
    unknown = [title for title in request.state_filters if title not in STATES_BY_TITLE]

    def in_steps() -> Steps[Response]:
        listing = list_transactions(core.transactions.coordinator.store, wanted, core.clock.wall_ms())
        found = yield from listing
        if isinstance(found, ErrorCode):
            return ListTransactionsResponse(error_code=found, unknown_state_filters=unknown)
        if pattern:
            from odradek.coordinator.consumer import regular_expressions  # loads RE2

            ids = [one.transactional_id for one in found]
            try:
                matching = yield from regular_expressions.matching_in_steps(pattern, ids)
            except regular_expressions.InvalidRegularExpression:
                return ListTransactionsResponse(error_code=ErrorCode.INVALID_REGULAR_EXPRESSION)
            found = [one for one in found if one.transactional_id in matching]
        lines = yield from stepwise(found, _line)
        return ListTransactionsResponse(unknown_state_filters=unknown, transaction_states=lines)

    respond(in_steps())


def _line(one: Transaction) -> TransactionState:
    return TransactionState(one.transactional_id, one.current.producer_id, one.current.state.title)
