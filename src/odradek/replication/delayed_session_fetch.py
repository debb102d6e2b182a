"""A fetch of a session that waits: it looks only at partitions that had an event since its last look (F10).

Invariant: `_gathered` has the bytes that each partition had when it was last looked at, and a quiet partition
has none. So the sum is the one over all partitions of the session (F1 to F9), whatever their number.

    parked with p7 unread, 40 bytes    gathered 40 of 100
    an append to p3                    p3 is unseen
    woken for p3                       p3 is looked at: gathered 40 + 80, complete
                                       p3 and p7 are read, and answered
"""

from collections.abc import Callable, Hashable
from typing import ClassVar

from odradek.base.execution import ITEMS_PER_STEP, Later, Steps
from odradek.base.ids import TopicPartition
from odradek.replication.delayed_fetch import describe_waiting
from odradek.replication.delayed_result import DelayedAnswer
from odradek.replication.fetch_request import FetchParams
from odradek.replication.fetch_session import SessionOutcomes
from odradek.replication.metering import Meters
from odradek.replication.readable import COMPLETES_AT_ONCE, GatheredBytes, Readable
from odradek.replication.session_news import SessionNews, SessionPartition, Unseen
from odradek.timer import Purgatory


class DelayedSessionFetch(DelayedAnswer[SessionOutcomes]):
    """One incremental fetch; watched under all partitions of its session (D3)."""

    __slots__ = (
        "_finish",
        "_gathered",
        "_meters",
        "_news",
        "_params",
        "_readable",
        "_unseen",
    )

    kind: ClassVar[str] = "fetch"

    def __init__(
        self,
        deadline_ms: int,
        params: FetchParams,
        news: SessionNews,
        unseen: Unseen,
        readable: Readable,
        meters: Meters,
        finish: Callable[[Later[SessionOutcomes]], None],
        later: Later[SessionOutcomes],
    ) -> None:
        """`finish` reads again and passes the outcomes to the callback that it is given."""
        super().__init__(deadline_ms, later)
        self._params = params
        self._news = news
        self._unseen = unseen
        """The partitions to look at; the session's next fetch has another set."""
        self._readable = readable
        self._meters = meters
        self._finish = finish
        self._gathered: GatheredBytes[SessionPartition] = GatheredBytes(params)

    def stand(self, purgatory: Purgatory[TopicPartition]) -> bool:
        """Watch the fetch under all partitions; returns True if it is complete already."""
        self._is_parked = not purgatory.try_complete_else_stand(self, self._news)
        return not self._is_parked

    def stand_in_steps(self, purgatory: Purgatory[TopicPartition]) -> Steps[bool]:
        """`stand` where very many partitions are unread: a few are looked at in each step."""
        while len(self._unseen) > ITEMS_PER_STEP and not self._look(ITEMS_PER_STEP):
            yield
        return self.stand(purgatory)

    def try_complete(self) -> bool:
        """F2, F6: complete because of one partition (cases A to F, H), or because of the sum (case G).

        Also once the session's next fetch has begun: then the client does not wait for this one any more.
        """
        return self._look(len(self._unseen)) and self.force_complete()

    def try_complete_for(self, key: Hashable) -> bool:
        """`try_complete` by a few partitions: for each of the others, this is called again."""
        return self._look(ITEMS_PER_STEP) and self.force_complete()

    def _look(self, at_most: int) -> bool:
        """Look at some of the unseen partitions; returns whether the fetch is complete."""
        if self._news.unseen is not self._unseen:
            return True
        for _ in range(min(len(self._unseen), at_most)):
            partition, _ = self._unseen.popitem()
            partition.listen()
            count = self._readable.count(self._params, partition.fetch, partition.start)
            if count is COMPLETES_AT_ONCE:
                self._unseen[partition] = None
                return True
            self._gathered.put(partition, count)
        return self._gathered.is_enough

    def on_complete(self) -> None:
        """F7: read again. Before the fetch is parked, the caller of `stand` does that.

        Nothing is read if the session's next fetch has begun: the answer is an error of the session then.
        """
        if not self._is_parked:
            return
        if self._news.unseen is self._unseen:
            self._finish(self._later)
        else:
            self._later(())

    def on_abandoned(self) -> None:
        """See `DelayedAnswer.on_abandoned`."""
        super().on_abandoned()
        self._finish = _drop
        self._gathered = GatheredBytes(self._params)

    def on_expiration(self) -> None:
        """Count the expiry in the meters."""
        self._meters.note_fetch_expiration(from_follower=self._params.is_from_follower)

    def waits_for(self) -> str:
        """See `describe_waiting`."""
        return describe_waiting(self._params, self._gathered.sum_bytes, self._news.entries)


def _drop(later: Later[SessionOutcomes]) -> None:
    """The `finish` of an abandoned fetch."""
