"""Whether this broker still leads what it believes to lead: a coordinator reads only by such roles (R19).

A leader that was deposed and does not know it writes nothing, because a write waits for the followers. A
read waits for nobody, so its answer may be older than what the next leader has answered. A broker may have
been deposed without its knowledge in two cases:

    it stood still for half the timeout      no role is confirmed until the metadata store has answered
    its session ended                        a role is confirmed by the next LeaderAndIsr that names it: the
                                             controller sends all roles to a broker that registers

Half: the lease of a session begins with the last heartbeat, which may be a third of the timeout older than
the stand-still.

A broker that cannot reach the store keeps its roles: whether the store or the broker is cut off is unknown.
If it gives up a session with a silent store, without the store's word, its roles are in doubt only once there
is a next session.
"""

from collections.abc import Callable, Iterable
from typing import Final

from odradek.base.clock import Clock
from odradek.base.ids import NO_EPOCH, TopicPartition
from odradek.metadata import paths
from odradek.metadata.store import Exists, Failed, Fault, Result, SessionEnded, SessionOpened
from odradek.server.node.store_session import SessionEvent, StoreSession

TICKS_PER_TIMEOUT: Final = 3
"""How often in a session timeout the broker looks at the clock."""

STAND_STILLS_PER_TIMEOUT: Final = 2
"""Which part of a session timeout without a look at the clock may have ended the session."""


class ConfirmedRoles:
    """The roles of one broker; see the module's head."""

    def __init__(
        self,
        session: StoreSession,
        registered_epoch: Callable[[], int],
        clock: Clock,
        session_timeout_ms: Callable[[], int],
    ) -> None:
        """`registered_epoch` returns the epoch of the broker's last registration."""
        self._session = session
        self._registered_epoch = registered_epoch
        self._clock = clock
        self._session_timeout_ms = session_timeout_ms
        # When the last tick was; None before the first: whoever has no ticks cannot stand still.
        self._ticked_ms: int | None = None
        # Whether the store was asked after a time without ticks, and has not answered.
        self._is_asking = False
        # The highest epoch of a registration in an order that was obeyed.
        self._ordered_epoch = NO_EPOCH
        # Whether the last session ended without the store's word, and no session has been opened since.
        self._is_untold = False
        # The last registration whose session has ended, if any: roles ordered for it are in doubt.
        self._ended_epoch: int | None = None
        # The roles that were ordered for a later registration (the values mean nothing).
        self._ordered: dict[TopicPartition, None] = {}
        session.join(self)

    @property
    def tick_ms(self) -> int:
        """After how many milliseconds the next tick is due at the latest."""
        return max(1, self._session_timeout_ms() // TICKS_PER_TIMEOUT)

    def tick(self) -> None:
        """Called every `tick_ms`, or more often, where other brokers may take over the roles of this one."""
        if self._stood_still and not self._is_asking:
            self._is_asking = True
            self._session.submit(Exists(paths.BROKERS), self._on_answered)
        self._ticked_ms = self._clock.monotonic_ms()

    def is_confirmed(self, topic_partition: TopicPartition) -> bool:
        """Whether the role in this partition, if there is one, is the one that the controller knows."""
        if self._is_asking or self._stood_still:
            return False
        return self._ended_epoch is None or topic_partition in self._ordered

    def on_roles(self, partitions: Iterable[TopicPartition], broker_epoch: int) -> None:
        """Called with the partitions of a LeaderAndIsr for that registration, once it is obeyed."""
        self._ordered_epoch = max(self._ordered_epoch, broker_epoch)
        if self._ended_epoch is not None and broker_epoch > self._ended_epoch:
            self._ordered.update(dict.fromkeys(partitions))

    def on_session_event(self, event: SessionEvent) -> None:
        """See `SessionUser.on_session_event`: no answer comes from another session."""
        match event:
            case SessionEnded(is_told):
                if is_told or self._is_asking or self._stood_still:
                    self._doubt()
                else:
                    self._is_untold = True
            case SessionOpened():
                if self._is_untold:
                    self._doubt()
            case _:
                pass

    @property
    def _stood_still(self) -> bool:
        ticked_ms = self._ticked_ms
        return ticked_ms is not None and (
            self._clock.monotonic_ms() - ticked_ms >= self._session_timeout_ms() // STAND_STILLS_PER_TIMEOUT
        )

    def _doubt(self) -> None:
        """Confirm no role that was ordered until now."""
        self._is_asking = self._is_untold = False
        self._ended_epoch = max(self._ordered_epoch, self._registered_epoch())
        self._ordered.clear()

    def _on_answered(self, result: Result) -> None:
        if isinstance(result, Failed) and result.fault is Fault.SESSION_EXPIRED:
            self._doubt()  # there was no session to ask in
        self._is_asking = False
