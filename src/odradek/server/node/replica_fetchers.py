"""Runs the fetchers of a node: sends their asks, gives them the answers, wakes them at their times.

`replication.fetcher` decides what to ask and what an answer means. This module makes the asks into requests
and sends them to the leaders over connections of its own: a Fetch waits at its leader, and would delay every
order behind it.

    LeaderAndIsr   on_roles(following p, leader 2)      the fetcher of 2 has something to ask
    a turn later   FetchRequest to 2                    made in steps
    the answer     applied in steps, then the next request
    no answer      the fetcher rests; a timed call wakes it

Each fetcher has one request under way, and one connection to its broker: fetchers of different numbers never
share a connection.
"""

import logging
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from odradek.base.errors import ApiError
from odradek.base.execution import Defer, Slices, Steps
from odradek.base.ids import BrokerId, TopicPartition
from odradek.base.settings import BrokerSettings
from odradek.replication.fetcher import (
    Ask,
    Fetcher,
    FetcherManager,
    FollowerLogs,
    Note,
    NoteKind,
)
from odradek.replication.replication_ports import ReplicationQuota
from odradek.replication.role_changes import RoleChanges
from odradek.server.edge.complaints import Complaints
from odradek.server.node.delay_remarks import DelayRemarks, lasting_ms
from odradek.server.node.peers import PeerOutcome, PeerRequest, Peers
from odradek.timer import TimedCall, Timer
from odradek.wire.message import Message

_log = logging.getLogger(__name__)

_LEVELS: Final = {
    NoteKind.TRUNCATED: logging.WARNING,
    NoteKind.STARTED_ANEW: logging.WARNING,
    NoteKind.FAILED: logging.ERROR,
}
"""These events are always logged; the others may be frequent, and are logged within bounds."""
_CUTS: Final = frozenset({NoteKind.TRUNCATED, NoteKind.STARTED_ANEW, NoteKind.BEGUN_WITHIN})


