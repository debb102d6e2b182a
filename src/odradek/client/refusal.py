"""What admin clients make of a broker's error codes: one exception, with words that a person can use."""

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError


def raise_for(error_code: int, message: str | None = None, *, about: str = "") -> None:
    """Raise ApiError unless the code is NONE.

    In the broker's own words where it has any, else in the code's: "group g: not coordinator".
    """
    if error_code == ErrorCode.NONE:
        return
    code = ErrorCode(error_code)
    words = message or code.name.lower().replace("_", " ")
    raise ApiError(code, f"{about}: {words}" if about else words)
