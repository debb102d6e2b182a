"""JoinGroup: become a member of a group, or join again for its next generation."""

from typing import Final

from odradek.coordinator.classic import Caller
from odradek.server.edge.context import RequestContext, Respond
from odradek.server.edge.serving import Serves
from odradek.server.node.core import BrokerCore
from odradek.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse

SERVES: Final = Serves(11, 0, 9, kips={4: 394, 5: 345, 6: 482, 7: 559, 8: 800, 9: 814})

_FIRST_WITH_REQUIRED_ID: Final = 4
_FIRST_WITHOUT_PROTOCOL: Final = 7
"""In earlier versions, an error has an empty protocol name."""
_FIRST_WITH_SKIPPED_ASSIGNMENT: Final = 9


def handle(core: BrokerCore, context: RequestContext, request: JoinGroupRequest, respond: Respond) -> None:
    """Answer when the group's join phase ends."""
    caller = Caller(
        context.client_id or "",
        # Java's form of an address without a host name, which Kafka's tools expect.
        f"/{context.client.peer_host}",
        takes_member_id=context.api_version >= _FIRST_WITH_REQUIRED_ID,
        can_skip_assignment=context.api_version >= _FIRST_WITH_SKIPPED_ASSIGNMENT,
    )

    def joined(response: JoinGroupResponse) -> None:
        if response.error_code and context.api_version >= _FIRST_WITHOUT_PROTOCOL:
            response.protocol_name = None
        respond(response)

    core.groups.coordinator.join_group(request, caller, joined)