class ReplicaFetchers:
    """Drives the fetchers of one node; owned by the node's thread."""

    def __init__(
        self,
        broker_id: BrokerId,
        logs: FollowerLogs,
        connect: Callable[[], Peers],
        *,
        settings: Callable[[], BrokerSettings],
        broker_epoch: Callable[[], int],
        timer: Timer,
        slices: Slices,
        defer: Defer,
        on_cut: Callable[[], None],
        quota: ReplicationQuota,
    ) -> None:
        """`connect` makes a `Peers` with connections of its own; `on_cut` is called after truncations (X3).

        `broker_epoch` returns the epoch of this broker's registration; `quota` is the follower's (F8).
        """
        self._broker_id = broker_id
        self._logs = logs
        self._connect = connect
        self._settings = settings
        self._broker_epoch = broker_epoch
        self._timer = timer
        self._slices = slices
        self._defer = defer
        self._on_cut = on_cut
        self.manager = FetcherManager(
            logs,
            timer.clock,
            lambda: settings().num_replica_fetchers,
            lambda: settings().replica_fetch_backoff_ms,
            self._note,
            quota,
        )
        """The fetchers, with the partitions that they follow and the offsets that they have reached."""
        self.noted: Counter[NoteKind] = Counter()
        """How many events of each kind there were since the start."""
        self._remarks = Complaints(_log, timer.clock, "%d more remarks about fetching from leaders")
        more_fenced = "%d more partitions have waited for their next leader"
        self._fenced_remarks = Complaints(_log, timer.clock, more_fenced, level=logging.INFO)
        self._delays = DelayRemarks(_log, timer.clock, lambda: lasting_ms(settings()))
        self._peers: dict[int, Peers] = {}
        """The connections of all fetchers of a number, one to each broker."""
        self._to_ask: dict[Fetcher, None] = {}
        """Fetchers that ask in a later turn; empty unless `_has_asked_for_turn`."""
        self._has_asked_for_turn = False
        self._wakes: dict[Fetcher, TimedCall] = {}
        """The timed calls that wake fetchers with nothing to ask now."""
        self._is_spreading = False
        self._has_cut = False
        """Whether logs were truncated since the last call of `on_cut`."""
        self._follows_nothing_new = False
        """Whether the broker is about to stop; see `follow_nothing_new`."""
        self.is_closed = False
        """Whether the broker stops: no more asks are sent, and no more answers applied."""

    # --- what is followed

    def on_roles(self, changes: RoleChanges) -> None:
        """R5b, R5c, R5d: the controller has changed what this broker follows."""
        for gone in (*(led.topic_partition for led in changes.leading), *changes.stopped):
            self.manager.unfollow(gone)
            self._end_delay(gone)
        for followed in changes.following:
            if self._follows_nothing_new:
                self.manager.unfollow(followed.topic_partition)
                self._end_delay(followed.topic_partition)
                continue
            state = followed.state
            fetcher = self.manager.follow(
                followed.topic_partition, followed.topic_id, state.leader, state.leader_epoch
            )
            if fetcher is not None:
                self._let_ask(fetcher)
            self._end_delay(followed.topic_partition)

    def on_settled(self, topic_partition: TopicPartition) -> None:
        """X6: called when the truncation of a followed partition is on disk."""
        fetcher = self.manager.on_settled(topic_partition)
        if fetcher is not None:
            self._let_ask(fetcher)

    def resign_lost(self) -> None:
        """A log directory went offline: no longer follow the partitions that were in it."""
        for topic_partition in self.manager.names():
            if self._logs.log(topic_partition) is None:
                self.manager.unfollow(topic_partition)
                self._end_delay(topic_partition)

    def follow_nothing_new(self) -> None:
        """Follow no partition under a new leader epoch from now on: the broker is about to stop (KIP-841).

        The controller takes it out of the ISRs, each under a new epoch; a fetch would bring it back.
        """
        self._follows_nothing_new = True

    def close(self) -> None:
        """Called when the broker stops."""
        self.is_closed = True
        for wake in self._wakes.values():
            wake.cancel()
        self._wakes.clear()

    # --- asking

    def _let_ask(self, fetcher: Fetcher) -> None:
        """Let a fetcher ask in a later turn, because one order may assign thousands of roles."""
        self._to_ask[fetcher] = None
        if not self._has_asked_for_turn:
            self._has_asked_for_turn = True
            self._defer(self._take_turn)

    def _take_turn(self) -> None:
        self._has_asked_for_turn = False
        to_ask, self._to_ask = self._to_ask, {}
        for fetcher in to_ask:
            self._ask(fetcher)
        if self.manager.is_to_be_spread and not self._is_spreading:
            self._is_spreading = True
            self._slices.run(self._spread(), self._not_spread)

    def _ask(self, fetcher: Fetcher) -> None:
        wake = self._wakes.pop(fetcher, None)
        if wake is not None:
            wake.cancel()
        if self.is_closed or not self.manager.is_current(fetcher):
            return
        ask = fetcher.next_ask()
        self._report_cuts()
        if ask is not None:
            self._slices.run(self._send(fetcher, ask), partial(self._on_broken, fetcher))
            return
        wakes_at_ms = fetcher.wakes_at_ms()
        if wakes_at_ms is not None:
            wake = self._wakes[fetcher] = TimedCall(wakes_at_ms, partial(self._let_ask, fetcher))
            self._timer.add(wake)

    def _send(self, fetcher: Fetcher, ask: Ask) -> Steps[None]:
        # Loaded when there are partitions to fetch: a broker that is alone in its cluster never loads it.
        from odradek.server.node.fetcher_messages import FetchSender, to_request

        settings = self._settings()
        sender = FetchSender(
            self._broker_id,
            self._broker_epoch(),
            settings.replica_fetch_wait_max_ms,
            settings.replica_fetch_min_bytes,
            settings.replica_fetch_max_bytes,
            settings.replica_fetch_response_max_bytes,
        )
        request = yield from to_request(ask, sender)
        peers = self._peers.get(fetcher.number)
        if peers is None:
            peers = self._peers[fetcher.number] = self._connect()
        version, timeout_ms = type(request).VERSIONS.highest, settings.replica_socket_timeout_ms
        peers.send(
            PeerRequest(fetcher.source, request, version, timeout_ms),
            partial(self._on_outcome, fetcher, self._timer.clock.monotonic_ms()),
        )

    def _spread(self) -> Steps[None]:
        fetchers = yield from self.manager.spread()
        self._is_spreading = False
        for fetcher in fetchers:
            self._let_ask(fetcher)

    def _not_spread(self, error: Exception) -> None:
        self._is_spreading = False
        _log.error("partitions are not spread over the fetchers that are wanted", exc_info=error)

    # --- answers

    def _on_outcome(self, fetcher: Fetcher, sent_ms: int, outcome: PeerOutcome) -> None:
        if self.is_closed:
            return
        if isinstance(outcome, ApiError):
            fetcher.on_unanswered(str(outcome))
            self._remark_on(fetcher, sent_ms)
            self._let_ask(fetcher)
        else:
            self._slices.run(self._apply(fetcher, sent_ms, outcome), partial(self._on_broken, fetcher))

    def _apply(self, fetcher: Fetcher, sent_ms: int, response: Message) -> Steps[None]:
        from odradek.server.node.fetcher_messages import apply_response

        for _ in apply_response(fetcher, response):
            yield
            if self.is_closed:  # the logs are about to be closed
                return
        self._report_cuts()
        self._remark_on(fetcher, sent_ms)
        self._let_ask(fetcher)

    def _on_broken(self, fetcher: Fetcher, error: Exception) -> None:
        """A bug of ours that concerns no single partition: continue after the backoff."""
        _log.error("fetching from broker %d met a mistake", fetcher.source, exc_info=error)
        fetcher.on_unanswered(f"a mistake of this broker's own: {error!r}")
        self._let_ask(fetcher)

    def _report_cuts(self) -> None:
        if self._has_cut:
            self._has_cut = False
            self._on_cut()

    # --- for people

    def describe(self) -> Any:  # noqa: ANN401
        """See `FetcherManager.describe`."""
        return self.manager.describe()

    def _remark_on(self, fetcher: Fetcher, sent_ms: int) -> None:
        """Called with each answer, and with each request that gets none: it was waited for since then."""
        if fetcher.unreachable_because and self.manager.is_current(fetcher):
            source = fetcher.source
            self._delays.on_delay(source, source, fetcher.unreachable_because, sent_ms)

    def _end_delay(self, topic_partition: TopicPartition) -> None:
        """Called when a partition may not be followed any more, or from another broker."""
        if not self._delays:
            return
        if self.manager.partition(topic_partition) is None:
            self._delays.on_end(topic_partition, "is not followed any more")
        for source in self._delays.brokers():
            self._end_delay_of(source)

    def _end_delay_of(self, source: BrokerId) -> None:
        """Called when a broker may answer all its fetchers again, or may have none any more."""
        fetchers = [one for one in self.manager.fetchers() if one.source == source]
        if not any(one.unreachable_because for one in fetchers):
            words = "answers fetches again" if fetchers else "is not fetched from any more"
            self._delays.on_end(source, words)

    def _note(self, note: Note) -> None:
        self.noted[note.kind] += 1
        self._has_cut |= note.kind in _CUTS
        fields: dict[str, object] = {"leader": note.source}
        if note.topic_partition is None:
            if note.kind is NoteKind.SOURCE_LOST:
                return  # see `_remark_on`
            if note.kind is NoteKind.SOURCE_FOUND:
                self._end_delay_of(note.source)
                return
            self._remarks.say("fetching from broker %d: %s", note.source, note.words, fields=fields)
            return
        if note.kind is NoteKind.DELAYED:
            self._delays.on_delay(note.topic_partition, note.source, note.words)
            return
        if note.kind is NoteKind.RESUMED:
            self._delays.on_end(note.topic_partition, "is fetched again")
            return
        fields["topic"], fields["partition"] = note.topic_partition
        said = ("%s, fetched from broker %d, %s: %s", note.topic_partition, note.source, note.kind.value)
        level = _LEVELS.get(note.kind)
        if level is not None:
            _log.log(level, *said, note.words, exc_info=note.error, extra=fields)
        elif note.kind is NoteKind.FENCED:  # no fault: another order may move a thousand leaderships at once
            self._fenced_remarks.say(*said, note.words, fields=fields)
        else:
            self._remarks.say(*said, note.words, fields=fields)
