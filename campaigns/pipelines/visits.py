"""The records of a pipeline with stages, and what the stages shall make of them, computed from all at once.

Time goes on by an hour with each part that is sent, and the records of a part are of its hour. A duplicate
has the id and the time of a record of this part or of the one before, and another number, so that sums show
which of them stayed. It goes to the same partition, behind the first. Records that are too late come first in
a part that is not the first, from long ago, so whichever batch reads them finds them late.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Final

START: Final = datetime(2013, 1, 1, tzinfo=UTC)
HOUR_S: Final = 3600
WATERMARK_S: Final = 3 * HOUR_S
CITIES: Final = {"EWR": "Newark", "JFK": "New York", "LGA": "New York"}
"""The city of each place in the table that is joined, which lacks one place."""
PLACES: Final = (*CITIES, "XXX")

Sums = dict[tuple[int, str], tuple[int, int]]
"""The records and the sum of each window, by its start in seconds and its city."""


@dataclass(frozen=True, slots=True)
class Visit:
    """One record that can be read."""

    id: int
    second: float
    """Its time, since START."""
    place: str
    n: int

    def value(self) -> bytes:
        """As JSON."""
        at = (START + timedelta(seconds=self.second)).isoformat()
        fields = asdict(self) | {"id": f"visit-{self.id}", "at": at}
        del fields["second"]
        return json.dumps(fields).encode()


class Visits:
    """All that was sent so far."""

    def __init__(self) -> None:
        self._hour = 0
        self._numbers = 0
        # In the order of their sending; the late ones apart.
        self._sent: list[list[Visit]] = []
        self.late = 0

    def part(self, chance: Random, *, may_be_late: bool) -> list[Visit]:
        """The visits of the next hour, at least one of which is not late."""
        mine: list[Visit] = []
        late: list[Visit] = []
        known = self._sent[-1] if self._sent else []
        for _ in range(chance.randint(1, 300)):
            drawn = chance.random()
            if may_be_late and mine and drawn < 0.03:
                late.append(self._next(-chance.uniform(1, 1000) * 24 * HOUR_S, chance))
            elif mine and drawn < 0.15:
                first = chance.choice(known + mine)
                mine.append(Visit(first.id, first.second, first.place, self._number()))
            else:
                second = (self._hour + chance.random()) * HOUR_S
                mine.append(self._next(round(second, 3), chance))
        self._hour += 1
        self._sent.append(mine)
        self.late += len(late)
        return late + mine

    def last(self) -> Visit:
        """A visit of so much later that the windows of all others are over."""
        self._hour += WATERMARK_S // HOUR_S + 24
        return Visit(self._number(), self._hour * HOUR_S, PLACES[0], 0)

    def sums(self) -> Sums:
        """What the windows hold, by the first visit of each id."""
        firsts: dict[int, Visit] = {}
        for part in self._sent:
            for one in part:
                firsts.setdefault(one.id, one)
        found: Sums = {}
        for one in firsts.values():
            if city := CITIES.get(one.place):
                window = (int(one.second // HOUR_S) * HOUR_S, city)
                count, total = found.get(window, (0, 0))
                found[window] = (count + 1, total + one.n)
        return found

    def _next(self, second: float, chance: Random) -> Visit:
        number = self._number()
        return Visit(number, second, chance.choice(PLACES), number)

    def _number(self) -> int:
        self._numbers += 1
        return self._numbers


def differences(found: Mapping[tuple[int, str], tuple[int, int]], wanted: Sums) -> list[str]:
    """Each window that is not as it should be, in a sentence."""
    return [
        f"the window {city} at {second} s has {found.get((second, city))}, and should have"
        f" {wanted.get((second, city))}"
        for second, city in sorted(found.keys() | wanted.keys())
        if found.get((second, city)) != wanted.get((second, city))
    ]
