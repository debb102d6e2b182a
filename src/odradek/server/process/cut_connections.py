"""Connections whose bytes a test holds back, one way or both: the cut network of a broker under test.

    cut = Cuttable()
    create_connection(lambda: cut.wrap(protocol))
    cut.hold(frozenset({Way.IN}))        what arrives is not read; what is written goes out
    cut.hold(frozenset(Way))             nothing goes through, as behind a firewall that drops packets
    cut.hold(frozenset())                everything goes on, in the order in which it was written

Nobody at either end sees a cut: connections stay open and silent, and one that is made meanwhile looks as if
nobody answered. What was held arrives afterwards, however old it is, also on a connection that this end has
given up. A connection that was made during a cut and ended at the other end before its end was never there.

Invariant: within a connection no byte is lost, doubled or moved before another. A protocol sees
`connection_made` first and `connection_lost` last, each once.
"""

import asyncio
from collections.abc import Iterable
from typing import Any, cast

from odradek.base.buffers import Buffer
from odradek.net.server_connection import Transport
from odradek.server.faults.rules import Way

_IGNORED_BYTES = 64 * 1024
"""How much is read at once of what nobody wants any more."""


class Cuttable:
    """Connections of one kind, on one loop."""

    def __init__(self) -> None:
        self.held: frozenset[Way] = frozenset()
        """In which directions nothing goes through."""
        self._connections: set[_Cut] = set()

    def wrap(self, protocol: asyncio.BufferedProtocol) -> asyncio.BufferedProtocol:
        """Returns a protocol for a transport that stands between the transport and `protocol`."""
        return _Cut(self, protocol)

    def hold(self, ways: frozenset[Way]) -> None:
        """Hold back what goes in these directions from now on, and nothing else."""
        self.held = ways
        for connection in list(self._connections):
            connection.follow()

    def end(self) -> None:
        """Close all connections at once, as the end of the process does."""
        for connection in list(self._connections):
            connection.end()

    def add(self, connection: "_Cut") -> None:
        """A connection was made."""
        self._connections.add(connection)

    def forget(self, connection: "_Cut") -> None:
        """A connection has ended on both sides."""
        self._connections.discard(connection)


class CutConnections:
    """All connections of one broker with others."""

    def __init__(self) -> None:
        self.brokers = Cuttable()
        """With other brokers, whoever made them."""
        self.store = Cuttable()
        """With the metadata store, if another process serves it."""

    def end(self) -> None:
        """See `Cuttable.end`."""
        self.brokers.end()
        self.store.end()


