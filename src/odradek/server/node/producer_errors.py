"""The error of a fenced producer, by the version of its request (KIP-588)."""

from odradek.base.error_codes import ErrorCode


def fencing_as_known(error: ErrorCode, version: int, first_with_fenced: int) -> ErrorCode:
    """Returns the error; PRODUCER_FENCED becomes INVALID_PRODUCER_EPOCH in versions that do not have it."""
    if error is ErrorCode.PRODUCER_FENCED and version < first_with_fenced:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return error
