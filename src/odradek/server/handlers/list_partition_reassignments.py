"""ListPartitionReassignments: the partitions whose replicas are being moved (KIP-455)."""

from typing import Final

from odradek.server.edge.context import RequestContext, Respond
from odradek.server.edge.serving import Serves
from odradek.server.node.core import BrokerCore
from odradek.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)

SERVES: Final = Serves(46, 0, 0, kips={0: 455})


def handle(
    core: BrokerCore, context: RequestContext, request: ListPartitionReassignmentsRequest, respond: Respond
) -> None:
    """None: replicas stay where they were made."""
    respond(ListPartitionReassignmentsResponse())
