"""DescribeClientQuotas: always empty, because quotas cannot be set (KIP-546)."""

from typing import Final

from odradek.server.edge.context import RequestContext, Respond
from odradek.server.edge.serving import Serves
from odradek.server.node.core import BrokerCore
from odradek.wire.messages.describe_client_quotas import (
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)

SERVES: Final = Serves(48, 0, 1, kips={0: 546, 1: 482})


def handle(
    core: BrokerCore, context: RequestContext, request: DescribeClientQuotasRequest, respond: Respond
) -> None:
    """No entries."""
    respond(DescribeClientQuotasResponse(error_message="", entries=[]))
