"""Writes what the ISRs of partitions led here become, and announces it to the controller (R2, R3, R4).

Each ISR is written on the version that its leader knows, so of two writers one loses, and reads what stands
there instead. No write waits for another. Within a leader epoch a partition has one at a time, which its
owner sees to; an earlier epoch's may still be on its way, and what becomes of it is told too.

    write(change)       SetData on its version
    Written             the leader takes the new version
    anything else       GetData: what stands there decides, also where the answer was lost
    no node, or no end  nothing is known to have changed; the next round decides again
"""

import logging
from collections.abc import Callable
from typing import Final, Protocol

from odradek.base.ids import TopicPartition
from odradek.metadata import codec, paths
from odradek.metadata.image import PartitionImage
from odradek.metadata.store import (
    Create,
    Created,
    Data,
    Failed,
    GetData,
    Result,
    SessionEnded,
    SetData,
    Written,
)
from odradek.replication.isr import IsrChange, StoredState
from odradek.server.node.store_session import SessionEvent, StoreSession

_log = logging.getLogger(__name__)

PARTITIONS_PER_ANNOUNCEMENT: Final = 3_000
"""What fits into a node of a megabyte, with names of the greatest length."""


class IsrOwner(Protocol):
    """Who decided a change, and what has to be announced: `replication.IsrMaintenance`."""

    def on_written(self, change: IsrChange, state_version: int) -> None:
        """The store holds the new ISR, under this version."""

    def on_lost_race(self, change: IsrChange, stored: StoredState) -> None:
        """The store holds this state, which may be what was to be written."""

    def on_failed(self, change: IsrChange) -> None:
        """The change is not known to be written."""

    def take_due_announcement(self) -> list[TopicPartition]:
        """The partitions to announce now."""


class IsrWriter:
    """The ISR writes and announcements of one broker."""

    def __init__(self, session: StoreSession, owner: IsrOwner, controller_epoch: Callable[[], int]) -> None:
        """`controller_epoch` returns the epoch last obeyed, under which leaders lead."""
        self._session = session
        self._owner = owner
        self._controller_epoch = controller_epoch
        # The changes without an outcome, by identity: a topic that was deleted and made again has the same
        # name and epoch as before, and so a change that says the same.
        self._in_flight: dict[int, IsrChange] = {}
        # Partitions of announcements without an outcome, and of those that failed, in their order.
        self._announcing: dict[TopicPartition, None] = {}
        self._unannounced: dict[TopicPartition, None] = {}
        session.join(self)

    def write(self, change: IsrChange) -> None:
        """Write one change; its owner is told later how it ended."""
        self._in_flight[id(change)] = change
        state = PartitionImage(change.new_isr, change.new_isr, change.leader_id, change.leader_epoch)
        data = codec.encode_state(state, self._controller_epoch())
        self._session.submit(
            SetData(paths.partition_state(*change.topic_partition), data, change.state_version),
            lambda result: self._on_result(change, result),
        )

    def announce(self) -> None:
        """R4, every 2.5 s: tell the controller which ISRs have changed, if there is something to tell now."""
        due = list(self._unannounced | dict.fromkeys(self._owner.take_due_announcement()))
        self._unannounced.clear()
        for begin in range(0, len(due), PARTITIONS_PER_ANNOUNCEMENT):
            part = due[begin : begin + PARTITIONS_PER_ANNOUNCEMENT]
            self._announcing |= dict.fromkeys(part)
            notice = Create(paths.ISR_CHANGE_PREFIX, codec.encode_isr_change(part), sequential=True)
            self._session.submit(notice, lambda result, part=part: self._on_announced(part, result))  # type: ignore[misc]

    def on_session_event(self, event: SessionEvent) -> None:
        """See `SessionUser.on_session_event`: with a session end the answers that are still to come."""
        if not isinstance(event, SessionEnded):
            return
        self._unannounced = self._announcing | self._unannounced
        self._announcing = {}
        failed, self._in_flight = list(self._in_flight.values()), {}
        for change in failed:
            self._owner.on_failed(change)

    def _on_result(self, change: IsrChange, result: Result) -> None:
        if isinstance(result, Written):
            del self._in_flight[id(change)]
            self._owner.on_written(change, result.version)
        else:
            read = GetData(paths.partition_state(*change.topic_partition))
            self._session.submit(read, lambda found: self._on_found(change, found))

    def _on_found(self, change: IsrChange, found: Result) -> None:
        del self._in_flight[id(change)]
        named = change.topic_partition
        if not isinstance(found, Data):
            _log.warning("the ISR of %s stays %s for now: %s", named, change.old_isr, _reason(found))
            self._owner.on_failed(change)
            return
        try:
            state = codec.decode_state(found.data)
        except codec.MalformedNode as malformed:
            _log.error("%s: %s", paths.partition_state(*named), malformed)
            self._owner.on_failed(change)
            return
        stored = StoredState(
            state.leader, state.leader_epoch, state.controller_epoch, state.isr, found.stat.version
        )
        self._owner.on_lost_race(change, stored)

    def _on_announced(self, part: list[TopicPartition], result: Result) -> None:
        for named in part:
            self._announcing.pop(named, None)
        if not isinstance(result, Created):  # perhaps it was made: then the controller reads twice
            self._unannounced |= dict.fromkeys(part)


def _reason(result: Result) -> str:
    return result.fault.value if isinstance(result, Failed) else type(result).__name__
