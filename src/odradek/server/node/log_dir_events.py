"""Tells the controller that a log directory of this broker failed, by a node of the metadata store (R6).

The node says which broker it is, as in Kafka. The controller then asks the broker about its replicas, and
elects other leaders for those that were in the directory. Before that, a partition whose leader was in it
serves nobody.

    announce_failure     Create(log_dir_event_)
    Created              done; a directory that failed meanwhile is announced by another node
    anything else        again when the connection is back, or with the next round
    the session ends     again with the next round; a controller asks every broker that registers, too
"""

from odradek.base.ids import BrokerId
from odradek.metadata import codec, paths
from odradek.metadata.store import Create, Created, Reconnected, Result, SessionEnded, SessionOpened
from odradek.server.node.store_session import SessionEvent, StoreSession


class LogDirEvents:
    """The announcements of one broker; at most one is under way."""

    def __init__(self, broker_id: BrokerId, session: StoreSession) -> None:
        self._broker_id = broker_id
        self._session = session
        # Whether a directory has failed for which no announcement was begun.
        self._is_due = False
        # Whether an announcement has no outcome yet.
        self._is_announcing = False
        session.join(self)

    def announce_failure(self) -> None:
        """A log directory has failed, and its partitions are hosted no more."""
        self._is_due = True
        self.announce()

    def announce(self) -> None:
        """Write the announcement that is due, if any; also called every few seconds."""
        if not self._is_due or self._is_announcing:
            return
        self._is_due, self._is_announcing = False, True
        event = codec.encode_log_dir_event(self._broker_id)
        self._session.submit(Create(paths.LOG_DIR_EVENT_PREFIX, event, sequential=True), self._on_announced)

    def on_session_event(self, event: SessionEvent) -> None:
        """See `SessionUser.on_session_event`: no answer comes from another session."""
        match event:
            case SessionOpened() | SessionEnded():
                self._is_due |= self._is_announcing
                self._is_announcing = False
            case Reconnected():
                self.announce()

    def _on_announced(self, result: Result) -> None:
        self._is_announcing = False
        if isinstance(result, Created):
            self.announce()
        else:  # the node may exist: then the controller asks twice
            self._is_due = True
