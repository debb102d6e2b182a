"""What all clients of groups do: look for the coordinator, commit and fetch offsets, read from there."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import BrokerId, LeaderEpoch, Offset, TopicPartition
from odradek.base.topic_names import OFFSETS_TOPIC
from odradek.records.header import iter_headers
from odradek.testing.sim.trial.cluster_client import ClusterClient
from odradek.testing.sim.trial.groups import NO_COMMIT, Asked, OffsetRead, OffsetWrite, PlaceNumber
from odradek.testing.sim.trial.history import Place
from odradek.testing.sim.trial.load import Load
from odradek.testing.sim.trial.scripts import Script, Wait
from odradek.wire.message import Request, ResponseT
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest
from odradek.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from odradek.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)

T = TypeVar("T")
Result = Generator[Wait[Any], Any, T]
"""A part of a script that has a result."""

TOPICS: Final = ("orders", "prices")
"""What groups read: topics that stay, and lose nothing."""
SETTLED_MS: Final = 57_000
"""So long after mishaps are over, groups have to be stable."""
FIND_PAUSE_MS: Final = 200
READ_BYTES: Final = 600
ELSEWHERE: Final = frozenset(
    {
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.NETWORK_EXCEPTION,
    }
)
"""After these a client looks for the coordinator again."""
NOTHING_WRITTEN: Final = frozenset(
    {
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.STALE_MEMBER_EPOCH,
        ErrorCode.REBALANCE_IN_PROGRESS,
        ErrorCode.GROUP_ID_NOT_FOUND,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NON_EMPTY_GROUP,
        ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
    }
)
"""A commit or a deletion that is answered with one of these never counts."""


class GroupClient:
    """One client of one group."""

    def __init__(self, load: Load, client: ClusterClient, group: str) -> None:
        self.load = load
        self.client = client
        self.group = group
        self.name = client.name
        self.coordinator: BrokerId | None = None
        """As a broker said last; None if the client has to look for it."""
        self.positions: dict[Place, Offset] = {}
        """Where it reads next."""

    @property
    def is_over(self) -> bool:
        """Whether the trial is nearly over: clients of groups stop."""
        return self.load.is_ending and self.load.now_ms >= self.load.ended_ms + SETTLED_MS

    def places(self) -> Sequence[Place]:
        """The partitions that groups read, as far as the client knows them.

        Those without a leader are among them: an assignment without them would leave them without an owner.
        """
        found = [place for place in self.client.known() if place.topic in TOPICS]
        return sorted(found, key=lambda place: (place.topic, place.partition))

    def named(self, places: Iterable[PlaceNumber]) -> list[Place]:
        """Those of these partitions that it knows."""
        known = {(place.topic, place.partition): place for place in self.places()}
        return [known[one] for one in places if one in known]

    # --- requests

    def find(self) -> Script:
        """Look for the coordinator, at a broker chosen by chance."""
        load = self.load
        yield load.scripts.pause(load.between(1, FIND_PAUSE_MS))
        request = FindCoordinatorRequest(key_type=0, coordinator_keys=[self.group])
        load.history.group_requests += 1
        response = yield self.client.ask(load.pick(load.broker_ids), request)
        if response is not None:
            (found,) = response.coordinators
            load.history.note_error(ErrorCode(found.error_code))
            if found.error_code == ErrorCode.NONE:
                self.coordinator = found.node_id

    def ask(
        self, request: Request[ResponseT], error_of: Callable[[ResponseT], int]
    ) -> Result[tuple[ResponseT | None, ErrorCode, Asked]]:
        """Ask the coordinator; the answer, its error, and whether what it says is firm."""
        load, broker_id = self.load, self.coordinator
        assert broker_id is not None, "it is looked for first"
        load.history.group_requests += 1
        sent, epoch = load.groups.tick(), self._epoch_led(broker_id)
        response: ResponseT | None = yield self.client.ask(broker_id, request)
        is_firm = epoch is not None and self._epoch_led(broker_id) == epoch
        asked = Asked(sent, load.groups.tick(), is_firm)
        code = ErrorCode.NETWORK_EXCEPTION if response is None else ErrorCode(error_of(response))
        if response is not None:
            load.history.note_error(code)
        if code in ELSEWHERE:
            self.coordinator = None
        return response, code, asked

    def _epoch_led(self, broker_id: BrokerId) -> LeaderEpoch | None:
        """The epoch in which that broker truly leads the groups' partition."""
        return self.load.epoch_led(broker_id, TopicPartition(OFFSETS_TOPIC, 0))

    # --- offsets

    def commit(
        self,
        offsets: Mapping[Place, Offset],
        member_id: str = "",
        generation: int = -1,
        instance_id: str | None = None,
    ) -> Result[ErrorCode]:
        """OffsetCommit; the worst of its codes."""
        load, group = self.load, self.group
        writes = {
            place: load.groups.write(group, place, offset, self.name, member_id, generation)
            for place, offset in offsets.items()
        }
        topics: dict[str, OffsetCommitRequestTopic] = {}
        for place, write in writes.items():
            topic = topics.setdefault(place.topic, OffsetCommitRequestTopic(place.topic, place.topic_id))
            topic.partitions.append(
                OffsetCommitRequestPartition(place.partition, write.offset, -1, str(write.number))
            )
        request = OffsetCommitRequest(
            group_id=group,
            generation_id_or_member_epoch=generation,
            member_id=member_id,
            group_instance_id=instance_id,
            topics=list(topics.values()),
        )
        response, code, asked = yield from self.ask(request, lambda answer: ErrorCode.NONE)
        if response is None:
            return code
        for answered in response.topics:
            for partition in answered.partitions:
                place = Place("", answered.topic_id, partition.partition_index)
                one = ErrorCode(partition.error_code)
                load.history.note_error(one)
                self.settle(writes[place], one, asked)
                code = code or one
        if code in ELSEWHERE:
            self.coordinator = None
        return code

    def settle(self, write: OffsetWrite, code: ErrorCode, asked: Asked) -> None:
        """Note what became of a commit or a deletion."""
        if code is ErrorCode.NONE and (asked.is_firm or write.number != NO_COMMIT):
            # A deletion of what a deposed coordinator does not know writes nothing.
            write.done, write.is_acknowledged = asked.done, True
        elif code in NOTHING_WRITTEN:
            write.is_refused = True

    def fetch_offsets(
        self, places: Sequence[Place], member_id: str | None = None, epoch: int = -1
    ) -> Result[tuple[ErrorCode, dict[Place, Offset]]]:
        """OffsetFetch; of the partitions that have none the offset is NO_COMMIT."""
        topics: dict[str, OffsetFetchRequestTopics] = {}
        for place in places:
            topic = topics.setdefault(place.topic, OffsetFetchRequestTopics(place.topic, place.topic_id))
            topic.partition_indexes.append(place.partition)
        wanted = OffsetFetchRequestGroup(self.group, member_id, epoch, list(topics.values()))
        request = OffsetFetchRequest(groups=[wanted], require_stable=bool(self.load.chance.below(2)))
        response, code, asked = yield from self.ask(request, lambda answer: answer.groups[0].error_code)
        if response is None or code is not ErrorCode.NONE:
            return code, {}
        return code, self._note_offsets(response, places, asked)

    def _note_offsets(
        self, response: OffsetFetchResponse, places: Sequence[Place], asked: Asked
    ) -> dict[Place, Offset]:
        known = {place: place for place in places}
        found: dict[Place, Offset] = {}
        for topic in response.groups[0].topics:
            for partition in topic.partitions:
                place = known[Place("", topic.topic_id, partition.partition_index)]
                if partition.error_code != ErrorCode.NONE:
                    continue
                offset = found[place] = partition.committed_offset
                number = NO_COMMIT if offset == NO_COMMIT else int(partition.metadata or NO_COMMIT)
                if asked.is_firm:
                    self.load.groups.reads.append(
                        OffsetRead(self.group, place, number, offset, self.name, asked.sent, asked.done)
                    )
        return found

    # --- records

    def begin_at_committed(
        self, places: Sequence[Place], member_id: str | None = None, epoch: int = -1
    ) -> Result[bool]:
        """Begin to read where the group has committed; returns whether that is known."""
        code, found = yield from self.fetch_offsets(places, member_id, epoch)
        for place in places:
            if place in found:
                self.positions[place] = max(0, found[place])
        return code is ErrorCode.NONE and len(found) == len(places)

    def read(self, place: Place) -> Script:
        """Fetch some records of a partition, at its leader; its position moves on."""
        load, client = self.load, self.client
        leader, position = client.leader_of(place), self.positions.get(place, 0)
        if leader is None:
            yield from client.refresh()
            return
        partition = FetchPartition(place.partition, fetch_offset=position, partition_max_bytes=READ_BYTES)
        request = FetchRequest(
            max_wait_ms=0,
            min_bytes=1,
            max_bytes=READ_BYTES,
            session_epoch=-1,
            topics=[FetchTopic(place.topic, place.topic_id, [partition])],
        )
        load.history.group_requests += 1
        response: FetchResponse | None = yield client.ask(leader, request)
        if response is None or response.error_code != ErrorCode.NONE:
            yield from client.refresh()
            return
        (topic,) = response.responses
        (answered,) = topic.partitions
        code = ErrorCode(answered.error_code)
        load.history.note_error(code)
        if code is ErrorCode.OFFSET_OUT_OF_RANGE and load.leads(leader, place):
            load.history.contradict(
                place,
                f"{load.now_ms:,} ms: broker {leader} does not have offset {position} of {place}, although"
                f" the group {self.group} has read everything below it",
            )
        if code is not ErrorCode.NONE:
            yield from client.refresh()
            return
        for _, header in iter_headers(answered.records or b""):
            position = max(position, header.last_offset + 1)
        self.positions[place] = position
