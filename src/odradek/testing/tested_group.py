"""A consumer group as a test names it: `broker.group("billing").stable(members=2)`.

Each method waits until something holds, so that a test needs no sleep.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from odradek.testing.tracebacks import ends_at_caller

if TYPE_CHECKING:
    from odradek.client.core.admin.lag import Lag
    from odradek.client.group_description import GroupDescription
    from odradek.testing.group_waits import GroupWaits

WAIT_S: Final = 30.0
"""Default timeout, in seconds, of the methods that wait for the application; enough for a busy machine."""


class TestedGroup:
    """One group of a broker or a cluster; it need not exist yet."""

    __test__ = False  # pytest collects classes by their names

    def __init__(self, name: str, waits: GroupWaits) -> None:
        self.name = name
        """The group's id."""
        self._waits = waits

    def __repr__(self) -> str:
        return f"<the group {self.name}>"

    @ends_at_caller
    def stable(self, *, members: int | None = None, timeout: float = WAIT_S) -> GroupDescription:
        """Returns the group once it has `members` members (None: at least one) and no rebalance is under way.

        Raises WaitTimeout, which says what state the group is in.
        """
        return self._waits.at_rest(self.name, members=members, timeout_s=timeout)

    @ends_at_caller
    def lag_zero(self, topic: str | None = None, *, timeout: float = WAIT_S) -> list[Lag]:
        """Returns the group's partitions when its committed offsets have reached the end of each.

        With `topic` all partitions of that topic count, else those with a committed offset or a member.
        Raises WaitTimeout, which names the partitions with lag.
        """
        return self._waits.without_lag(self.name, topic, timeout_s=timeout)

    @ends_at_caller
    def position_resolved(self, *, members: int | None = None, timeout: float = WAIT_S) -> GroupDescription:
        """Returns the group once it is stable and its members fetch every partition that they were assigned.

        From then on they get every record that is appended, also with `auto.offset.reset=latest`. The brokers
        see fetches by client id and host: members of one host must have different client ids to be told
        apart. A member that fetches nothing, because it is paused or its buffer is full, is waited for.
        Raises WaitTimeout, which names the partitions that are not fetched.
        """
        return self._waits.position_resolved(self.name, members=members, timeout_s=timeout)
