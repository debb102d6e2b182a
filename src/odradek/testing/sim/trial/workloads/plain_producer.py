"""A producer that sends each batch once, with acks 0, 1 or all, to one or several partitions of a leader."""

from __future__ import annotations

from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.records.builder import BatchBuilder
from odradek.testing.sim.trial.cluster_client import ClusterClient
from odradek.testing.sim.trial.history import ACKS_ALL, Place, SentBatch, key_of
from odradek.testing.sim.trial.load import Load
from odradek.testing.sim.trial.scripts import Script
from odradek.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)

PARTITIONS_MAX: Final = 3
RECORDS_MAX: Final = 4


class PlainProducer:
    """Its records come at most once, and acknowledged ones exactly once."""

    def __init__(self, load: Load, client: ClusterClient, pause_ms: int, *, keyed: bool = False) -> None:
        """`pause_ms` is the longest pause between two requests; a `keyed` one writes to compacted topics."""
        self._load = load
        self._client = client
        self._pause_ms = pause_ms
        self._keyed = keyed

    def run(self) -> Script:
        """Produces until the load ends."""
        load, client = self._load, self._client
        yield from client.refresh()
        while not load.is_ending:
            yield load.pause(self._pause_ms)
            places = [place for place in client.places() if load.is_keyed(place) == self._keyed]
            if not places:
                yield from client.refresh()
                continue
            leader = client.leader_of(load.pick(places))
            assert leader is not None, "a place has a leader"
            led = [place for place in places if client.leader_of(place) == leader]
            chosen = {load.pick(led): None for _ in range(load.between(1, PARTITIONS_MAX))}
            acks = load.pick((0, 1, ACKS_ALL, ACKS_ALL))
            batches = [self._next_batch(place, acks) for place in chosen]
            request = produce_request(batches, [encoded(load, batch) for batch in batches], acks, load)
            response: ProduceResponse | None = yield client.ask(leader, request)
            if acks and not self._note(batches, response):
                yield from client.refresh()

    def _next_batch(self, place: Place, acks: int) -> SentBatch:
        load = self._load
        return load.history.next_batch(
            place, self._client.name, load.between(1, RECORDS_MAX), acks, load.now_ms, is_idempotent=False
        )

    def _note(self, batches: list[SentBatch], response: ProduceResponse | None) -> bool:
        """Note the outcomes; returns whether all partitions took their batches."""
        load = self._load
        outcomes = outcomes_of(response)
        for batch in batches:
            code, base_offset = outcomes.get(batch.place, (ErrorCode.NETWORK_EXCEPTION, -1))
            if response is not None:
                load.history.note_error(code)
            if code is ErrorCode.NONE:
                load.history.note_acknowledged(batch, base_offset, load.now_ms)
        return all(batch.acknowledged_ms is not None for batch in batches)


def produce_request(
    batches: list[SentBatch], encoded_batches: list[bytes], acks: int, load: Load
) -> ProduceRequest:
    """A request that carries one batch for each partition, with a timeout by chance."""
    topics: dict[str, TopicProduceData] = {}
    for batch, data in zip(batches, encoded_batches, strict=True):
        place = batch.place
        topic = topics.setdefault(place.topic, TopicProduceData(place.topic, place.topic_id))
        topic.partition_data.append(PartitionProduceData(place.partition, data))
    return ProduceRequest(None, acks, load.pick((300, 1_500, 30_000)), list(topics.values()))


def encoded(
    load: Load,
    batch: SentBatch,
    *,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    is_transactional: bool = False,
) -> bytes:
    """The batch as its producer sends it."""
    builder = BatchBuilder(
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        is_transactional=is_transactional,
    )
    is_keyed = load.is_keyed(batch.place)
    for number in batch.numbers:
        builder.append(load.world.clock.wall_ms(), key_of(number) if is_keyed else None, b"%d" % number)
    return bytes(builder.build())


def outcomes_of(response: ProduceResponse | None) -> dict[Place, tuple[ErrorCode, int]]:
    """Error and base offset by partition; topics have no names in the answer, so places compare by id."""
    if response is None:
        return {}
    return {
        Place("", topic.topic_id, partition.index): (ErrorCode(partition.error_code), partition.base_offset)
        for topic in response.responses
        for partition in topic.partition_responses
    }
