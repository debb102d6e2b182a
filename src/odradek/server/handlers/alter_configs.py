"""AlterConfigs: replace all overrides of resources at once; superseded by IncrementalAlterConfigs."""

from operator import attrgetter
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import ITEMS_PER_STEP, Pace, Steps, begun, exhaust, listed
from odradek.metadata.controller.requests import AlterConfigs, Answer, ConfigReplacement
from odradek.server.edge.context import RequestContext, Respond, Response
from odradek.server.edge.serving import Serves
from odradek.server.handlers.altered_configs import log_altered, outcomes, refusals
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
    return begun(_submit(core, context, request, respond))


def _submit(
    core: BrokerCore, context: RequestContext, request: AlterConfigsRequest, respond: Respond
) -> Steps[None]:
    replacements: list[ConfigReplacement] = []
    pace = Pace()
    for resource in request.resources:
        configs = yield from listed(map(_ENTRY, resource.configs))
        replacements.append(ConfigReplacement(resource.resource_type, resource.resource_name, tuple(configs)))
        if pace.is_over():
            yield

    def in_steps(answer: Answer) -> Steps[Response]:
        if not request.validate_only:
            yield from log_altered(core.alterations, context, replacements, answer)
        rows = yield from outcomes(answer, request.resources, AlterConfigsResourceResponse)
        return AlterConfigsResponse(responses=rows)

    def decided(answer: Answer) -> None:
        steps = in_steps(answer)
        respond(steps if len(replacements) > ITEMS_PER_STEP else exhaust(steps))

    asked = AlterConfigs(tuple(replacements), request.validate_only, core.asked_of(context))
    core.decide(context, asked, decided)


def refuse(request: AlterConfigsRequest, code: ErrorCode, message: str | None = None) -> AlterConfigsResponse:
    """The same error for every resource."""
    rows = refusals(code, message, request.resources, AlterConfigsResourceResponse)
    return AlterConfigsResponse(responses=rows)
