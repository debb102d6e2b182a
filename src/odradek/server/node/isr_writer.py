"""Writes the new ISRs of partitions led here, and announces them to the controller (R2, R3, R4).

Each ISR is written on condition of the version that its leader knows, so of two writers one loses and reads
the stored state. Writes do not wait for each other, and those of a turn share a request (`batched_writes`).
The owner lets a partition have one write at a time within a leader epoch; a write of an earlier epoch may
still be under way, and its outcome is reported too.

    write(change)       SetData on its version
    Written             the leader takes the new version
    anything else       GetData: the stored state decides, also if the answer was lost
    no node, no result  nothing is known to have changed; the next round decides again
"""

import logging
from collections.abc import Callable
from typing import Final, Protocol

from odradek.base.execution import Defer
from odradek.base.ids import TopicPartition
from odradek.metadata import codec, paths
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
from odradek.server.node.batched_writes import BatchedWrites
from odradek.server.node.store_session import SessionEvent, StoreSession

_log = logging.getLogger(__name__)

PARTITIONS_PER_ANNOUNCEMENT: Final = 3_000
"""How many fit into a node of a megabyte, with names of the greatest length."""


class IsrOwner(Protocol):
    """Decides ISR changes, and which of them must be announced: `replication.IsrMaintenance`."""

    def on_written(self, change: IsrChange, state_version: int) -> None:
        """The store holds the new ISR, under this version."""

    def on_lost_race(self, change: IsrChange, stored: StoredState) -> None:
        """The store holds this state, which may be the one that was to be written."""

    def on_failed(self, change: IsrChange) -> None:
        """The change failed, or it is unknown whether it was written."""

    def take_due_announcement(self) -> list[TopicPartition]:
        """The partitions to announce now."""


class IsrWriter:
    """The ISR writes and announcements of one broker."""

    def __init__(
        self, session: StoreSession, owner: IsrOwner, controller_epoch: Callable[[], int], defer: Defer
    ) -> None:
        """`controller_epoch` returns the controller epoch of the order obeyed last."""
        self._session = session
        self._writes = BatchedWrites(session, defer)
        self._owner = owner
        self._controller_epoch = controller_epoch
        # The changes without an outcome, by identity: a topic that was deleted and created again has the same
        # name and epoch as before, so a change of the new topic may equal one of the old topic.
        self._in_flight: dict[int, IsrChange] = {}
        # Partitions of announcements that have no outcome yet or have failed, in their order.
        self._announcing: dict[TopicPartition, None] = {}
        self._unannounced: dict[TopicPartition, None] = {}
        session.join(self)

    def write(self, change: IsrChange) -> None:
        """Write one change; the outcome is reported to its owner later."""
        self._in_flight[id(change)] = change
        data = codec.encode_state_document(
            codec.StateDocument(
                change.leader_id,
                change.leader_epoch,
                change.new_isr,
                self._controller_epoch(),
                change.new_elr,
                unclean_epoch=change.unclean_epoch,
            )
        )
        self._writes.submit(
            SetData(paths.partition_state(*change.topic_partition), data, change.state_version),
            lambda result: self._on_result(change, result),
        )

    def announce(self) -> None:
        """R4, every 2.5 s: tell the controller which ISRs have changed, if an announcement is due."""
        due = list(self._unannounced | dict.fromkeys(self._owner.take_due_announcement()))
        self._unannounced.clear()
        for begin in range(0, len(due), PARTITIONS_PER_ANNOUNCEMENT):
            part = due[begin : begin + PARTITIONS_PER_ANNOUNCEMENT]
            self._announcing |= dict.fromkeys(part)
            notice = Create(paths.ISR_CHANGE_PREFIX, codec.encode_isr_change(part), sequential=True)
            self._session.submit(notice, lambda result, part=part: self._on_announced(part, result))  # type: ignore[misc]

    def on_session_event(self, event: SessionEvent) -> None:
        """See `SessionUser.on_session_event`: when a session ends, no further answers come."""
        if not isinstance(event, SessionEnded):
            return
        self._unannounced = self._announcing | self._unannounced
        self._announcing = {}
        self._writes.forget()
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
            state.leader,
            state.leader_epoch,
            state.controller_epoch,
            state.isr,
            found.stat.version,
            state.elr,
        )
        self._owner.on_lost_race(change, stored)

    def _on_announced(self, part: list[TopicPartition], result: Result) -> None:
        for named in part:
            self._announcing.pop(named, None)
        if not isinstance(result, Created):  # the node may exist: then the controller reads the ISRs twice
            self._unannounced |= dict.fromkeys(part)


def _reason(result: Result) -> str:
    return result.fault.value if isinstance(result, Failed) else type(result).__name__
