"""A range of versions of one API or message, both ends included."""

from typing import Final, NamedTuple


class Versions(NamedTuple):
    """`lowest` to `highest`, both included; `version in versions` tests whether one is in the range."""

    lowest: int
    highest: int

    def __contains__(self, version: object) -> bool:
        return isinstance(version, int) and self.lowest <= version <= self.highest

    def span(self) -> range:
        """Every version, rising."""
        return range(self.lowest, self.highest + 1)


# Above every version of any API: the `highest` of an open range, and the first flexible version of a message
# that has none.
VERSION_LIMIT: Final = 1000
