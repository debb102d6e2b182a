"""LeaderAndIsr: the controller says which partitions this broker leads and which it follows (R5a-R5c).

Served to brokers alone. A client is refused with CLUSTER_AUTHORIZATION_FAILED (see `registry`).
"""

from typing import Final

from odradek.metadata.orders_on_wire import to_response
from odradek.server.edge.context import RequestContext, Respond
from odradek.server.edge.serving import Serves
from odradek.server.node.core import BrokerCore
from odradek.wire.messages.leader_and_isr import LeaderAndIsrRequest

SERVES: Final = Serves(4, 7, 7, kips={7: 866})


def handle(core: BrokerCore, context: RequestContext, request: LeaderAndIsrRequest, respond: Respond) -> None:
    """Obey after all earlier orders, then answer."""
    core.commanded.obey(request, lambda outcome: respond(to_response(request, outcome)))
