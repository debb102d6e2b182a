"""A consumer without a group: reads partitions of one leader after another from the beginning, and notes all.

It uses fetch sessions (KIP-227) or not, and either isolation level. What it reads must never change. With
read_committed it leaves out what the answers call aborted, and notes what its application would see.
"""

from __future__ import annotations

from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import BrokerId, Offset
from odradek.records.control import is_abort_marker
from odradek.records.isolation import AbortedTransactions
from odradek.testing.sim.trial.cluster_client import ClusterClient
from odradek.testing.sim.trial.history import Place, ReadRecord, batches_in
from odradek.testing.sim.trial.load import Load
from odradek.testing.sim.trial.scripts import Script
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData

ROUNDS_MAX: Final = 40
"""After so many fetches it looks at the metadata again."""
REFRESHED_AFTER: Final = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.KAFKA_STORAGE_ERROR,
    }
)


class Consumer:
    """Reads everything that it may, again and again from where it was."""

    def __init__(
        self,
        load: Load,
        client: ClusterClient,
        pause_ms: int,
        *,
        uses_sessions: bool,
        reads_committed: bool | None = None,
    ) -> None:
        """`pause_ms` is the longest pause between two fetches; chance decides what is None."""
        self._load = load
        self._client = client
        self._pause_ms = pause_ms
        self._uses_sessions = uses_sessions
        self._reads_committed = load.pick((False, True)) if reads_committed is None else reads_committed
        self._knows_epochs = bool(load.chance.below(2))
        self.positions: dict[Place, Offset] = {}
        """Where it reads next."""

    def run(self) -> Script:
        """Reads until the load ends."""
        load, client = self._load, self._client
        while not load.is_ending:
            yield from client.refresh()
            leaders = list(dict.fromkeys(client.leader_of(place) for place in client.places()))
            if leaders:
                leader = load.pick(leaders)
                assert leader is not None, "a place has a leader"
                led = [place for place in client.places() if client.leader_of(place) == leader]
                yield from self._read_from(leader, led)

    def _read_from(self, leader: BrokerId, places: list[Place]) -> Script:
        load = self._load
        session_id, epoch = 0, 0 if self._uses_sessions else -1
        named: list[Place] = places
        for _ in range(load.between(1, ROUNDS_MAX)):
            yield load.pause(self._pause_ms)
            if load.is_ending:
                return
            request = self._request(named, session_id, epoch)
            response: FetchResponse | None = yield self._client.ask(leader, request)
            if response is None or response.error_code != ErrorCode.NONE:
                return
            moved = self._note(leader, response, places)
            if moved is None:
                return
            if response.session_id:
                session_id, epoch, named = response.session_id, epoch + 1, moved
            else:
                epoch = 0 if self._uses_sessions else -1

    def _request(self, named: list[Place], session_id: int, epoch: int) -> FetchRequest:
        load = self._load
        topics: dict[Place, FetchTopic] = {}
        for place in named:
            key = Place(place.topic, place.topic_id, 0)
            topic = topics.setdefault(key, FetchTopic(place.topic, place.topic_id))
            topic.partitions.append(
                FetchPartition(
                    place.partition,
                    self._client.epoch_of(place) if self._knows_epochs else -1,
                    fetch_offset=self.positions.setdefault(place, 0),
                    partition_max_bytes=load.pick((200, 5_000, 1 << 20)),
                )
            )
        return FetchRequest(
            max_wait_ms=load.pick((0, 100, 500)),
            min_bytes=load.pick((1, 1, 400)),
            max_bytes=load.pick((1_000, 1 << 20)),
            isolation_level=int(self._reads_committed),
            session_id=session_id,
            session_epoch=epoch,
            topics=list(topics.values()),
        )

    def _note(self, leader: BrokerId, response: FetchResponse, places: list[Place]) -> list[Place] | None:
        """Note what was read; returns the partitions whose position moved, or None where leaders may have."""
        known = {place: place for place in places}
        moved = []
        for topic in response.responses:
            for answered in topic.partitions:
                place = known.get(Place("", topic.topic_id, answered.partition_index))
                code = ErrorCode(answered.error_code)
                self._load.history.note_error(code)
                if place is None or code in REFRESHED_AFTER:
                    return None
                if code is ErrorCode.OFFSET_OUT_OF_RANGE:
                    self._out_of_range(place, leader)
                    return None
                if self._note_records(place, leader, answered):
                    moved.append(place)
        return moved

    def _note_records(self, place: Place, leader: BrokerId, answered: PartitionData) -> bool:
        """Note the records of an answer for one partition; returns whether the position has moved."""
        load, begun_at = self._load, self.positions[place]
        position = begun_at
        bound = answered.last_stable_offset if self._reads_committed else answered.high_watermark
        aborted = AbortedTransactions()  # each answer names all that reach into its records
        aborted.learn(answered.aborted_transactions or ())
        for batch in batches_in(answered.records or b""):
            header = batch.header
            if header.last_offset < position:
                continue
            if header.last_offset >= bound:
                name = "last stable offset" if self._reads_committed else "high watermark"
                load.history.contradict(
                    place,
                    f"{load.now_ms:,} ms: broker {leader} let {self._client.name} read offset"
                    f" {header.last_offset} of {place}, with the {name} {bound} in the same answer",
                )
            if header.base_offset > position and not load.is_keyed(place):
                load.history.contradict(
                    place,
                    f"{load.now_ms:,} ms: broker {leader} answered offset {header.base_offset} of {place}"
                    f" after {position - 1}: there is a gap",
                )
            is_hidden = aborted.hides(header, header.is_control and is_abort_marker(batch.data))
            for offset, number in batch.numbers:
                if offset >= position:
                    record = ReadRecord(number, header.leader_epoch, self._client.name, leader, load.now_ms)
                    load.history.note_read(place, offset, record)
                    if self._reads_committed and not is_hidden:
                        load.transactions.note_visible(self._client.name, place, offset, number)
            position = header.next_offset
        self.positions[place] = position
        if self._reads_committed:
            load.transactions.note_read_to(self._client.name, place, position)
        return position != begun_at

    def _out_of_range(self, place: Place, leader: BrokerId) -> None:
        load, position = self._load, self.positions[place]
        # A follower may be behind: to it a consumer comes that does not know the new leader (KIP-392).
        if position and load.leads(leader, place):
            load.history.contradict(
                place,
                f"{load.now_ms:,} ms: broker {leader} does not have offset {position} of {place}, although"
                f" {self._client.name} has read everything below it",
            )
        self.positions[place] = 0
