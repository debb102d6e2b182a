"""The answers to members of classic groups, and the errors sent instead when a record may be lost."""

from collections.abc import Callable

from odradek.base.error_codes import ErrorCode
from odradek.coordinator.classic.member import RespondToJoin, RespondToSync
from odradek.coordinator.runtime.answers import HeldAnswer
from odradek.coordinator.runtime.log_errors import GROUP_ERRORS, client_error
from odradek.wire.messages.join_group import JoinGroupResponse
from odradek.wire.messages.sync_group import SyncGroupResponse


def join_answer(respond: RespondToJoin, response: JoinGroupResponse) -> HeldAnswer[JoinGroupResponse]:
    """The answer to a JoinGroup."""
    member_id = response.member_id
    return HeldAnswer(respond, response, lambda error: refused_join(member_id, _client_error(error)))


def sync_answer(respond: RespondToSync, response: SyncGroupResponse) -> HeldAnswer[SyncGroupResponse]:
    """The answer to a SyncGroup."""
    return HeldAnswer(respond, response, lambda error: SyncGroupResponse(error_code=_client_error(error)))


def code_answer(respond: Callable[[ErrorCode], None], code: ErrorCode) -> HeldAnswer[ErrorCode]:
    """The answer to a Heartbeat."""
    return HeldAnswer(respond, code, _client_error)


def refused_join(member_id: str, code: ErrorCode) -> JoinGroupResponse:
    """Why a member may not join."""
    return JoinGroupResponse(error_code=code, member_id=member_id)


def _client_error(error: ErrorCode) -> ErrorCode:
    return client_error(GROUP_ERRORS, error)
