"""IncrementalAlterConfigs: set or delete single settings, append to or subtract from them (KIP-339)."""

from operator import attrgetter
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import Steps, begun
from odradek.metadata.controller.requests import ConfigAmendment
from odradek.server.edge.context import RequestContext, Respond, Response
from odradek.server.edge.serving import Serves
from odradek.server.handlers.altered_configs import refusals, submit
from odradek.server.node.core import BrokerCore
from odradek.wire.messages.incremental_alter_configs import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

SERVES: Final = Serves(44, 0, 1, kips={0: 339, 1: 482}, by_controller=True)


_ENTRY: Final = attrgetter("name", "config_operation", "value")


def handle(
    core: BrokerCore, context: RequestContext, request: IncrementalAlterConfigsRequest, respond: Respond
) -> Steps[None] | None:
    """Let the controller decide; each resource has an answer of its own."""
    return begun(
        submit(
            core,
            context,
            request,
            respond,
            change=ConfigAmendment,
            entry=_ENTRY,
            row=AlterConfigsResourceResponse,
            response=lambda rows: IncrementalAlterConfigsResponse(responses=rows),
        )
    )


def refuse(
    request: IncrementalAlterConfigsRequest, code: ErrorCode, message: str | None = None
) -> Steps[Response]:
    """The same error for every resource."""
    rows = yield from refusals(code, message, request.resources, AlterConfigsResourceResponse)
    return IncrementalAlterConfigsResponse(responses=rows)
