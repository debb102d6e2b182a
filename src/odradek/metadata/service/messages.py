"""What a broker and the process that owns the metadata store say to each other, as values.

A connection carries one session at most. The server speaks first:

    server   Greeting                        the limits of its engine, before anything is submitted
    client   OpenSession, or ResumeSession   a new session, or the one that it had with an earlier process
    server   SessionBegan, or Reconnected    with the key of the new session; or SessionEnded, for both
    client   Submitted(call_id, operation)   any number, without waiting for results
    server   StoreReplied, WatchFired        each result in the order of submission, after earlier events
    both     Heartbeat                       the client's in time, each answered with one; the server's also
                                             while it reads nothing, because too many operations wait
    client   CloseSession                    the server ends the session, then the connection

`Reconnected`, `SessionEnded`, `StoreReplied` and `WatchFired` are the port's own events.
"""

from typing import Final, TypeAlias

from odradek.base.ids import BrokerId
from odradek.base.values import value
from odradek.metadata.store import (
    Operation,
    Reconnected,
    SessionEnded,
    StoreLimits,
    StoreReplied,
    WatchFired,
)

PROTOCOL_VERSION: Final = 1
"""Raised with every change of these messages: both sides come from one installation."""


@value
class SessionKey:
    """Who knows it may resume the session, or end it."""

    session_id: int
    secret: bytes


@value
class Greeting:
    """The server's first message."""

    version: int
    limits: StoreLimits


@value
class OpenSession:
    """Begin a session, which ends when the server has heard nothing for `timeout_ms`."""

    timeout_ms: int
    # Whose session it is: shown to people and to the supervisor, without any meaning for the store.
    broker_id: BrokerId
    # The session that the client had before and has given up; the server ends it first.
    former: SessionKey | None = None


@value
class ResumeSession:
    """Go on with a session that was opened at an earlier process of the server."""

    key: SessionKey


@value
class SessionBegan:
    """The answer to `OpenSession`."""

    key: SessionKey


@value
class Submitted:
    """An operation of the session."""

    call_id: int
    operation: Operation


@value
class Heartbeat:
    """The sender is alive."""


@value
class CloseSession:
    """End the session after all that was submitted."""


ToServer: TypeAlias = OpenSession | ResumeSession | Submitted | Heartbeat | CloseSession
ToClient: TypeAlias = (
    Greeting | SessionBegan | Reconnected | SessionEnded | StoreReplied | WatchFired | Heartbeat
)
Message: TypeAlias = ToServer | ToClient
