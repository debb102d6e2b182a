"""Notes what clients fetch while a test asks for it: who fetches a partition has a position in it.

    {"fault": "watch_fetches"}             -> {"id": 3}
    {"fault": "watched_fetches", "id": 3}  -> [{"client": "reader", "host": "10.0.0.7", "topic": "t", ...}]
    {"fault": "end_watch", "id": 3}        -> {"removed": true}

When a watch begins, the fetches that wait are answered, so that their clients say at once what they fetch
now. A fetch names no group and no member: clients with one client id on one host cannot be told apart.
"""

from collections.abc import Iterable
from typing import Final

from odradek.base.errors import FaultRefused
from odradek.base.ids import TopicPartition

WATCHES_MAX: Final = 100
FETCHES_MAX: Final = 100_000
"""What one watch notes at most: partitions, by client."""


class FetchWatches:
    """The watches of one broker."""

    def __init__(self) -> None:
        # By number: what was fetched, by client id and host.
        self._watches: dict[int, dict[tuple[str, str, TopicPartition], None]] = {}
        self._last_number = 0

    def __len__(self) -> int:
        return len(self._watches)

    def begin(self) -> int:
        """Begin a watch; returns its number. Raises FaultRefused if there are too many."""
        if len(self._watches) >= WATCHES_MAX:
            raise FaultRefused(f"there are {WATCHES_MAX} watches already")
        self._last_number += 1
        self._watches[self._last_number] = {}
        return self._last_number

    def note(self, client: str, host: str, partitions: Iterable[TopicPartition]) -> None:
        """A client fetches these partitions."""
        noted = [(client, host, one) for one in partitions]
        for fetched in self._watches.values():
            if len(fetched) < FETCHES_MAX:
                fetched.update(dict.fromkeys(noted))

    def fetched(self, number: int) -> list[dict[str, object]]:
        """What was fetched since the watch began. Raises FaultRefused if it has ended."""
        if number not in self._watches:
            raise FaultRefused(f"there is no watch {number}")
        return [
            {"client": client, "host": host, "topic": one.topic, "partition": one.partition}
            for client, host, one in self._watches[number]
        ]

    def end(self, number: int) -> bool:
        """End a watch; returns whether there was one."""
        return self._watches.pop(number, None) is not None
