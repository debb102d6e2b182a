"""AlterConfigs: replace all overrides of resources at once; superseded by IncrementalAlterConfigs."""

from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.metadata.controller.requests import AlterConfigs, Answer, ConfigReplacement
from odradek.server.edge.context import RequestContext, Respond
from odradek.server.edge.serving import Serves
from odradek.server.handlers.altered_configs import log_altered, outcomes, refusals
from odradek.server.node.core import BrokerCore
from odradek.wire.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)

SERVES: Final = Serves(33, 0, 2, kips={0: 133, 2: 482}, by_controller=True)


def handle(core: BrokerCore, context: RequestContext, request: AlterConfigsRequest, respond: Respond) -> None:
    """Let the controller decide; each resource has an answer of its own."""
    replacements = tuple(
        ConfigReplacement(
            resource.resource_type,
            resource.resource_name,
            tuple((config.name, config.value) for config in resource.configs),
        )
        for resource in request.resources
    )

    def decided(answer: Answer) -> None:
        if not request.validate_only:
            log_altered(core.alterations, context, replacements, answer)
        respond(
            AlterConfigsResponse(responses=outcomes(answer, request.resources, AlterConfigsResourceResponse))
        )

    core.decide(context, AlterConfigs(replacements, request.validate_only, core.asked_of(context)), decided)


def refuse(request: AlterConfigsRequest, code: ErrorCode, message: str | None = None) -> AlterConfigsResponse:
    """The same error for every resource."""
    rows = refusals(code, message, request.resources, AlterConfigsResourceResponse)
    return AlterConfigsResponse(responses=rows)
