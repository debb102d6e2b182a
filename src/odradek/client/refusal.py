"""Turns a broker's error codes into one exception with a readable message."""

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError


def raise_for(error_code: int, message: str | None = None, *, about: str = "") -> None:
    """Raise ApiError unless the code is NONE.

    The message is the broker's where it sent one, else the code's name: "group g: not coordinator".
    """
    if error_code == ErrorCode.NONE:
        return
    code = ErrorCode(error_code)
    words = message or code.name.lower().replace("_", " ")
    raise ApiError(code, f"{about}: {words}" if about else words)
