"""AlterConfigs: replace all overrides of resources at once; superseded by IncrementalAlterConfigs."""

from operator import attrgetter
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import Steps, begun
from odradek.metadata.controller.requests import ConfigReplacement
from odradek.server.edge.context import RequestContext, Respond, Response
from odradek.server.edge.serving import Serves
from odradek.server.handlers.altered_configs import refusals, submit
from odradek.server.node.core import BrokerCore
from odradek.wire.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)

SERVES: Final = Serves(33, 0, 2, kips={0: 133, 2: 482}, by_controller=True)


_ENTRY: Final = attrgetter("name", "value")


def handle(
    core: BrokerCore, context: RequestContext, request: AlterConfigsRequest, respond: Respond
) -> Steps[None] | None:
    """Let the controller decide; each resource has an answer of its own."""
    return begun(
        submit(
            core,
            context,
            request,
            respond,
            change=ConfigReplacement,
            entry=_ENTRY,
            row=AlterConfigsResourceResponse,
            response=lambda rows: AlterConfigsResponse(responses=rows),
        )
    )


def refuse(request: AlterConfigsRequest, code: ErrorCode, message: str | None = None) -> Steps[Response]:
    """The same error for every resource."""
    rows = yield from refusals(code, message, request.resources, AlterConfigsResourceResponse)
    return AlterConfigsResponse(responses=rows)
