"""The error of a fenced producer, by the version of its request (KIP-588)."""

from odradek.base.error_codes import ErrorCode


def fencing_as_known(error: ErrorCode, version: int, first_with_fenced: int) -> ErrorCode:
    """The error, with PRODUCER_FENCED as INVALID_PRODUCER_EPOCH for versions before the first that has it."""
    if error is ErrorCode.PRODUCER_FENCED and version < first_with_fenced:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return error
