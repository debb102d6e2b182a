"""The effects of replication on its broker: flushes, ISR writes, and resigning after a directory failure."""

import logging
from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol

from odradek.base.ids import TopicPartition
from odradek.replication.isr import IsrChange

_log = logging.getLogger(__name__)


class Flushes(Protocol):
    """Flushes logs."""

    def want(self, topic_partition: TopicPartition, /) -> None:
        """Flush a log soon, together with others."""


class IsrWrites(Protocol):
    """Writes ISRs."""

    def write(self, change: IsrChange, /) -> None:
        """Write one change; the outcome is reported to its owner later."""


class FailureAnnouncements(Protocol):
    """Tells the controller that log directories failed."""

    def announce_failure(self) -> None:
        """A log directory has failed, and its partitions are hosted no more."""


class Resigning(Protocol):
    """A coordinator or the fetchers, whose partitions may be in a directory that fails."""

    def resign_lost(self) -> None:
        """A log directory went offline: resign the partitions that were in it."""


class _Parts(NamedTuple):
    flushes: Flushes
    isr_writes: IsrWrites
    announcements: FailureAnnouncements
    resigning: tuple[Resigning, ...]


class ReplicationEffects:
    """The `Effects` of one broker's replica manager.

    The parts that carry the effects out use the replica manager, so they are created after it: `connect` is
    called once, before any event for a partition.
    """

    def __init__(self, directory_count: int, on_failure: Callable[[str], None]) -> None:
        """`on_failure` is called with the reason when the last of the directories has failed."""
        self._directory_count = directory_count
        self._on_failure = on_failure
        self._connected: _Parts | None = None

    def connect(
        self,
        flushes: Flushes,
        isr_writes: IsrWrites,
        announcements: FailureAnnouncements,
        resigning: Iterable[Resigning],
    ) -> None:
        """Set the parts that carry the effects out."""
        assert self._connected is None, "connected twice"
        self._connected = _Parts(flushes, isr_writes, announcements, tuple(resigning))

    def flush(self, topic_partition: TopicPartition) -> None:
        """See `replication.replication_ports.Effects.flush`."""
        self._parts().flushes.want(topic_partition)

    def write_isr(self, change: IsrChange) -> None:
        """See `replication.replication_ports.Effects.write_isr`."""
        self._parts().isr_writes.write(change)

    def directory_failed(self, directory: str, reason: str, *, is_last: bool) -> None:
        """See `replication.replication_ports.Effects.directory_failed`."""
        sentence = f"the log directory {directory} is offline: {reason}"
        parts = self._parts()
        for part in parts.resigning:
            part.resign_lost()
        if not is_last:
            _log.error("%s", sentence)
            parts.announcements.announce_failure()
        elif self._directory_count == 1:
            self._on_failure(sentence)
        else:
            self._on_failure(f"no log directory is left: {sentence}")

    def _parts(self) -> _Parts:
        assert self._connected is not None, "nothing happens to a partition before its broker is complete"
        return self._connected
