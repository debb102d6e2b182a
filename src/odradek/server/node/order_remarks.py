"""Logs what an order has changed: topics made and deleted, and partitions with another leader.

    an order for three topics, of which two are new    topics created: a, b
    roles of up to ten partitions                      a line for each, with its leader and epoch
    roles of more                                      one line for all, with the first ten names

An order is logged once, when it has been obeyed as a whole, or as far as it was.
"""

import logging
from collections.abc import Iterable, Sequence
from typing import Final

from odradek.base.some_names import some_of
from odradek.metadata.orders import LeaderAndIsrPartition
from odradek.replication.role_changes import RoleChanges

NAMES_LOGGED_MAX: Final = 10
"""A line names as many topics or partitions."""
ROLES_LOGGED_MAX: Final = 10
"""Of an order that gives this broker more partitions to lead, or to follow, one line is logged for all."""


class OrderRemarks:
    """The remarks about the current order; empty between orders."""

    __slots__ = ("_followed", "_led", "_log", "_new_topics")

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._new_topics: list[str] = []
        """Topics that the order has made known."""
        self._led: list[LeaderAndIsrPartition] = []
        self._followed: list[LeaderAndIsrPartition] = []
        """What the order has this broker lead or follow that it had before."""

    def note_roles(self, changes: RoleChanges) -> None:
        """Note the roles that were changed; those of new partitions are not logged."""
        self._led += [part for part in changes.leading if not part.is_new]
        self._followed += [part for part in changes.following if not part.is_new]

    def note_new_topics(self, names: Iterable[str]) -> None:
        """Note topics that were not known before."""
        self._new_topics += names

    def log(self, gone: Sequence[str], *, is_first_news: bool) -> None:
        """Log what was noted, and the topics that are gone.

        The first UpdateMetadata after a registration makes all topics known: they are not logged as new.
        """
        led, self._led = self._led, []
        followed, self._followed = self._followed, []
        new, self._new_topics = self._new_topics, []
        self._log_role("led here", led)
        self._log_role("followed here", followed)
        if not is_first_news:
            self._log_topics("created", new)
        self._log_topics("deleted", gone)

    def _log_topics(self, what: str, names: Sequence[str]) -> None:
        if names:
            self._log.info(
                "topics %s: %s",
                what,
                some_of(names, NAMES_LOGGED_MAX),
                extra={"topics": list(names[:NAMES_LOGGED_MAX])},
            )

    def _log_role(self, role: str, parts: Sequence[LeaderAndIsrPartition]) -> None:
        """Log a line for each partition that has another leader, or is now led here, or one for very many."""
        if len(parts) > ROLES_LOGGED_MAX:
            names = [str(part.topic_partition) for part in parts]
            self._log.info(
                "%s are %s",
                some_of(names, NAMES_LOGGED_MAX),
                role,
                extra={"partitions": names[:NAMES_LOGGED_MAX]},
            )
            return
        for part in parts:
            topic, partition = part.topic_partition
            state = part.state
            self._log.info(
                "%s-%d is %s: the leader is broker %d in epoch %d",
                topic,
                partition,
                role,
                state.leader,
                state.leader_epoch,
                extra={
                    "topic": topic,
                    "partition": partition,
                    "leader": state.leader,
                    "leader_epoch": state.leader_epoch,
                },
            )
