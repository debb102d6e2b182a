"""The errors that clients get when the coordinator could not write, mapped from the log's errors.

When a write was refused, or its outcome is unknown, clients look up the coordinator again and repeat the
request.
"""

from collections.abc import Mapping
from typing import Final

from odradek.base.error_codes import ErrorCode

_TRY_AGAIN: Final = ErrorCode.COORDINATOR_NOT_AVAILABLE

_FOR_ALL: Final[Mapping[ErrorCode, ErrorCode]] = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: _TRY_AGAIN,
    ErrorCode.NOT_ENOUGH_REPLICAS: _TRY_AGAIN,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: _TRY_AGAIN,
    ErrorCode.REQUEST_TIMED_OUT: _TRY_AGAIN,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
}
OFFSET_ERRORS: Final[Mapping[ErrorCode, ErrorCode]] = {
    **_FOR_ALL,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.INVALID_COMMIT_OFFSET_SIZE,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.INVALID_COMMIT_OFFSET_SIZE,
}
"""For requests that commit or delete offsets."""
GROUP_ERRORS: Final[Mapping[ErrorCode, ErrorCode]] = {
    **_FOR_ALL,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.REBALANCE_IN_PROGRESS,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
}
"""For members whose group could not be written."""

CONSUMER_ERRORS: Final[Mapping[ErrorCode, ErrorCode]] = {
    **_FOR_ALL,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
}
"""For members of the consumer protocol, and deletions, whose group could not be written."""


def client_error(errors: Mapping[ErrorCode, ErrorCode], error: ErrorCode) -> ErrorCode:
    """Returns the client's error code for the log's error."""
    return errors.get(error, error)
