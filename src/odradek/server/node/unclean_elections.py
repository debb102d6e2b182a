"""Counts and logs the elections of leaders that may lack acknowledged records (R15e).

One decision of the controller may be about thousands of partitions, so the elections of a turn are logged
together, and only the first of them each. What the other replicas lose by them is logged where they follow.
"""

import logging
from typing import Final

from odradek.base.execution import Defer
from odradek.metadata.controller import ElectedUncleanly
from odradek.replication.cut_records import CutRecords

_log = logging.getLogger(__name__)

_PARTITIONS_LOGGED_MAX: Final = 10


class UncleanElections:
    """The unclean elections of one broker's controller."""

    def __init__(self, defer: Defer) -> None:
        self._defer = defer
        self.count = 0
        """How many there were since the start."""
        # The elections to log in the next turn.
        self._unlogged: list[ElectedUncleanly] = []

    def note(self, election: ElectedUncleanly) -> None:
        """Count an election; it is logged in a later turn."""
        self.count += 1
        if not self._unlogged:
            self._defer(self._log_all)
        self._unlogged.append(election)

    def _log_all(self) -> None:
        elections, self._unlogged = self._unlogged, []
        for election in elections[:_PARTITIONS_LOGGED_MAX]:
            topic, partition = election.topic_partition
            _log.log(
                logging.ERROR if election.log_ends else logging.WARNING,
                "%s",
                sentence(election),
                extra={
                    "topic": topic,
                    "partition": partition,
                    "leader": election.after.leader,
                    "leader_epoch": election.after.leader_epoch,
                },
            )
        more = len(elections) - _PARTITIONS_LOGGED_MAX
        if more > 0:
            _log.warning("%d more partitions have leaders that may lack acknowledged records", more)


def log_cut_records(cut_off: CutRecords) -> None:
    """Log what a replica on this broker lost by an unclean election."""
    topic, partition = cut_off.topic_partition
    fields = {
        "topic": topic,
        "partition": partition,
        "first_offset": cut_off.first_offset,
        "end_offset": cut_off.end_offset,
        "first_epoch": cut_off.first_epoch,
        "last_epoch": cut_off.last_epoch,
        "unclean_epoch": cut_off.unclean_epoch,
    }
    _log.error("%s", cut_off.sentence(), extra=fields)


def sentence(election: ElectedUncleanly) -> str:
    """Who leads from where, and who may have had more."""
    topic, partition = election.topic_partition
    before, after = election.before, election.after
    led = f"{topic}-{partition} is led by broker {after.leader} in epoch {after.leader_epoch}"
    if not election.log_ends:
        return (
            f"{led}, the last known leader: no replica is left that surely has all acknowledged records, and "
            "this one may lack some (by a power cut, or since it is an old copy)"
        )
    chosen = election.log_ends[after.leader]
    others = ", ".join(
        f"broker {broker_id} ends at {end.end_offset} (epoch {end.last_epoch})"
        for broker_id, end in election.log_ends.items()
        if broker_id != after.leader
    )
    missed = sorted({*before.isr, *before.elr, before.last_known_leader} & set(before.replicas))
    return (
        f"{led} by an unclean election: its log ends at {chosen.end_offset} (epoch {chosen.last_epoch})"
        + (f", {others}" if others else "")
        + f"; records that only the brokers {missed} have are lost"
    )
