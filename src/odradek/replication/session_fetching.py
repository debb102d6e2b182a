"""Handles an incremental fetch from its arrival to its answer: as `fetching`, but only what has news (F10).

The steps and their order are those of `fetching`. Instead of all partitions of the session, each step takes
the *unread* ones (`session_news`); those that turn out to be quiet are settled between steps 2 and 3:

    1  read the unread partitions     those that the request names are among them
    2  update the follower's state    of these partitions; the session's stamp stands for all quiet ones (R10)
       settle the quiet ones          no later fetch looks at them until they have an event
    3  answer, or park                under the session's standing watch: no list is touched
    5  when a parked one completes    read again what is unread by then

So the cost of a fetch is in what it names and in what has changed since the one before.
"""

from operator import attrgetter
from typing import Final

from odradek.base.clock import Clock
from odradek.base.error_codes import ErrorCode
from odradek.base.execution import ITEMS_PER_STEP, Later, Pace, RunSteps, Steps, exhaust, listed, stepwise
from odradek.base.ids import NO_BROKER
from odradek.replication.delayed_session_fetch import DelayedSessionFetch
from odradek.replication.fetch_request import FetchParams, PartitionFetch
from odradek.replication.fetch_session import FetchSession, SessionOutcomes
from odradek.replication.fetching import Fetching, may_wait, may_wait_in_steps
from odradek.replication.hosted_partitions import HostedPartitions
from odradek.replication.metering import Meters
from odradek.replication.outcomes import FetchOutcome
from odradek.replication.partition import Partition
from odradek.replication.purgatories import Purgatories
from odradek.replication.remote_replica import RemoteReplica
from odradek.replication.session_news import SessionNews, SessionPartition, Unseen

_FETCH: Final = attrgetter("fetch")


