"""ListConfigResources: the resources with settings (KIP-1142); version 0 lists client metrics: none."""

from collections.abc import Iterable
from functools import partial
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import Steps, stepwise
from odradek.metadata.resources import ResourceType
from odradek.server.edge.context import RequestContext, Respond, Response
from odradek.server.edge.serving import Serves
from odradek.server.node.core import BrokerCore
from odradek.wire.messages.list_config_resources import (
    ConfigResource,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)

SERVES: Final = Serves(74, 0, 1, kips={0: 714, 1: 1142})

NAMES_PER_STEP: Final = 128
_FIRST_WITH_TYPES: Final = 1


def handle(
    core: BrokerCore, context: RequestContext, request: ListConfigResourcesRequest, respond: Respond
) -> None:
    """List the resources of the requested types, or of all types."""
    if context.api_version < _FIRST_WITH_TYPES:
        respond(ListConfigResourcesResponse())
        return
    types = dict.fromkeys(request.resource_types or [int(known) for known in ResourceType])
    if not types.keys() <= set(ResourceType):
        respond(ListConfigResourcesResponse(error_code=ErrorCode.UNSUPPORTED_VERSION))
    else:
        respond(_in_steps(core, types))


def _in_steps(core: BrokerCore, types: Iterable[int]) -> Steps[Response]:
    resources: list[ConfigResource] = []
    for resource_type in types:
        names = _names(core, resource_type)
        resources += yield from stepwise(
            names, partial(ConfigResource, resource_type=resource_type), NAMES_PER_STEP
        )
    return ListConfigResourcesResponse(config_resources=resources)


def _names(core: BrokerCore, resource_type: int) -> list[str]:
    """The names of that type's resources at this moment."""
    match resource_type:
        case ResourceType.TOPIC:
            return core.image.live_names()
        case ResourceType.BROKER | ResourceType.BROKER_LOGGER:
            return [str(broker_id) for broker_id in core.image.brokers]
        case ResourceType.GROUP:
            return list(core.image.group_configs)
    return []
