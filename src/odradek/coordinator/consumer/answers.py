"""The answers to ConsumerGroupHeartbeat, and the errors sent instead when a record may be lost."""

from collections.abc import Callable
from typing import TypeAlias

from odradek.base.error_codes import ErrorCode
from odradek.coordinator.runtime.answers import HeldAnswer
from odradek.coordinator.runtime.log_errors import CONSUMER_ERRORS, client_error
from odradek.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatResponse

RespondToHeartbeat: TypeAlias = Callable[[ConsumerGroupHeartbeatResponse], None]


def heartbeat_answer(
    respond: RespondToHeartbeat, response: ConsumerGroupHeartbeatResponse
) -> HeldAnswer[ConsumerGroupHeartbeatResponse]:
    """The answer to a ConsumerGroupHeartbeat."""
    return HeldAnswer(respond, response, _refused)


def refused_heartbeat(code: ErrorCode, words: str = "") -> ConsumerGroupHeartbeatResponse:
    """The answer to a heartbeat that is refused."""
    return ConsumerGroupHeartbeatResponse(error_code=code, error_message=words or None)


def _refused(error: ErrorCode) -> ConsumerGroupHeartbeatResponse:
    return refused_heartbeat(client_error(CONSUMER_ERRORS, error))
