"""The options of the source `odradek.segments`, and a sentence for each that is refused.

Names and meanings are those of the source `odradek`, as far as files can serve them; `path` is the log
directory.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from odradek.base.errors import SettingError
from odradek.client.choices import ISOLATION_LEVELS
from odradek.spark.offset_ranges import Edge, Subscription, check_edge
from odradek.spark.source_options import flag
from odradek.spark.unknown_options import unknown_option

SERVED: Final = (
    "path",
    "subscribe",
    "subscribePattern",
    "assign",
    "startingOffsets",
    "endingOffsets",
    "includeHeaders",
    "kafka.isolation.level",
)


@dataclass(frozen=True, slots=True)
class SegmentOptions:
    """The checked options of a read."""

    path: str
    """The log directory: what `log.dirs` names, not a partition's directory."""
    subscription: Subscription
    start: Edge
    end: Edge
    is_committed: bool
    """Whether records of aborted and open transactions are left out."""
    with_headers: bool


def parse_segment_options(options: Mapping[str, str]) -> SegmentOptions:
    """Raises SettingError for the first option that is unknown or malformed."""
    given = {name.lower(): value for name, value in options.items()}
    for name in sorted(given.keys() - {one.lower() for one in SERVED}):
        raise unknown_option("source odradek.segments", name, SERVED)
    if not given.get("path"):
        raise SettingError("name the log directory: load('/var/lib/kafka/data')")
    isolation = given.get("kafka.isolation.level", "read_uncommitted").lower()
    if isolation not in ISOLATION_LEVELS:
        raise SettingError(
            f"kafka.isolation.level must be one of {', '.join(ISOLATION_LEVELS)}, not '{isolation}'"
        )
    start = Edge("startingOffsets", given.get("startingoffsets", "earliest"))
    end = Edge("endingOffsets", given.get("endingoffsets", "latest"))
    check_edge(start)
    check_edge(end)
    return SegmentOptions(
        path=given["path"].removeprefix("file:"),
        subscription=Subscription.from_options(given),
        start=start,
        end=end,
        is_committed=isolation == "read_committed",
        with_headers=flag(given, "includeHeaders", default=False),
    )
