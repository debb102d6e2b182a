"""IncrementalAlterConfigs: set, delete, append to or subtract from single settings (KIP-339)."""

from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.metadata.controller.requests import (
    AlterConfigs,
    Answer,
    ConfigAmendment,
    Refused,
    ResourceOutcomes,
)
from odradek.server.context import RequestContext, Respond
from odradek.server.core import BrokerCore
from odradek.wire.messages.incremental_alter_configs import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

API_KEY: Final = 44


def handle(
    core: BrokerCore, context: RequestContext, request: IncrementalAlterConfigsRequest, respond: Respond
) -> None:
    """Let the controller decide; each resource has an answer of its own."""

    def decided(answer: Answer) -> None:
        if isinstance(answer, Refused):
            respond(refuse(request, answer.error, answer.message))
            return
        assert isinstance(answer, ResourceOutcomes), answer
        respond(
            IncrementalAlterConfigsResponse(
                responses=[
                    AlterConfigsResourceResponse(
                        outcome.error, outcome.message, outcome.resource_type, outcome.name
                    )
                    for outcome in answer.resources
                ]
            )
        )

    amendments = tuple(
        ConfigAmendment(
            resource.resource_type,
            resource.resource_name,
            tuple((config.name, config.config_operation, config.value) for config in resource.configs),
        )
        for resource in request.resources
    )
    core.controller.submit(AlterConfigs(amendments, request.validate_only, core.broker_id), decided)


def refuse(
    request: IncrementalAlterConfigsRequest, code: ErrorCode, message: str | None = None
) -> IncrementalAlterConfigsResponse:
    """The same error for every resource."""
    return IncrementalAlterConfigsResponse(
        responses=[
            AlterConfigsResourceResponse(code, message, resource.resource_type, resource.resource_name)
            for resource in request.resources
        ]
    )
