"""Which partitions of a fetch session have news, so that its next fetch looks at no others (F10, R10).

Invariant: a partition that is not among the `unread` is *quiet*: its fetch offset is where its reader's
records end, and a fetch of it now would find no error and no offset other than those last sent. Every
partition begins as unread. A fetch that has read it settles it, if it is quiet by then; the next event of
the partition makes it unread again. `Purgatories` is called with each event: an append, a rise of HW, LSO or
log start, a truncation, another role, epoch or ISR, a failed directory.

Invariant: a partition that does not *listen* to events is unread, and the fetch in hand, if there is one, has
yet to read it or has yet to look at it (`unseen`). So the sessions of clients that are gone cost an event of
a partition nothing: each was told of one event.

    p1 p2 p3 unread    a fetch reads all; p1 answers 2 records          p2 and p3 are quiet
    p1 unread          the next fetch names p1, which stands at the end   all are quiet: it waits
                       an append to p3                                  p3 is unread, and unseen by what waits
    p3 unread          it is answered with p3 alone

For a follower, quiet means more: it is in the ISR, HW is the log's end, and so nothing about the partition
has to be decided by its fetches. So a fetch need not touch a quiet partition to note that the follower stands
at its end: all of them share one stamp (`remote_replica`).
"""

from dataclasses import dataclass
from heapq import merge
from operator import attrgetter
from typing import Final, Protocol, TypeAlias

from odradek.base.execution import Steps, listed
from odradek.base.ids import NO_OFFSET, BrokerId, TopicPartition
from odradek.replication.fetch_request import CONSUMER_ID, FetchParams, Isolation, PartitionFetch
from odradek.replication.remote_replica import FetchStamp, RemoteReplica
from odradek.storage.positions import UNKNOWN_POSITION, LogPosition
from odradek.timer import StandingEntry, StandingWatch

Unseen: TypeAlias = "dict[SessionPartition, None]"
SORTED_PER_STEP: Final = 1_000
MERGED_PER_STEP: Final = 100
_BY_TURN: Final = attrgetter("turn")


class PartitionEvents(Protocol):
    """Passes on the events of partitions; the purgatory of fetches does."""

    def add_entry(self, key: TopicPartition, entry: "SessionPartition") -> None:
        """Call the partition's `on_event` on the next event, and on each while a fetch waits."""

    def remove_entry(self, key: TopicPartition, entry: "SessionPartition") -> None:
        """Do so no longer."""


class SessionNews(StandingWatch):
    """What has changed for the client of one session; the watch of its waiting fetches."""

    __slots__ = ("_leader_only", "_reads_as", "_reads_to", "events", "stamp", "unread", "unseen")

    def __init__(self, events: PartitionEvents) -> None:
        super().__init__()
        self.events = events
        self.unread: dict[SessionPartition, None] = {}
        """The partitions that the next fetch reads."""
        self.unseen: Unseen = {}
        """Those of them that the fetch in hand is to look at; a set for each fetch.

        While it waits, each of them had an event after which the fetch is woken for it.
        """
        self.stamp = FetchStamp()
        """When the session's follower fetched last."""
        self._reads_as: BrokerId = CONSUMER_ID
        self._reads_to = Isolation.HIGH_WATERMARK
        self._leader_only = True

    def is_for(self, params: FetchParams) -> bool:
        """Whether the quiet partitions are quiet for a fetch with these parameters, too."""
        known = (self._reads_as, self._reads_to, self._leader_only)
        return known == (params.replica_id, params.isolation, params.leader_only)

    def note_reader(self, params: FetchParams) -> None:
        """Called once all partitions that are quiet are quiet for a fetch with these parameters."""
        self._reads_as, self._reads_to = params.replica_id, params.isolation
        self._leader_only = params.leader_only

    def in_order(self) -> list["SessionPartition"]:
        """The unread partitions, in the order in which they are read."""
        return sorted(self.unread, key=_BY_TURN)

    def in_order_in_steps(self) -> Steps[list["SessionPartition"]]:
        """`in_order` where there are very many: sorted a few at a time, and then merged."""
        unread = list(self.unread)
        runs = []
        for begin in range(0, len(unread), SORTED_PER_STEP):
            runs.append(sorted(unread[begin : begin + SORTED_PER_STEP], key=_BY_TURN))
            yield
        return (yield from listed(merge(*runs, key=_BY_TURN), MERGED_PER_STEP))


@dataclass(slots=True, eq=False)
class SessionPartition(StandingEntry[TopicPartition]):
    """One partition of a session: what the client requests, and what was last sent to it."""

    fetch: PartitionFetch
    news: SessionNews
    turn: int = 0
    """Its place in the order of reading; a session's partitions have different ones."""
    high_watermark: int = NO_OFFSET
    """HW as last sent; -1 before the first answer and after an error, so that the next answer holds it."""
    last_stable_offset: int = NO_OFFSET
    log_start_offset: int = NO_OFFSET
    start: LogPosition = UNKNOWN_POSITION
    """The position of the fetch offset when it was last read."""
    stands: RemoteReplica | None = None
    """While it is quiet: the follower's state, which has the session's stamp."""
    has_left: bool = False
    """Whether it is in the session no more; a fetch may still have it, between two of its steps."""

    def __post_init__(self) -> None:
        StandingEntry.__init__(self)
        self.news.unread[self] = self.news.unseen[self] = None

    @property
    def watch(self) -> StandingWatch:
        """See `StandingEntry.watch`."""
        return self.news

    def listen(self) -> None:
        """Receive events from now on: called before it is read or looked at."""
        if not self.is_entered and not self.has_left and self.fetch.topic_partition.topic:
            self.news.events.add_entry(self.fetch.topic_partition, self)

    def stop_listening(self) -> None:
        """Called before it gets another name or leaves the session; it is unread then."""
        if self.is_entered:
            self.news.events.remove_entry(self.fetch.topic_partition, self)

    def on_event(self) -> None:
        """The partition, or what the client requests of it, has changed; a waiting fetch may be complete."""
        self.news.unseen[self] = None
        self.on_change()

    def on_change(self) -> None:
        """The partition has changed, but not so that a waiting fetch may be complete."""
        self.news.unread[self] = None
        if self.stands is not None:
            self.stands.leave(self.news.stamp)
            self.stands = None

    def settle(self, follower: RemoteReplica | None) -> None:
        """It is quiet; a follower that fetches it stands at its end from now on."""
        self.news.unread.pop(self, None)
        if follower is not None:
            follower.stand_by(self.news.stamp)
            self.stands = follower

    def leave(self) -> None:
        """It leaves the session."""
        self.has_left = True
        self.stop_listening()
        self.on_event()
        self.news.unread.pop(self, None)
        self.news.unseen.pop(self, None)
