"""Finds out whether the members of a group have a position in each partition that they were assigned.

A broker knows no position that was not committed. It knows the fetches: a client that fetches a partition has
a position in it, and gets every record that is appended from then on. So this watches what clients fetch,
from a moment on at which the group is at rest: whoever had a partition before has given it back by then.

    group at rest, reader-1 has t-0 and t-1     the brokers begin to watch, and answer the fetches that wait
    reader-1 on 10.0.0.7 fetches t-0            t-1 is missing
    reader-1 on 10.0.0.7 fetches t-0, t-1       found
    another generation                          everything begins anew
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from odradek.base.closing import Closing
from odradek.base.ids import BrokerId, TopicPartition
from odradek.base.some_names import some_of
from odradek.client.administering import Admin
from odradek.client.group_description import GroupDescription
from odradek.client.group_looks import Look, look_at_rest

Ask: TypeAlias = Callable[[Mapping[str, Any]], Any]
"""Lets a broker carry out a request about faults. Raises OdradekError."""
_Owned: TypeAlias = tuple[str, str, TopicPartition]
"""A member's client id, its host, and a partition that it has."""

NAMED_MAX: Final = 5
"""How many missing partitions are named."""


class PositionWatch(Closing):
    """Watches until closed."""

    def __init__(
        self,
        group: str,
        members: int | None,
        brokers: Callable[[], Mapping[BrokerId, Ask]],
        is_meant: Callable[[TopicPartition], bool] = lambda partition: True,
    ) -> None:
        """`brokers` returns those that answer; only partitions that `is_meant` accepts count."""
        self._group = group
        self._members = members
        self._brokers = brokers
        self._is_meant = is_meant
        # What the members have; None while the group is not at rest.
        self._owned: frozenset[_Owned] | None = None
        # What they have fetched of it since.
        self._fetched: set[_Owned] = set()
        # The watch of each broker.
        self._watches: dict[BrokerId, int] = {}

    def look(self, admin: Admin) -> Look[GroupDescription]:
        """Finds the group if it is at rest and its members have fetched all that they were assigned since."""
        seen = look_at_rest(admin, self._group, self._members)
        if seen.found is None:
            self._owned = None
            return seen
        owned = _owned_by(seen.found, self._is_meant)
        brokers = self._brokers()
        if owned != self._owned or brokers.keys() != self._watches.keys():
            self.close()
            self._watches = {one: ask({"fault": "watch_fetches"})["id"] for one, ask in brokers.items()}
            self._owned, self._fetched = owned, set()
        for broker_id, number in self._watches.items():
            for row in brokers[broker_id]({"fault": "watched_fetches", "id": number}):
                named = TopicPartition(row["topic"], row["partition"])
                self._fetched.add((row["client"], row["host"], named))
        left = sorted(owned - self._fetched, key=lambda one: one[2])
        if not left:
            return seen
        missing = [f"{one} by {client} on {host}" for client, host, one in left]
        return Look(None, f"not fetched by group {self._group}: {some_of(missing, NAMED_MAX)}")

    def close(self) -> None:
        """End the watches, at the brokers that answer."""
        watches, self._watches = self._watches, {}
        brokers = self._brokers()
        for broker_id, number in watches.items():
            if broker_id in brokers:
                brokers[broker_id]({"fault": "end_watch", "id": number})


def _owned_by(group: GroupDescription, is_meant: Callable[[TopicPartition], bool]) -> frozenset[_Owned]:
    """What the members have; hosts as connections show them, where the classic protocol has /10.0.0.7."""
    return frozenset(
        (member.client, member.host.removeprefix("/"), one)
        for member in group.members
        for one in member.partitions
        if is_meant(one)
    )
