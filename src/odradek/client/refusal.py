"""Turns a broker's error codes into one exception with a readable message."""

from odradek.base.error_codes import ErrorCode, known_code
from odradek.base.errors import ApiError


def may_pass(code: ErrorCode) -> bool:
    """Whether what a broker says of a topic or partition may pass, as Kafka's clients take it."""
    return code.is_retriable or code is ErrorCode.UNKNOWN_SERVER_ERROR


def raise_for(error_code: int, message: str | None = None, *, about: str = "") -> None:
    """Raise ApiError unless the code is NONE.

    The message is the broker's where it sent one, else the code's name: "group g: not coordinator".
    """
    if error_code == ErrorCode.NONE:
        return
    words = words_of(error_code, message)
    raise ApiError(known_code(error_code), f"{about}: {words}" if about else words)


def words_of(error_code: int, message: str | None = None) -> str:
    """The broker's message, or else the code's name."""
    code = known_code(error_code)
    if code is ErrorCode.UNKNOWN_SERVER_ERROR and error_code != code and not message:
        return f"unknown error code {error_code}"
    if code is ErrorCode.REQUEST_TIMED_OUT and not message:
        return "not done in time; it may be done later"
    return message or name_of(code)


def name_of(code: ErrorCode) -> str:
    """The code's name as words: "not coordinator"."""
    return code.name.lower().replace("_", " ")
