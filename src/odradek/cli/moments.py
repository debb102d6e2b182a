"""Parses points in time: a date, milliseconds, or a duration before now."""

import re
import time
from datetime import datetime

_AGO = re.compile(r"([0-9]{1,9})(s|m|h|d)")
_UNITS_MS = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
INT32_MAX = (1 << 31) - 1
INT64_MAX = (1 << 63) - 1

MOMENT = "2026-03-01T12:00:00Z, @MILLISECONDS, or 30s, 10m, 2h, 7d ago"
"""The forms that `moment_ms` accepts, for help and errors."""


def moment_ms(text: str) -> int:
    """Returns milliseconds since 1970; a date without a time zone is local time. Raises ValueError."""
    if re.fullmatch(r"@[0-9]{1,19}", text) and int(text[1:]) <= INT64_MAX:
        return int(text[1:])
    ago = _AGO.fullmatch(text)
    if ago:
        return max(0, int(time.time() * 1000) - int(ago[1]) * _UNITS_MS[ago[2]])
    try:
        return int(datetime.fromisoformat(text).timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        raise ValueError(f"a time as {MOMENT}") from None
