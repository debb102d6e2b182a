"""Where reading begins without a committed offset, or after the position was deleted: `auto.offset.reset`.

reset_policy("earliest")               EARLIEST
reset_policy("by_duration:P1DT12H")    Ago(ms=129_600_000), 36 hours before now (KIP-1106)
reset_policy("none")                   None: the application must say
"""

import re
from typing import Final, NamedTuple, TypeAlias

from odradek.base.offset_timestamps import EARLIEST, LATEST

_KNOWN: Final[dict[str, int | None]] = {"earliest": EARLIEST, "latest": LATEST, "none": None}
_BY_DURATION: Final = "by_duration:"
# Days, hours, minutes and seconds of ISO 8601: what Java's Duration takes, without signs.
_DURATION: Final = re.compile(
    r"p(?=.)(?:(\d{1,9})d)?(?:t(?=.)(?:(\d{1,9})h)?(?:(\d{1,9})m)?(?:(\d{1,12})(?:[.,](\d{0,9}))?s)?)?",
    re.ASCII,
)


class Ago(NamedTuple):
    """The first record that is not older than this."""

    ms: int


ResetPolicy: TypeAlias = int | Ago | None
"""LATEST, EARLIEST, or an age; None: the application is told."""


def reset_policy(text: str) -> ResetPolicy:
    """What a value of the setting means. Raises ValueError if it is none."""
    if text in _KNOWN:
        return _KNOWN[text]
    if text.startswith(_BY_DURATION):
        found = _DURATION.fullmatch(text.removeprefix(_BY_DURATION))
        if found is not None:
            days, hours, minutes, seconds = (int(found[part] or 0) for part in range(1, 5))
            fraction_ms = int((found[5] or "").ljust(3, "0")[:3])
            return Ago((((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1_000 + fraction_ms)
    raise ValueError(text)


def timestamp_of(policy: ResetPolicy, wall_ms: int) -> int | None:
    """What to look up at that time: LATEST, EARLIEST, or a timestamp that is not negative."""
    return max(wall_ms - policy.ms, 0) if isinstance(policy, Ago) else policy
