"""FindCoordinator: which broker coordinates a group or a transactional id; several from version 4 on."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import COUNTED_PER_STEP, Steps, deliver, stepwise
from odradek.base.ids import NO_BROKER, BrokerId
from odradek.server.edge.context import RequestContext, Respond, Response
from odradek.server.edge.serving import Serves
from odradek.server.node.coordinators.internal_topic import InternalTopic
from odradek.server.node.core import BrokerCore
from odradek.wire.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

SERVES: Final = Serves(10, 0, 6, kips={1: 98, 3: 482, 4: 699, 5: 890, 6: 932})

_FIRST_WITH_SEVERAL: Final = 4
_NO_PORT: Final = -1


def handle(
    core: BrokerCore, context: RequestContext, request: FindCoordinatorRequest, respond: Respond
) -> Steps[None]:
    """Answer when every key has its coordinator or an error."""
    topic = core.coordinating_topics.get(request.key_type)
    keys = request.coordinator_keys if context.api_version >= _FIRST_WITH_SEVERAL else [request.key]

    def found(brokers: Sequence[BrokerId | ErrorCode]) -> None:
        respond(_in_steps(core, context, topic, list(zip(keys, brokers, strict=True))))

    return _find(topic, keys, found)


def _in_steps(
    core: BrokerCore,
    context: RequestContext,
    topic: InternalTopic | None,
    found: Sequence[tuple[str, BrokerId | ErrorCode]],
) -> Steps[Response]:
    coordinators = yield from stepwise(found, lambda one: _coordinator(core, context, topic, *one))
    return _response(context, coordinators)


def refuse(request: FindCoordinatorRequest, code: ErrorCode) -> Steps[Response]:
    """The same error for every key; up to version 3, which has one key, for the whole."""
    rows = yield from stepwise(
        request.coordinator_keys,
        lambda key: Coordinator(key, NO_BROKER, "", _NO_PORT, code),
        COUNTED_PER_STEP,
    )
    return FindCoordinatorResponse(error_code=code, node_id=NO_BROKER, port=_NO_PORT, coordinators=rows)


def _find(
    topic: InternalTopic | None,
    keys: Sequence[str],
    found: Callable[[Sequence[BrokerId | ErrorCode]], None],
) -> Steps[None]:
    """The coordinators of the keys, in their order."""
    if topic is None or not keys:
        found([ErrorCode.INVALID_REQUEST] * len(keys))
        return
    brokers: dict[str, BrokerId | ErrorCode] = {}
    wanted = dict.fromkeys(keys)

    def take(key: str, broker: BrokerId | ErrorCode) -> None:
        brokers[key] = broker
        if len(brokers) == len(wanted):
            found([brokers[key] for key in keys])

    def find(key: str) -> None:
        later = partial(take, key)
        deliver(topic.find(key, later), later)

    yield from stepwise(wanted, find)


def _coordinator(
    core: BrokerCore,
    context: RequestContext,
    topic: InternalTopic | None,
    key: str,
    found: BrokerId | ErrorCode,
) -> Coordinator:
    if isinstance(found, ErrorCode):
        return _refusal(key, found, topic)
    endpoint = core.endpoint(found, context.listener)
    if endpoint is None:
        return _refusal(key, ErrorCode.COORDINATOR_NOT_AVAILABLE, topic)
    return Coordinator(key, found, endpoint.host, endpoint.port, ErrorCode.NONE, None)


def _refusal(key: str, error: ErrorCode, topic: InternalTopic | None) -> Coordinator:
    """The message says more than Kafka's where this broker knows why there is no coordinator."""
    if error is ErrorCode.INVALID_REQUEST:
        message = "there is no coordinator for keys of this type"
    elif topic is not None and topic.refusal:
        message = f"{topic.name} cannot be made: {topic.refusal}"
    else:
        message = "The coordinator is not available."
    return Coordinator(key, NO_BROKER, "", _NO_PORT, error, message)


def _response(context: RequestContext, found: list[Coordinator]) -> FindCoordinatorResponse:
    if context.api_version >= _FIRST_WITH_SEVERAL:
        return FindCoordinatorResponse(coordinators=found)
    (only,) = found
    return FindCoordinatorResponse(
        error_code=only.error_code,
        error_message=only.error_message,
        node_id=only.node_id,
        host=only.host,
        port=only.port,
    )
