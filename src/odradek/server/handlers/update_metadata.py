"""UpdateMetadata: the controller sends this broker the live brokers and the state of partitions.

Served to brokers alone. A client is refused with CLUSTER_AUTHORIZATION_FAILED (see `registry`).
"""

from typing import Final

from odradek.metadata.orders_on_wire import to_response
from odradek.server.edge.context import RequestContext, Respond
from odradek.server.edge.serving import Serves
from odradek.server.node.core import BrokerCore
from odradek.wire.messages.update_metadata import UpdateMetadataRequest

SERVES: Final = Serves(6, 8, 8, kips={8: 866})


def handle(
    core: BrokerCore, context: RequestContext, request: UpdateMetadataRequest, respond: Respond
) -> None:
    """Obey after all earlier orders, then answer."""
    core.commanded.obey(request, lambda outcome: respond(to_response(request, outcome)))
