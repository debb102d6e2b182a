"""One member of a classic group: who it is, what it offered, what it waits for."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from odradek.base.chance import Chance
from odradek.wire.messages.join_group import JoinGroupResponse
from odradek.wire.messages.sync_group import SyncGroupResponse

Protocols: TypeAlias = tuple[tuple[str, bytes], ...]
"""The assignment strategies that a member offers, the one it likes best first, each with its metadata."""
RespondToJoin: TypeAlias = Callable[[JoinGroupResponse], None]
RespondToSync: TypeAlias = Callable[[SyncGroupResponse], None]

NAME_CHARACTERS_MAX: Final = 8_000
"""Of a client's or an instance's name, in a member id; a character is up to four bytes."""


@dataclass(slots=True)
class Member:
    """A member, from its first join on until it leaves, expires or is replaced."""

    member_id: str
    """Given out by the coordinator; unique in the group, never reused."""
    instance_id: str | None
    """`group.instance.id` of a static member (KIP-345); None for a dynamic one."""
    client_id: str
    client_host: str
    session_timeout_ms: int
    """The session timeout: it must send a request within this time."""
    rebalance_timeout_ms: int
    """How long it may take to join again once a rebalance has begun, and to sync."""
    protocols: Protocols
    """Never empty."""
    assignment: bytes = b""
    """Its assignment in the current generation; empty until that is written."""
    is_new: bool = False
    """Whether its first join is not answered yet: then it can expire while it waits (G2)."""
    awaiting_join: RespondToJoin | None = None
    """Its parked JoinGroup; None outside PreparingRebalance."""
    awaiting_sync: RespondToSync | None = None
    """Its parked SyncGroup; None outside CompletingRebalance."""
    last_heartbeat_ms: int = 0
    """When its last request came, on the monotonic clock."""
    session_until_ms: int = 0
    """When it is removed, unless a request comes before; on the monotonic clock."""
    session: int = 0
    """The number of the delayed heartbeat of its current session; earlier ones are obsolete."""
    watched_until_ms: int | None = None
    """The deadline of that delayed heartbeat, at most `session_until_ms`; None while there is none."""

    @property
    def is_static(self) -> bool:
        """Whether it keeps its place when it is away (KIP-345)."""
        return self.instance_id is not None

    @property
    def is_waiting(self) -> bool:
        """Whether it waits for an answer of the coordinator."""
        return self.awaiting_join is not None or self.awaiting_sync is not None

    def metadata(self, protocol: str) -> bytes:
        """What it offered with that protocol; empty when it never did."""
        return next((metadata for name, metadata in self.protocols if name == protocol), b"")

    def favourite(self, candidates: frozenset[str]) -> str:
        """The protocol that it prefers among `candidates`, all of which it offers."""
        return next(name for name, _ in self.protocols if name in candidates)


def new_member_id(caller_name: str, chance: Chance) -> str:
    """Returns a new member id: the instance or client id, for readers, and a UUID.

    A very long name is cut, because name and UUID must fit into a record, in 32,767 bytes.
    """
    return f"{caller_name[:NAME_CHARACTERS_MAX]}-{chance.uuid()}"