class SessionFetching:
    """Serves incremental fetches, with the reads and notes of a `Fetching`."""

    __slots__ = ("_clock", "_fetching", "_hosted", "_meters", "_purgatories", "_run_steps")

    def __init__(
        self,
        fetching: Fetching,
        hosted: HostedPartitions,
        purgatories: Purgatories,
        meters: Meters,
        clock: Clock,
        run_steps: RunSteps,
    ) -> None:
        self._fetching = fetching
        self._hosted = hosted
        self._purgatories = purgatories
        self._meters = meters
        self._clock = clock
        self._run_steps = run_steps

    def fetch(
        self, params: FetchParams, session: FetchSession, later: Later[SessionOutcomes]
    ) -> SessionOutcomes | DelayedSessionFetch:
        """Read; returns the answer, or the delayed fetch that will pass its answer to `later`."""
        news = session.news
        unseen = self._begin(news)
        if not news.is_for(params):
            exhaust(self._take_reader(params, session, unseen))
        self._stamp(params, news, unseen)
        partitions = news.in_order()
        for partition in partitions:
            partition.listen()
        fetches = [partition.fetch for partition in partitions]
        outcomes = self._fetching.reader.read(params, fetches)
        self._fetching.note_reads(params, fetches, outcomes)
        read = list(zip(partitions, outcomes, strict=True))
        self._settle(params, read, unseen)
        if not may_wait(params, outcomes):
            self._fetching.note_answer(params, fetches, outcomes)
            return read
        operation = self._delayed(params, news, unseen, later)
        if operation.stand(self._purgatories.fetch):
            return self._read_again(params, news)
        self._fetching.follower_calls.note_waiting(params, operation)
        return operation

    def fetch_in_steps(
        self, params: FetchParams, session: FetchSession, later: Later[SessionOutcomes]
    ) -> Steps[SessionOutcomes | DelayedSessionFetch]:
        """`fetch` where very many partitions are unread, a few in each step."""
        news = session.news
        unseen = self._begin(news)
        if not news.is_for(params):
            yield from self._take_reader(params, session, unseen)
        self._stamp(params, news, unseen)
        partitions = yield from news.in_order_in_steps()
        fetches = yield from stepwise(partitions, _to_read)
        outcomes = yield from self._fetching.reader.read_in_steps(params, fetches)
        read = yield from listed(zip(partitions, outcomes, strict=True))
        for begin in range(0, len(read), ITEMS_PER_STEP):
            some = slice(begin, begin + ITEMS_PER_STEP)
            self._fetching.note_reads(params, fetches[some], outcomes[some])
            self._settle(params, read[some], unseen)
            yield
        if not (yield from may_wait_in_steps(params, outcomes)):
            yield from self._fetching.note_answer_in_steps(params, fetches, outcomes)
            return read
        operation = self._delayed(params, news, unseen, later)
        if (yield from operation.stand_in_steps(self._purgatories.fetch)):
            return (yield from self._read_again_in_steps(params, news))
        self._fetching.follower_calls.note_waiting(params, operation)
        return operation

    def _begin(self, news: SessionNews) -> Unseen:
        """Begin a fetch; returns the set of partitions that have events during it, which is empty."""
        if news.operation is not None and news.has_open_operation:
            # The client has given up on its last fetch: the answer to that is an error of the session.
            self._purgatories.complete_soon(news.operation)
        news.unseen = {}
        return news.unseen

    def _take_reader(self, params: FetchParams, session: FetchSession, unseen: Unseen) -> Steps[None]:
        """Let what was quiet for a fetch with other parameters be unread for this one.

        The parameters count only at the end: if the session's next fetch begins before, that does the same.
        """
        news, pace = session.news, Pace()
        for partition in list(session.partitions.values()):
            if not partition.has_left:
                partition.on_change()
            if pace.is_over():
                yield
                if news.unseen is not unseen:
                    return
        news.note_reader(params)

    def _stamp(self, params: FetchParams, news: SessionNews, unseen: Unseen) -> None:
        """R10: the follower fetches what is quiet, unless the session's next fetch has begun."""
        if params.is_from_follower and news.unseen is unseen:
            news.stamp.fetched_ms = self._clock.monotonic_ms()

    # --- what is quiet

    def _settle(self, params: FetchParams, read: SessionOutcomes, unseen: Unseen) -> None:
        """Settle the partitions that are quiet; the others are to be looked at before the fetch waits."""
        for partition, outcome in read:
            if partition.news.unseen is not unseen:
                return  # the session's next fetch has begun, and reads all of these itself
            partition.start = outcome.position
            if partition in unseen or partition.has_left:
                continue  # an event came since it was read
            hosted = self._hosted.get(partition.fetch.topic_partition)
            if hosted is not None and self._is_quiet(params, hosted, partition, outcome):
                partition.settle(_follower(params, hosted))
            else:
                unseen[partition] = None

    def _is_quiet(
        self, params: FetchParams, hosted: Partition, partition: SessionPartition, outcome: FetchOutcome
    ) -> bool:
        """Whether a fetch of the partition as it is now would find nothing to answer or to decide."""
        if (
            outcome.error_code is not ErrorCode.NONE
            or outcome.diverging_epoch is not None
            or outcome.preferred_read_replica != NO_BROKER
        ):
            return False
        log = hosted.log
        if (
            log.high_watermark.offset != partition.high_watermark
            or log.last_stable.offset != partition.last_stable_offset
            or log.log_start_offset != partition.log_start_offset
            or partition.fetch.fetch_offset != hosted.bound(params.isolation).offset
        ):
            return False
        if not params.is_from_follower:
            return True
        leadership = hosted.leadership
        if leadership is None or params.replica_id not in leadership.isr:
            return False  # each of its fetches may let it join (R3)
        pending = leadership.pending
        if pending is not None and params.replica_id not in pending.new_isr:
            return False
        if log.high_watermark.offset != log.end_offset:
            return False  # HW may rise with time or with a broker's death, and its fetches find that (R7)
        return not self._fetching.readable.owes_high_watermark(params, hosted)

    # --- waiting

    def _delayed(
        self, params: FetchParams, news: SessionNews, unseen: Unseen, later: Later[SessionOutcomes]
    ) -> DelayedSessionFetch:
        return DelayedSessionFetch(
            self._clock.monotonic_ms() + self._fetching.follower_calls.max_wait_ms(params),
            params,
            news,
            unseen,
            self._fetching.readable,
            self._meters,
            lambda later: self._finish(params, news, later),
            later,
        )

    def _finish(self, params: FetchParams, news: SessionNews, later: Later[SessionOutcomes]) -> None:
        if len(news.unread) <= ITEMS_PER_STEP:
            later(self._read_again(params, news))
        else:
            self._run_steps(self._finish_in_steps(params, news, later))

    def _finish_in_steps(
        self, params: FetchParams, news: SessionNews, later: Later[SessionOutcomes]
    ) -> Steps[None]:
        later((yield from self._read_again_in_steps(params, news)))

    def _read_again(self, params: FetchParams, news: SessionNews) -> SessionOutcomes:
        """F7: read what is unread by now."""
        partitions = news.in_order()
        fetches = [partition.fetch for partition in partitions]
        outcomes = self._fetching.reader.read(params, fetches)
        self._fetching.note_answer(params, fetches, outcomes)
        return list(zip(partitions, outcomes, strict=True))

    def _read_again_in_steps(self, params: FetchParams, news: SessionNews) -> Steps[SessionOutcomes]:
        partitions = yield from news.in_order_in_steps()
        fetches = yield from listed(map(_FETCH, partitions))
        outcomes = yield from self._fetching.reader.read_in_steps(params, fetches)
        yield from self._fetching.note_answer_in_steps(params, fetches, outcomes)
        return (yield from listed(zip(partitions, outcomes, strict=True)))


def _to_read(partition: SessionPartition) -> PartitionFetch:
    partition.listen()
    return partition.fetch


def _follower(params: FetchParams, hosted: Partition) -> RemoteReplica | None:
    leadership = hosted.leadership
    if leadership is None or not params.is_from_follower:
        return None
    return leadership.remotes.get(params.replica_id)
