"""The fetch session with one node (KIP-227): after a full request, only what changed is sent.

first request     session 0, epoch 0, all partitions       answered with session 17
second            session 17, epoch 1, what changed, what is to be forgotten
an error          session 17, epoch 0: a new one takes its place
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from odradek.base.ids import LeaderEpoch, Offset, TopicId, TopicPartition

_NO_SESSION: Final = 0
_FIRST_EPOCH: Final = 0
_EPOCH_MAX: Final = 0x7FFFFFFF


class Wanted(NamedTuple):
    """What a request asks of one partition."""

    topic_id: TopicId
    offset: Offset
    leader_epoch: LeaderEpoch
    last_epoch: LeaderEpoch


class SessionRequest(NamedTuple):
    """What the next request carries."""

    session_id: int
    epoch: int
    changed: Mapping[TopicPartition, Wanted]
    """All partitions in a full request."""
    forgotten: Mapping[TopicPartition, TopicId]


class FetchSession:
    """See the module."""

    def __init__(self) -> None:
        self._id = _NO_SESSION
        # The epoch of the next request; _FIRST_EPOCH for a full one.
        self._epoch = _FIRST_EPOCH
        # What the broker has of the session's partitions, if the last request was answered.
        self._partitions: dict[TopicPartition, Wanted] = {}

    @property
    def partitions(self) -> Mapping[TopicPartition, Wanted]:
        """What the last request asked for, as a whole."""
        return self._partitions

    @property
    def is_full(self) -> bool:
        """Whether the request under way names all partitions, and so needs no session."""
        return self._epoch == _FIRST_EPOCH

    def next_request(self, wanted: Mapping[TopicPartition, Wanted]) -> SessionRequest:
        """The request that makes the session hold exactly `wanted`."""
        before = self._partitions
        self._partitions = dict(wanted)
        if self._epoch == _FIRST_EPOCH:
            return SessionRequest(self._id, self._epoch, wanted, {})
        changed = {one: want for one, want in wanted.items() if before.get(one) != want}
        forgotten = {
            one: had.topic_id
            for one, had in before.items()
            if one not in wanted or wanted[one].topic_id != had.topic_id
        }
        return SessionRequest(self._id, self._epoch, changed, forgotten)

    def is_answer_to(self, named: set[TopicPartition]) -> bool:
        """Whether an answer that names these partitions fits the last request (C4)."""
        if self._epoch == _FIRST_EPOCH:
            return named == self._partitions.keys()
        return named <= self._partitions.keys()

    def answered(self, session_id: int) -> None:
        """The broker answered; 0 means that it keeps no session."""
        if session_id == _NO_SESSION:
            self.lost()
        else:
            self._epoch = 1 if self._epoch == _EPOCH_MAX else self._epoch + 1
            self._id = session_id

    def failed(self) -> None:
        """What the broker has is not known: the next request is a full one, in place of this session."""
        self._epoch = _FIRST_EPOCH

    def lost(self) -> None:
        """The broker does not have the session."""
        self._id, self._epoch = _NO_SESSION, _FIRST_EPOCH
