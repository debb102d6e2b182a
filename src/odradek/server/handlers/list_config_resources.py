"""ListConfigResources: what has settings here (KIP-1142); version 0 lists client metrics: none."""

from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.metadata.controller.requests import ResourceType
from odradek.server.edge.context import RequestContext, Respond
from odradek.server.edge.serving import Serves
from odradek.server.node.core import BrokerCore
from odradek.wire.messages.list_config_resources import (
    ConfigResource,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)

SERVES: Final = Serves(74, 0, 1, kips={0: 714, 1: 1142})

_FIRST_WITH_TYPES: Final = 1


def handle(
    core: BrokerCore, context: RequestContext, request: ListConfigResourcesRequest, respond: Respond
) -> None:
    """The resources of the types asked for, or of all types."""
    if context.api_version < _FIRST_WITH_TYPES:
        respond(ListConfigResourcesResponse())
        return
    types = request.resource_types or [int(known) for known in ResourceType]
    if any(asked not in set(ResourceType) for asked in types):
        respond(ListConfigResourcesResponse(error_code=ErrorCode.UNSUPPORTED_VERSION))
        return
    brokers = [str(broker_id) for broker_id in core.image.brokers]
    names: dict[int, list[str]] = {
        ResourceType.TOPIC: [topic.name for topic in core.image.live_topics()],
        ResourceType.BROKER: brokers,
        ResourceType.BROKER_LOGGER: brokers,
        ResourceType.GROUP: list(core.image.group_configs),
    }
    respond(
        ListConfigResourcesResponse(
            config_resources=[
                ConfigResource(name, resource_type)
                for resource_type in dict.fromkeys(types)
                for name in names.get(resource_type, ())
            ]
        )
    )
