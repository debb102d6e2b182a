"""How much one batch of a stream may hold, and how much it waits for. This module opens no connections.

Options are those of Spark's Kafka source, by the same names; they count offsets, not records:

    maxOffsetsPerTrigger    10000     at most so many, shared out by how far each partition is behind
    minOffsetsPerTrigger    1000      wait until there are so many,
    maxTriggerDelay         15m       but no longer than this
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from odradek.base.errors import SettingError
from odradek.client.cluster import Offsets
from odradek.spark.option_numbers import whole_number

NAMES: Final = ("maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay")
OFFSETS_MAX: Final = (1 << 63) - 1
_UNITS_US: Final = {
    "us": 1,
    "": 1_000,
    "ms": 1_000,
    "s": 1_000_000,
    "m": 60_000_000,
    "min": 60_000_000,
    "h": 3_600_000_000,
    "d": 86_400_000_000,
}
_TIME: Final = re.compile(r"(\d{1,18})\s*([a-z]*)", re.ASCII)


@dataclass(frozen=True, slots=True)
class TriggerLimits:
    """The limits of a stream's batches; None for no limit."""

    offsets_max: int | None = None
    offsets_min: int | None = None
    delay_max_ms: int = 15 * 60_000
    """How long a batch waits for `offsets_min` at most, since the last one began."""

    @classmethod
    def from_options(cls, given: Mapping[str, str]) -> "TriggerLimits":
        """`given` has its names in lower case. Raises SettingError for a malformed limit."""
        most, least = (whole_number(given, name, highest=OFFSETS_MAX) for name in NAMES[:2])
        if most is not None and least is not None and least > most:
            raise SettingError(f"minOffsetsPerTrigger is {least}, more than maxOffsetsPerTrigger, {most}")
        if "maxtriggerdelay" in given and least is None:
            raise SettingError("maxTriggerDelay bounds the wait for minOffsetsPerTrigger, which is missing")
        delay_ms = _time_ms("maxTriggerDelay", given.get("maxtriggerdelay", "15m"))
        return cls(most, least, delay_ms)


def take(starts: Offsets, ends: Offsets, offsets_max: int) -> Offsets:
    """Where a batch of `offsets_max` offsets ends; each partition that is behind gets at least one.

    A partition that is farther behind gets more, in proportion. One whose log ends before its start, as it
    was made anew, keeps its end.
    """
    behind = {partition: max(0, end - starts[partition]) for partition, end in ends.items()}
    total = sum(behind.values())
    if total <= offsets_max:
        return dict(ends)
    return {
        partition: min(end, starts[partition] + max(1, offsets_max * behind[partition] // total))
        if behind[partition]
        else end
        for partition, end in ends.items()
    }


def count(starts: Offsets, ends: Offsets) -> int:
    """How many offsets there are to read; those of a partition without a start are not known."""
    return sum(max(0, end - starts.get(partition, end)) for partition, end in ends.items())


def _time_ms(name: str, text: str) -> int:
    found = _TIME.fullmatch(text.strip().lower())
    if found is None or found[2] not in _UNITS_US:
        raise SettingError(f"{name} must be a time as 500ms, 30s, 15m, 2h or 1d, not '{text}'")
    return int(found[1]) * _UNITS_US[found[2]] // 1_000
