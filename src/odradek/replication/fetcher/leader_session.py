"""The follower's side of a fetch session (KIP-227); the leader's is `replication.fetch_session`.

Invariant: a request costs time for the partitions that changed since the last request, never for all of them;
only a request that opens a session names all partitions.

    want(p1), want(p2)    request(): id 0, epoch 0, asks p1 p2     on_answer(id 7): open
    want(p1, offset 5)    request(): id 7, epoch 1, asks p1        on_answer(id 7)
    leave(p2)             request(): id 7, epoch 2, forgets p2     FETCH_SESSION_ID_NOT_FOUND: lost
                          request(): id 0, epoch 0, asks p1        a new one

A partition that left the session and is wanted again takes two requests: the first removes it from the
session, the second adds it. The leader remembers what it sent of a partition (HW, log start) and does not
send it again, even if the follower dropped the answer; for a partition that is added again it sends all.
"""

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import TopicPartition
from odradek.replication.fetch_session import INITIAL_EPOCH, NO_SESSION_ID, epoch_after
from odradek.replication.fetcher.asks import FetchAsk, PartitionAsk


class LeaderSession:
    """The session of one fetcher with its leader; at most one request is under way."""

    __slots__ = ("_next_epoch", "_sent", "_to_forget", "_unsent", "_wanted", "session_id")

    def __init__(self) -> None:
        self.session_id = NO_SESSION_ID
        """As the leader gave it; 0 while there is none."""
        self._next_epoch = INITIAL_EPOCH
        """The session epoch of the next request; 0 opens a session."""
        self._wanted: dict[TopicPartition, PartitionAsk] = {}
        """The partitions to fetch; the most recently answered one comes last."""
        self._sent: dict[TopicPartition, PartitionAsk] = {}
        """The partitions in the leader's session, once the latest request has reached it."""
        self._unsent: dict[TopicPartition, None] = {}
        """Wanted partitions that were not sent yet, or changed since they were sent."""
        self._to_forget: dict[TopicPartition, None] = {}
        """Partitions that were sent and have left since; some may be wanted again."""

    def __len__(self) -> int:
        return len(self._wanted)

    def want(self, ask: PartitionAsk) -> None:
        """Fetch a partition, or fetch it differently."""
        key = ask.topic_partition
        self._wanted.pop(key, None)
        self._wanted[key] = ask
        if key in self._to_forget or self._sent.get(key) != ask:
            self._unsent[key] = None
        else:
            self._unsent.pop(key, None)

    def leave(self, key: TopicPartition) -> None:
        """Stop fetching a partition."""
        if self._wanted.pop(key, None) is not None:
            self._unsent.pop(key, None)
            self.request_anew(key)

    def request_anew(self, key: TopicPartition) -> None:
        """Make the leader send everything about the partition again, because its last answer was dropped."""
        if key in self._sent:
            self._to_forget[key] = None
            if key in self._wanted:
                self._unsent[key] = None

    def asked(self, key: TopicPartition) -> PartitionAsk | None:
        """The partition as last sent to the leader; None if it is not in the leader's session."""
        return self._sent.get(key)

    def request(self) -> FetchAsk:
        """Returns the next request. At least one partition must be wanted."""
        assert self._wanted, "a fetch of nothing"
        if self._next_epoch == INITIAL_EPOCH:
            self._sent = dict(self._wanted)
            self._unsent.clear()
            self._to_forget.clear()
            return FetchAsk(self.session_id, INITIAL_EPOCH, list(self._wanted.values()))
        forgotten = [self._sent.pop(key) for key in self._to_forget]
        asks = [self._wanted[key] for key in self._unsent if key not in self._to_forget]
        for ask in asks:
            self._sent[ask.topic_partition] = ask
            del self._unsent[ask.topic_partition]
        self._to_forget.clear()
        return FetchAsk(self.session_id, self._next_epoch, asks, forgotten, may_wait=not self._unsent)

    def on_answer(self, session_id: int, error_code: ErrorCode = ErrorCode.NONE) -> bool:
        """Called on the leader's answer; returns False if the session is lost and no partition answered."""
        is_first = self._next_epoch == INITIAL_EPOCH
        if error_code is not ErrorCode.NONE or not (
            is_first or session_id in (NO_SESSION_ID, self.session_id)
        ):
            self.on_lost(is_unknown=error_code is ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
            return False
        self.session_id = session_id
        has_session = session_id != NO_SESSION_ID
        self._next_epoch = epoch_after(self._next_epoch) if has_session else INITIAL_EPOCH
        return True

    def on_lost(self, *, is_unknown: bool = False) -> None:
        """Open a new session with the next request, which also closes the old one if the leader has it."""
        if is_unknown:
            self.session_id = NO_SESSION_ID
        self._next_epoch = INITIAL_EPOCH
