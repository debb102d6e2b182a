"""IncrementalAlterConfigs: set or delete single settings, append to or subtract from them (KIP-339)."""

from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.metadata.controller.requests import AlterConfigs, Answer, ConfigAmendment
from odradek.server.edge.context import RequestContext, Respond
from odradek.server.edge.serving import Serves
from odradek.server.handlers.altered_configs import log_altered, outcomes, refusals
from odradek.server.node.core import BrokerCore
from odradek.wire.messages.incremental_alter_configs import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

SERVES: Final = Serves(44, 0, 1, kips={0: 339, 1: 482}, by_controller=True)


def handle(
    core: BrokerCore, context: RequestContext, request: IncrementalAlterConfigsRequest, respond: Respond
) -> None:
    """Let the controller decide; each resource has an answer of its own."""
    amendments = tuple(
        ConfigAmendment(
            resource.resource_type,
            resource.resource_name,
            tuple((config.name, config.config_operation, config.value) for config in resource.configs),
        )
        for resource in request.resources
    )

    def decided(answer: Answer) -> None:
        if not request.validate_only:
            log_altered(core.alterations, context, amendments, answer)
        respond(
            IncrementalAlterConfigsResponse(
                responses=outcomes(answer, request.resources, AlterConfigsResourceResponse)
            )
        )

    core.decide(context, AlterConfigs(amendments, request.validate_only, core.asked_of(context)), decided)


def refuse(
    request: IncrementalAlterConfigsRequest, code: ErrorCode, message: str | None = None
) -> IncrementalAlterConfigsResponse:
    """The same error for every resource."""
    rows = refusals(code, message, request.resources, AlterConfigsResourceResponse)
    return IncrementalAlterConfigsResponse(responses=rows)
