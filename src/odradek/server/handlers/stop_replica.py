"""StopReplica: the controller takes replicas away from this broker (R5d).

Served to brokers alone. A client is refused with CLUSTER_AUTHORIZATION_FAILED (see `registry`).
"""

from typing import Final

from odradek.metadata.orders_on_wire import to_response
from odradek.server.edge.context import RequestContext, Respond
from odradek.server.edge.serving import Serves
from odradek.server.node.core import BrokerCore
from odradek.wire.messages.stop_replica import StopReplicaRequest

SERVES: Final = Serves(5, 4, 4, kips={4: 866})


def handle(core: BrokerCore, context: RequestContext, request: StopReplicaRequest, respond: Respond) -> None:
    """Obey after all earlier orders, then answer."""
    core.commanded.obey(request, lambda outcome: respond(to_response(request, outcome)))
