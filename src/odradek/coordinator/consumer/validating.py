"""The checks of every heartbeat; refusals are INVALID_REQUEST or UNSUPPORTED_ASSIGNOR."""

from collections.abc import Sequence
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.coordinator.consumer.member import AWAY_EPOCH, JOINING_EPOCH
from odradek.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

FIRST_WITH_MEMBER_ID: Final = 1
"""From this version on clients bring their own member ids (KIP-1082)."""


def validate(request: ConsumerGroupHeartbeatRequest, version: int, assignors: Sequence[str]) -> None:
    """Raises ApiError."""
    _refuse_if(not request.group_id, "a heartbeat names a group")
    if version >= FIRST_WITH_MEMBER_ID or request.member_epoch != JOINING_EPOCH:
        _refuse_if(not request.member_id, "a heartbeat names its member; it has an empty id")
    _refuse_if(request.instance_id == "", "an instance id has at least one character")
    _refuse_if(request.rack_id == "", "a rack has at least one character")
    epoch = request.member_epoch
    if epoch == JOINING_EPOCH:
        _validate_first(request)
    elif epoch == AWAY_EPOCH:
        _refuse_if(
            request.instance_id is None,
            "only static members, with an instance id, leave for a while (epoch -2)",
        )
    _refuse_if(epoch < AWAY_EPOCH, "a member epoch is -2 or more")
    wanted = request.server_assignor
    if wanted is not None and wanted not in assignors:
        supported = ", ".join(assignors)
        raise ApiError(
            ErrorCode.UNSUPPORTED_ASSIGNOR,
            f"there is no assignor {wanted}; this broker has: {supported}",
        )


def _validate_first(request: ConsumerGroupHeartbeatRequest) -> None:
    _refuse_if(request.rebalance_timeout_ms == -1, "a member that joins must send its rebalance timeout")
    _refuse_if(
        request.topic_partitions is None or bool(request.topic_partitions),
        "a member that joins must send an empty list of partitions: it owns none yet",
    )
    _refuse_if(
        request.subscribed_topic_names is None and request.subscribed_topic_regex is None,
        "a member that joins must subscribe to topic names or to a regular expression",
    )


def _refuse_if(condition: bool, words: str) -> None:
    if condition:
        raise ApiError(ErrorCode.INVALID_REQUEST, words)
