"""The follower's side of a fetch session (KIP-227); the leader's is `replication.fetch_session`.

Invariant: the work for a request is in what has changed since the last one, never in all partitions; only a
request that opens a session names them all.

    want(p1), want(p2)    request(): id 0, epoch 0, asks p1 p2     on_answer(id 7): open
    want(p1, offset 5)    request(): id 7, epoch 1, asks p1        on_answer(id 7)
    leave(p2)             request(): id 7, epoch 2, forgets p2     FETCH_SESSION_ID_NOT_FOUND: lost
                          request(): id 0, epoch 0, asks p1        a new one

What has left a session is forgotten there before it is asked for again, in two requests. For the leader
remembers what it has told of a partition (HW, log start) and does not tell it twice, also where the follower
dropped the answer; a partition that is named anew is told everything.
"""

from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import TopicPartition
from odradek.replication.fetch_session import INITIAL_EPOCH, NO_SESSION_ID, epoch_after
from odradek.replication.fetcher.asks import FetchAsk, PartitionAsk

SESSION_ERRORS: Final = frozenset(
    {
        ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
        ErrorCode.INVALID_FETCH_SESSION_EPOCH,
        ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
    }
)
"""What a leader answers when it does not have the session, or not as the follower believes."""


class LeaderSession:
    """The session of one fetcher with its leader; at most one request is under way."""

    __slots__ = ("_next_epoch", "_sent", "_to_forget", "_unsent", "_wanted", "session_id")

    def __init__(self) -> None:
        self.session_id = NO_SESSION_ID
        """As the leader gave it; 0 while there is none."""
        self._next_epoch = INITIAL_EPOCH
        """What the next request carries; 0 opens a session."""
        self._wanted: dict[TopicPartition, PartitionAsk] = {}
        """What is to be fetched from now on; what was answered last comes last."""
        self._sent: dict[TopicPartition, PartitionAsk] = {}
        """What the leader fetches by, once the latest request has reached it."""
        self._unsent: dict[TopicPartition, None] = {}
        """What is wanted otherwise than it was sent, or was not sent."""
        self._to_forget: dict[TopicPartition, None] = {}
        """What was sent and has left since; some of it may be wanted again."""

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
        """Fetch a partition no longer."""
        if self._wanted.pop(key, None) is not None:
            self._unsent.pop(key, None)
            self.tell_anew(key)

    def tell_anew(self, key: TopicPartition) -> None:
        """What the leader told last of the partition was dropped: let it tell everything again."""
        if key in self._sent:
            self._to_forget[key] = None
            if key in self._wanted:
                self._unsent[key] = None

    def asked(self, key: TopicPartition) -> PartitionAsk | None:
        """How the latest request has the leader fetch a partition; None: not at all."""
        return self._sent.get(key)

    def request(self) -> FetchAsk:
        """The next request; something is wanted."""
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
        """The leader has answered; False when the session is lost, and no partition was answered."""
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
        """Open a new one with the next request, which closes the old one where the leader knows it."""
        if is_unknown:
            self.session_id = NO_SESSION_ID
        self._next_epoch = INITIAL_EPOCH
