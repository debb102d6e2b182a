"""Commits that come in one turn of the loop, written as one batch: what a batch costs is paid once for all.

Law: the log has them in the order in which they came, and nothing that came later stands before them; so
whoever writes anything else has them written first (`flush`).

    add(a, f)        gathered; the end of the turn is deferred
    add(b, g)        gathered
    the turn ends    a and b are appended as one batch; f and g are told where it stands, or why it does not

A lone commit waits for nobody: its turn ends when the requests that came with it have been looked at. Kafka's
own coordinator gathers likewise, for as long as `group.coordinator.append.linger.ms` says.
"""

from collections.abc import Callable
from typing import Final, TypeAlias

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import Defer
from odradek.coordinator.groups.log_records import KeyValue
from odradek.coordinator.groups.written import WriteDone, Written

BATCH_BYTES_MAX: Final = 64 << 10
"""Keys and values that are gathered at most; a commit that is larger by itself is a batch of its own."""

_TOO_LARGE: Final = (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE)

WriteBatch: TypeAlias = Callable[[list[KeyValue], WriteDone], None]


class GatheredCommits:
    """What was committed to one partition of `__consumer_offsets` in this turn of the loop."""

    __slots__ = ("_commits", "_defer", "_is_due", "_size_bytes", "_write")

    def __init__(self, write: WriteBatch, defer: Defer) -> None:
        """`write` appends records as one batch; `defer` runs a callback when the turn is over."""
        self._write = write
        self._defer = defer
        self._commits: list[tuple[list[KeyValue], WriteDone]] = []
        """In the order in which they came."""
        self._size_bytes = 0
        """Of their keys and values; at most BATCH_BYTES_MAX, unless there is but one commit."""
        self._is_due = False
        """Whether the end of the turn is deferred, and not over."""

    def add(self, records: list[KeyValue], done: WriteDone) -> None:
        """Take the records of one commit; `done` is told when the log has them."""
        size_bytes = sum(len(key) + len(value or b"") for key, value in records)
        if self._size_bytes + size_bytes > BATCH_BYTES_MAX:
            self.flush()
        self._commits.append((records, done))
        self._size_bytes += size_bytes
        if not self._is_due:
            self._is_due = True
            self._defer(self._end_turn)

    def flush(self) -> None:
        """Write what was gathered, if anything was."""
        commits = self._commits
        if not commits:
            return
        self._commits = []
        self._size_bytes = 0
        if len(commits) == 1:
            self._write(*commits[0])
            return

        def written(result: Written) -> None:
            if result.error in _TOO_LARGE:
                # None of them must fail for the company that it was in.
                for records, done in commits:
                    self._write(records, done)
            else:
                _tell(commits, result)

        self._write([record for records, _ in commits for record in records], written)

    def _end_turn(self) -> None:
        self._is_due = False
        self.flush()


def _tell(commits: list[tuple[list[KeyValue], WriteDone]], result: Written) -> None:
    """Tell everybody, also when telling one of them fails: that is our mistake, and not the others'."""
    errors: list[Exception] = []
    for _, done in commits:
        try:
            done(result)
        except Exception as error:
            errors.append(error)
    if errors:
        raise ExceptionGroup(f"{len(errors)} of {len(commits)} commits could not be answered", errors)
