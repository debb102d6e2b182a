"""Runs a produce request: checks its batches, admits them to their transaction, and appends them.

    light      few bytes, not compressed    the logs check the batches as they append them
    heavy      all else                     checked in steps first (`record_work`)
    transactional                           admitted after the check, so that nothing happens between the
                                            admission and the append (`transaction_admission`)
    wide       more than ITEMS_PER_STEP     appended in steps, a partition in each
               partitions

Invariant: a batch is released when it is appended. An operation that waits for acks holds only names and
numbers.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, Protocol, cast

from odradek.base.buffers import Buffer
from odradek.base.error_codes import ErrorCode
from odradek.base.execution import ITEMS_PER_STEP, Later, Slices, Steps, exhaust
from odradek.base.ids import TopicPartition
from odradek.records.header import ATTRIBUTES_LOW_AT, CODEC_MASK, HEADER_BYTES
from odradek.replication.append import Batches
from odradek.replication.outcomes import AppendOutcome, AppendOutcomes
from odradek.replication.replica_manager import ReplicaManager
from odradek.server.node.coordinators.transaction_admission import (
    Ability,
    Admission,
    TransactionAdmission,
    is_transactional,
)
from odradek.server.node.orphans import Orphans
from odradek.server.node.record_work import RecordJob, RecordWork

_log = logging.getLogger(__name__)

LIGHT_BYTES_MAX: Final = 4 << 10
"""Uncompressed records of up to this size need no check in steps: there cannot be more than 600 of them."""


class Connection(Protocol):
    """The connection that a request came on."""

    def close(self) -> None:
        """Handle no more of its requests."""

    def when_lost(self, abandon: Callable[[], None]) -> None:
        """Call `abandon` if the connection is lost before the current request is answered."""


class ProducePorts(Protocol):
    """The parts of its broker that a produce uses."""

    @property
    def replicas(self) -> ReplicaManager:
        """Appends the batches."""

    @property
    def record_work(self) -> RecordWork:
        """Checks batches in steps."""

    @property
    def slices(self) -> Slices:
        """Runs the appends to many partitions in slices."""

    @property
    def orphans(self) -> Orphans:
        """Bounds the checks for connections that are closed."""

    @property
    def admission(self) -> TransactionAdmission:
        """Admits transactional batches."""


class Produce:
    """One produce request of a client."""

    __slots__ = (
        "_ability",
        "_acks",
        "_connection",
        "_entries",
        "_internal_allowed",
        "_is_adopted",
        "_is_transactional",
        "_is_wide",
        "_later",
        "_ports",
        "_size_bytes",
        "_timeout_ms",
        "_transactional_id",
    )

    def __init__(
        self,
        ports: ProducePorts,
        connection: Connection,
        entries: dict[TopicPartition, Buffer],
        later: Later[AppendOutcomes],
        acks: int,
        timeout_ms: int,
        transactional_id: str | None,
        ability: Ability,
        internal_allowed: bool,
    ) -> None:
        """The produce owns `entries` from now on, and empties them when they are appended."""
        self._ports = ports
        self._connection = connection
        self._entries = entries
        """The batches to append; empty afterwards."""
        self._later = later
        """Called with the outcomes, unless `begin` returns them."""
        self._acks = acks
        self._timeout_ms = timeout_ms
        self._transactional_id = transactional_id
        self._ability = ability
        """What the producer supports of transactions."""
        self._internal_allowed = internal_allowed
        self._is_wide = len(entries) > ITEMS_PER_STEP
        self._is_transactional = transactional_id is not None
        """Whether the produce or, of a wide one, a batch that was looked at belongs to a transaction."""
        self._size_bytes = 0
        """The size of the batches that are being checked in later turns."""
        self._is_adopted = False
        """Whether its connection is closed, and `Orphans` counts its bytes."""

    def begin(self) -> AppendOutcomes | None:
        """Append; returns the outcomes if `acks` is satisfied at once, else `later` is called with them.

        There are no outcomes if the connection is lost while batches are checked, or if a check fails by a
        bug of ours, which closes the connection.
        """
        if self._is_wide:
            return self._in_slices(self._begin_wide())
        entries = self._entries
        return self._append_checked(entries) if is_light(entries) else self._check()

    def _begin_wide(self) -> Steps[AppendOutcomes | None]:
        entries, light = self._entries, True
        remaining = iter(entries.items())
        while some := dict(islice(remaining, ITEMS_PER_STEP)):
            light = light and is_light(some)
            self._is_transactional = self._is_transactional or any(map(is_transactional, some.values()))
            self._size_bytes += sum(map(len, some.values()))
            yield
        light = light and self._size_bytes <= LIGHT_BYTES_MAX
        return self._append_checked(entries) if light else self._check()

    def _check(self) -> AppendOutcomes | None:
        """Check the batches in steps, then append them."""
        ports, entries = self._ports, self._entries
        checked = ports.record_work.run(
            ports.replicas.check(entries), self._on_checked, self._on_check_failed
        )
        if isinstance(checked, RecordJob):
            if not self._is_wide:
                self._size_bytes = sum(map(len, entries.values()))
            self._connection.when_lost(lambda: self._on_lost(checked))
            return None
        return self._append_checked(checked)

    # --- while batches are checked

    def _on_checked(self, checked: Mapping[TopicPartition, Batches]) -> None:
        self._release()
        self._deliver(self._append_checked(checked))

    def _on_check_failed(self, _: Exception) -> None:
        self._release()
        self._connection.close()

    def _on_lost(self, job: RecordJob) -> None:
        """With acks=0 a client may close right after sending: the checks continue if `Orphans` allows it."""
        if job.is_over:
            return
        self._is_adopted = self._acks == 0 and self._ports.orphans.adopt(self._size_bytes)
        if not self._is_adopted:
            job.abandon()

    def _release(self) -> None:
        if self._is_adopted:
            self._is_adopted = False
            self._ports.orphans.release(self._size_bytes)

    # --- after the checks

    def _deliver(self, outcomes: AppendOutcomes | None) -> None:
        """Call `later`, in a later event, with the outcomes that `begin` could not return."""
        if outcomes is not None:
            self._later(outcomes)
            self._ports.replicas.purgatories.wake_changed()

    def _append_checked(self, checked: Mapping[TopicPartition, Batches]) -> AppendOutcomes | None:
        if self._is_transactional or (
            not self._is_wide and any(map(is_transactional, self._entries.values()))
        ):
            steps = self._append_admitted(checked)
            return self._in_slices(steps) if self._is_wide else exhaust(steps)
        if self._is_wide:
            return self._in_slices(self._append_in_steps(checked, checked.items()))
        return self._append(checked)

    def _append_admitted(self, checked: Mapping[TopicPartition, Batches]) -> Steps[AppendOutcomes | None]:
        """Append the batches that the coordinator of their transaction admits."""

        def on_admitted(admission: Admission) -> None:
            if self._is_wide:
                self._deliver(self._in_slices(self._append_in_steps(checked, admission.entries(checked))))
            else:
                self._deliver(self._append(dict(admission.entries(checked))))

        admission = yield from self._ports.admission.admit_batches(
            self._transactional_id, self._entries, self._ability, on_admitted
        )
        if admission is None:
            return None
        if self._is_wide:
            return (yield from self._append_in_steps(checked, admission.entries(checked)))
        return self._append(dict(admission.entries(checked)))

    def _append(self, entries: Mapping[TopicPartition, Batches]) -> AppendOutcomes | None:
        outcomes = self._ports.replicas.append(
            entries,
            acks=self._acks,
            timeout_ms=self._timeout_ms,
            later=self._later,
            internal_allowed=self._internal_allowed,
        )
        if outcomes is None:
            self._entries.clear()
        return outcomes

    def _append_in_steps(
        self, checked: Mapping[TopicPartition, Batches], entries: Iterable[tuple[TopicPartition, Batches]]
    ) -> Steps[AppendOutcomes | None]:
        outcomes = yield from self._ports.replicas.append_in_steps(
            self._dropped_one_by_one(checked, entries),
            acks=self._acks,
            timeout_ms=self._timeout_ms,
            later=self._later,
            internal_allowed=self._internal_allowed,
        )
        self._entries.clear()
        return outcomes

    def _dropped_one_by_one(
        self, checked: Mapping[TopicPartition, Batches], entries: Iterable[tuple[TopicPartition, Batches]]
    ) -> Iterator[tuple[TopicPartition, Batches]]:
        """The batches; each is freed when the next one is taken, rather than all of them at the end."""
        held: Sequence[Mapping[TopicPartition, object]] = (checked, self._entries)
        for entry in entries:
            yield entry
            for batches in held:
                cast("dict[TopicPartition, object]", batches)[entry[0]] = None

    def _in_slices(self, steps: Steps[AppendOutcomes | None]) -> AppendOutcomes | None:
        return self._ports.slices.result_of(steps, self._later, self._on_append_failed)

    def _on_append_failed(self, error: Exception) -> None:
        """A bug of ours, after some partitions were written; which ones is unknown."""
        entries = self._entries
        _log.error("a produce to %d partitions failed", len(entries), exc_info=error)
        self._later({key: AppendOutcome(ErrorCode.UNKNOWN_SERVER_ERROR) for key in entries})


def is_light(entries: Mapping[TopicPartition, Buffer]) -> bool:
    """Whether the log can check all batches as it appends them, well within a millisecond."""
    size_bytes = 0
    for batches in entries.values():
        size_bytes += len(batches)
        if size_bytes > LIGHT_BYTES_MAX:
            return False
        if len(batches) >= HEADER_BYTES and batches[ATTRIBUTES_LOW_AT] & CODEC_MASK:
            return False
    return True
