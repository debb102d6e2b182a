"""All connections of a broker: admits or refuses new ones, closes idle ones, and counts.

It must not touch sockets, which the connections own, nor read a clock.

One sweep over all connections finds the idle ones, so they need no timers: a connection sets a flag when
bytes move. A sweep clears the flag; if the flag is already clear, it compares the time since it was cleared.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

UNLIMITED = (1 << 31) - 1
SWEEPS_PER_IDLE_TIME = 10
LOOK_AGAIN_MS = 60_000
"""How often to check whether an idle limit was set, while there is none."""


@dataclass(slots=True)
class ConnectionLimits:
    """The limits, which may change while the broker runs."""

    connections_max: int = UNLIMITED
    connections_per_host_max: int = UNLIMITED
    connections_max_because: str = "max.connections"
    """The setting that gives `connections_max`, for the message about a refused connection."""
    idle_ms_max: int = 600_000
    """Negative: no connection is closed for idleness."""


class Addressed(Protocol):
    """The peer of a connection."""

    peer_host: str
    peer_port: int


def address_of(peer: Addressed) -> str:
    """Returns where a connection is from, as host:port; a peer without a port is named by its host alone."""
    return f"{peer.peer_host}:{peer.peer_port}" if peer.peer_port else peer.peer_host


class TrackedConnection(Protocol):
    """The part of a connection that the table uses; `ServerConnection` implements it."""

    peer_host: str
    peer_port: int
    client_id: str
    software: str
    listener: str
    requests: int
    bytes_in: int
    bytes_out: int
    was_active: bool
    idle_since_ms: int

    @property
    def is_handling(self) -> bool:
        """Whether a request is being handled or is parked."""

    @property
    def waiting_requests(self) -> int:
        """How many requests wait behind the one being handled."""

    @property
    def unsent_bytes(self) -> int:
        """Bytes of answers that the peer has not read."""

    def close(self) -> None:
        """Handle no more of its requests; answers already given are still sent."""

    def abort(self) -> None:
        """Close at once."""


class ConnectionTable:
    """The open connections, in the order in which they came."""

    def __init__(self, limits: Callable[[], ConnectionLimits]) -> None:
        """`limits` is called each time they are needed: they may change while the broker runs."""
        self._limits = limits
        # Counts since the start.
        self.opened = 0
        self.refused = 0
        self.closed_idle = 0
        # The counts of closed connections; `totals` adds those of the open ones.
        self._closed_requests = 0
        self._closed_bytes_in = 0
        self._closed_bytes_out = 0
        self._open: dict[TrackedConnection, None] = {}
        # How many of `_open` each host has; never 0.
        self._per_host: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._open)

    def __iter__(self) -> Iterator[TrackedConnection]:
        return iter(list(self._open))

    def admit(self, connection: TrackedConnection) -> str | None:
        """Admit a connection and return None, or return which limit is reached."""
        host = connection.peer_host
        here = self._per_host.get(host, 0)
        limits = self._limits()
        if len(self._open) >= limits.connections_max:
            self.refused += 1
            because, most = limits.connections_max_because, limits.connections_max
            return f"{len(self._open)} are open; {because} allows {most}"
        if here >= limits.connections_per_host_max:
            self.refused += 1
            return (
                f"{here} of {host} are open; max.connections.per.ip allows {limits.connections_per_host_max}"
            )
        self.opened += 1
        self._per_host[host] = here + 1
        self._open[connection] = None
        return None

    def forget(self, connection: TrackedConnection) -> None:
        """Remove a lost connection; one that was refused was never added, and nothing happens."""
        if connection not in self._open:
            return
        del self._open[connection]
        self._closed_requests += connection.requests
        self._closed_bytes_in += connection.bytes_in
        self._closed_bytes_out += connection.bytes_out
        left = self._per_host[connection.peer_host] - 1
        if left:
            self._per_host[connection.peer_host] = left
        else:
            del self._per_host[connection.peer_host]

    def sweep_interval_ms(self) -> int:
        """How often to call `close_idle`."""
        idle_ms = self._limits().idle_ms_max
        return max(1, idle_ms // SWEEPS_PER_IDLE_TIME) if idle_ms >= 0 else LOOK_AGAIN_MS

    def close_idle(self, now_ms: int) -> int:
        """Close connections that moved no byte for `idle_ms_max`; returns how many.

        As in Kafka this includes a connection with a parked request: if the peer sent another request after
        it, the broker does not notice that the peer is gone. Fetches and produces are answered sooner.
        """
        closed = 0
        idle_ms_max = self._limits().idle_ms_max
        if idle_ms_max < 0:
            return closed
        for connection in list(self._open):
            if connection.was_active:
                connection.was_active = False
                connection.idle_since_ms = now_ms
            elif now_ms - connection.idle_since_ms >= idle_ms_max:
                connection.abort()
                closed += 1
        self.closed_idle += closed
        return closed

    def totals(self) -> tuple[int, int, int]:
        """Requests, bytes in and bytes out since the start; O(connections)."""
        return (
            self._closed_requests + sum(connection.requests for connection in self._open),
            self._closed_bytes_in + sum(connection.bytes_in for connection in self._open),
            self._closed_bytes_out + sum(connection.bytes_out for connection in self._open),
        )

    def describe(self) -> Iterator[Mapping[str, Any]]:
        """Yields a description of every open connection."""
        for connection in list(self._open):
            yield {
                "client": address_of(connection),
                "client_id": connection.client_id,
                "software": connection.software,
                "listener": connection.listener,
                "requests": connection.requests,
                "bytes_in": connection.bytes_in,
                "bytes_out": connection.bytes_out,
                "is_handling": connection.is_handling,
                "waiting_requests": connection.waiting_requests,
                "unsent_bytes": connection.unsent_bytes,
            }