class _Cut(asyncio.BufferedProtocol):
    """Protocol of a transport, and transport of a protocol: a `Transport` for the one within."""

    def __init__(self, owner: Cuttable, inner: asyncio.BufferedProtocol) -> None:
        self._owner = owner
        self._inner = inner
        self._loop = asyncio.get_running_loop()
        # None before the connection is made.
        self._outer: Transport | None = None
        # Whether the transport has ended, and with which error.
        self._is_lost = False
        self._error: Exception | None = None
        # What the inner protocol was told, and what it has asked for.
        self._was_made = self._was_told_lost = False
        self._is_closing = False
        self._wants_no_bytes = False
        # Whether the transport reads nothing, for the inner protocol or for the cut.
        self._is_paused = False
        # Written and not passed on, oldest first, with its size.
        self._unsent: list[Buffer] = []
        self._unsent_bytes = 0

    # --- called by the owner

    def follow(self) -> None:
        """Do what was put off, as far as it is possible now."""
        held, outer = self._owner.held, self._outer
        if outer is None:
            return
        if not self._was_made and not held and not self._is_lost:
            self._was_made = True
            self._inner.connection_made(cast(asyncio.BaseTransport, self))
        if Way.OUT not in held and not self._is_lost:
            unsent, self._unsent, self._unsent_bytes = self._unsent, [], 0
            if unsent:
                outer.writelines(unsent)
            if self._is_closing:
                outer.close()
        if self._was_made and self._is_lost and (Way.IN not in held or self._is_closing):
            self._tell_lost(self._error)
        self._read_or_not()

    def end(self) -> None:
        """Close at once; the protocol is told, unless it has ended the connection itself."""
        if self._outer is not None and not self._is_lost:
            self._outer.abort()

    # --- asyncio's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See `asyncio.BaseProtocol.connection_made`; during a cut nobody hears of it."""
        self._outer = cast(Transport, transport)
        self._owner.add(self)
        self.follow()

    def get_buffer(self, sizehint: int) -> bytearray | memoryview:
        """See `asyncio.BufferedProtocol.get_buffer`."""
        if self._is_closing:
            return bytearray(_IGNORED_BYTES)
        return cast(memoryview, self._inner.get_buffer(sizehint))

    def buffer_updated(self, nbytes: int) -> None:
        """See `asyncio.BufferedProtocol.buffer_updated`."""
        if not self._is_closing:
            self._inner.buffer_updated(nbytes)

    def eof_received(self) -> bool | None:
        """See `asyncio.BufferedProtocol.eof_received`."""
        return None if self._is_closing else self._inner.eof_received()

    def pause_writing(self) -> None:
        """See `asyncio.BaseProtocol.pause_writing`."""
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        """See `asyncio.BaseProtocol.resume_writing`."""
        self._inner.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """See `asyncio.BaseProtocol.connection_lost`; the news that the peer has gone may be held back."""
        self._is_lost, self._error = True, exc
        self._unsent.clear()
        self._unsent_bytes = 0
        if self._was_told_lost or not self._was_made:
            self._owner.forget(self)
        else:
            self.follow()

    # --- the inner protocol's side: `Transport`

    def get_extra_info(self, name: str, default: Any = None) -> Any:  # noqa: ANN401 - whatever `name` is of
        """See `Transport.get_extra_info`."""
        return self._transport.get_extra_info(name, default)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """See `Transport.set_write_buffer_limits`; what is held back does not count."""
        self._transport.set_write_buffer_limits(high=high, low=low)

    def get_write_buffer_size(self) -> int:
        """See `Transport.get_write_buffer_size`."""
        return self._transport.get_write_buffer_size() + self._unsent_bytes

    def write(self, data: Buffer) -> None:
        """See `Transport.write`."""
        self.writelines([data])

    def writelines(self, list_of_data: Iterable[Buffer]) -> None:
        """See `Transport.writelines`."""
        if self._is_closing:
            return
        if Way.OUT in self._owner.held:
            # A copy: a file's slice may be read into the same memory as the next one.
            for data in list_of_data:
                self._unsent.append(bytes(data))
                self._unsent_bytes += len(data)
        elif not self._is_lost:
            self._transport.writelines(list_of_data)

    def pause_reading(self) -> None:
        """See `Transport.pause_reading`."""
        self._wants_no_bytes = True
        self._read_or_not()

    def resume_reading(self) -> None:
        """See `Transport.resume_reading`."""
        self._wants_no_bytes = False
        self._read_or_not()

    def is_closing(self) -> bool:
        """See `Transport.is_closing`."""
        return self._is_closing or self._is_lost or self._transport.is_closing()

    def close(self) -> None:
        """See `Transport.close`; the other end hears of it after the cut."""
        self._close(self._transport.close)

    def abort(self) -> None:
        """See `Transport.abort`; the other end hears of it after the cut."""
        self._close(self._transport.abort)

    # --- within

    @property
    def _transport(self) -> Transport:
        assert self._outer is not None, "a transport that is used was made"
        return self._outer

    def _close(self, close_now: Any) -> None:  # noqa: ANN401 - `close` or `abort`
        if self._is_closing:
            if Way.OUT not in self._owner.held:
                close_now()
            return
        self._is_closing = True
        if Way.OUT in self._owner.held or self._is_lost:
            self._loop.call_soon(self._tell_lost, self._error)
        else:
            close_now()

    def _tell_lost(self, error: Exception | None) -> None:
        if self._is_lost:
            self._owner.forget(self)
        if not self._was_told_lost:
            self._was_told_lost = True
            self._inner.connection_lost(error)

    def _read_or_not(self) -> None:
        if self._outer is None or self._is_lost or self._outer.is_closing():
            return
        wanted = self._wants_no_bytes or Way.IN in self._owner.held or not self._was_made
        if wanted and not self._is_paused:
            self._outer.pause_reading()
        elif self._is_paused and not wanted:
            self._outer.resume_reading()
        self._is_paused = wanted
