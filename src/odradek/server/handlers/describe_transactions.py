"""DescribeTransactions: transactional ids, with the partitions of their open transactions (KIP-664)."""

from functools import partial
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import COUNTED_PER_STEP, Steps, stepwise
from odradek.coordinator.transactions.inspection import find_transaction
from odradek.server.edge.context import RequestContext, Respond, Response
from odradek.server.edge.serving import Serves
from odradek.server.node.core import BrokerCore
from odradek.wire.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TopicData,
    TransactionState,
)

SERVES: Final = Serves(65, 0, 0, kips={0: 664})


def handle(
    core: BrokerCore, context: RequestContext, request: DescribeTransactionsRequest, respond: Respond
) -> None:
    """Describe each id once, however often it is named, or answer its error."""

    def in_steps() -> Steps[Response]:
        named = dict.fromkeys(request.transactional_ids)
        states = yield from stepwise(named, partial(_describe, core), per_step=1)
        return DescribeTransactionsResponse(transaction_states=states)

    respond(in_steps())


def refuse(request: DescribeTransactionsRequest, code: ErrorCode) -> Steps[Response]:
    """The same error for every id."""
    rows = yield from stepwise(
        request.transactional_ids,
        lambda name: TransactionState(error_code=code, transactional_id=name),
        COUNTED_PER_STEP,
    )
    return DescribeTransactionsResponse(transaction_states=rows)


def _describe(core: BrokerCore, transactional_id: str) -> TransactionState:
    found = find_transaction(core.transactions.coordinator.store, transactional_id)
    if isinstance(found, ErrorCode):
        return TransactionState(error_code=found, transactional_id=transactional_id)
    record = found.current
    topics: dict[str, TopicData] = {}
    for topic, partition in sorted(record.partitions):
        topics.setdefault(topic, TopicData(topic)).partitions.append(partition)
    return TransactionState(
        ErrorCode.NONE,
        transactional_id,
        record.state.title,
        record.timeout_ms,
        record.started_ms,
        record.producer_id,
        record.producer_epoch,
        list(topics.values()),
    )
