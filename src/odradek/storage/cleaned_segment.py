"""The result of compacting some segments, as plain values: the cleaner makes it, the log swaps it in."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from odradek.base.ids import Offset


class SegmentExtent(NamedTuple):
    """A closed segment as the job saw it."""

    base_offset: Offset
    size_bytes: int


@dataclass(frozen=True, slots=True)
class CleanedSegment:
    """A finished segment, synced, in `.cleaned` files named after the first segment that it replaces."""

    replaced: tuple[SegmentExtent, ...]
    """The adjacent segments that it replaces, in order."""
    size_bytes: int
    """The bytes kept of them; may be 0."""

    @property
    def base_offset(self) -> Offset:
        """Its base offset: that of the first segment that it replaces."""
        return self.replaced[0].base_offset

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> "CleanedSegment":
        """Restore a segment from its `asdict` fields, read from JSON."""
        return cls(tuple(SegmentExtent(*row) for row in fields["replaced"]), fields["size_bytes"])
