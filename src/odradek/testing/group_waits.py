"""Waits for consumer groups: until no rebalance is under way, their lag is zero, or they have positions."""

import time
from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from odradek.base.errors import ApiError
from odradek.base.ids import BrokerId
from odradek.client.administering import Admin, administering
from odradek.client.core.admin.lag import Lag
from odradek.client.group_description import GroupDescription
from odradek.client.group_looks import Look, is_passing, look_at_rest, look_for_lag
from odradek.server.admin.position_watch import Ask, PositionWatch
from odradek.testing.deadline import Deadline, WaitTimeout
from odradek.testing.own_client import own_client

LOOK_EVERY_S: Final = 0.01

T = TypeVar("T")


class GroupWaits:
    """The groups of the brokers at some addresses."""

    def __init__(
        self, bootstrap_servers: Callable[[], str], brokers: Callable[[], Mapping[BrokerId, Ask]]
    ) -> None:
        """`brokers` returns those that answer, to be asked about faults."""
        self._bootstrap_servers = bootstrap_servers
        self._brokers = brokers

    def at_rest(self, group: str, *, members: int | None, timeout_s: float) -> GroupDescription:
        """Returns the group once it has `members` members (None: at least one) and no rebalance."""
        wanted = "any members" if members is None else f"{members} members"
        return self._until(lambda admin: look_at_rest(admin, group, members), f"{wanted} at rest", timeout_s)

    def without_lag(self, group: str, topic: str | None, *, timeout_s: float) -> list[Lag]:
        """Returns the group's partitions as soon as no record follows a committed offset.

        With `topic`, all partitions of that topic count, else those with a committed offset or a member.
        """

        def look(admin: Admin) -> Look[list[Lag]]:
            return look_for_lag(admin, own_client(self._bootstrap_servers()), group, topic)

        return self._until(look, "no lag", timeout_s)

    def position_resolved(self, group: str, *, members: int | None, timeout_s: float) -> GroupDescription:
        """Returns the group once it is at rest and its members fetch all that they were assigned."""
        with PositionWatch(group, members, self._brokers) as watch:
            return self._until(watch.look, "the positions of its members", timeout_s)

    def _until(self, look: Callable[[Admin], Look[T]], wanted: str, timeout_s: float) -> T:
        """Returns the first thing that `look` finds. Raises WaitTimeout with `look`'s words."""
        deadline = Deadline(timeout_s)
        words = ""
        while True:
            try:
                config = own_client(self._bootstrap_servers())
                with administering(config, tries_again=False) as admin:
                    while True:
                        seen = look(admin)
                        if seen.found is not None:
                            return seen.found
                        words = seen.words
                        if deadline.is_over():
                            break
                        time.sleep(LOOK_EVERY_S)
            except ApiError as error:  # also ConnectionFailed: another broker may answer
                if not is_passing(error):
                    raise
                words = str(error)
            if deadline.is_over():
                raise WaitTimeout(f"{words}; waited {timeout_s:g} s for {wanted}")
            time.sleep(LOOK_EVERY_S)
