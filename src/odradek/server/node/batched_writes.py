"""Conditional writes to the metadata store, those of one turn of the loop in one request.

When a follower dies, its leaders shrink thousands of ISRs at once. Their writes do not depend on each other.
They go as one `Multi`, or as several that do not wait for each other:

    submit(a), submit(b)       a turn later: Multi(a, b)
    Committed                  a and b each get their result
    a conflict                 nothing was done: a and b are submitted singly, and only the losing one fails
    CONNECTION_LOSS            both get it: it is unknown whether they were done

Invariant: each write gets one result, or the session ends first and it gets none.
"""

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from odradek.base.execution import Defer
from odradek.metadata.store import Committed, Failed, Fault, Multi, Result, SetData
from odradek.metadata.tree import size_of
from odradek.server.node.store_session import StoreSession

WRITES_PER_REQUEST_MAX: Final = 100
"""How many writes are in a request, if the store does not take fewer: a conflict makes as many requests."""
_CONFLICTS: Final = frozenset({Fault.BAD_VERSION, Fault.NO_NODE})

_Write: TypeAlias = tuple[SetData, Callable[[Result], None]]


class BatchedWrites:
    """The conditional writes of one user of the session."""

    def __init__(self, session: StoreSession, defer: Defer) -> None:
        self._session = session
        self._defer = defer
        # The writes of this turn, in order; a turn that sends them is requested while there are any.
        self._waiting: list[_Write] = []

    def submit(self, write: SetData, replied: Callable[[Result], None]) -> None:
        """Write soon; `replied` is called once with the result, unless the session ends first."""
        self._waiting.append((write, replied))
        if len(self._waiting) == 1:
            self._defer(self._send)

    def forget(self) -> None:
        """Called when the session ends: what was not sent is not sent in the next one."""
        self._waiting.clear()

    def _send(self) -> None:
        waiting, self._waiting = self._waiting, []
        for writes in self._requests(waiting):
            if len(writes) == 1:
                self._session.submit(*writes[0])
            else:
                self._session.submit(
                    Multi(tuple(write for write, _ in writes)),
                    lambda result, writes=writes: self._on_result(writes, result),  # type: ignore[misc]
                )

    def _requests(self, waiting: list[_Write]) -> Iterator[list[_Write]]:
        """Divides the writes into requests that the store takes."""
        limits = self._session.limits
        most = min(WRITES_PER_REQUEST_MAX, limits.multi_operations_max)
        writes: list[_Write] = []
        size_bytes = 0
        for one in waiting:
            write = one[0]
            write_bytes = size_of(write)
            if writes and (len(writes) == most or size_bytes + write_bytes > limits.multi_bytes_max):
                yield writes
                writes, size_bytes = [], 0
            writes.append(one)
            size_bytes += write_bytes
        if writes:
            yield writes

    def _on_result(self, writes: list[_Write], result: Result) -> None:
        if isinstance(result, Failed) and result.fault in _CONFLICTS:
            for write, replied in writes:
                self._session.submit(write, replied)
            return
        results = result.results if isinstance(result, Committed) else [result] * len(writes)
        for (_, replied), each in zip(writes, results, strict=True):
            replied(each)
