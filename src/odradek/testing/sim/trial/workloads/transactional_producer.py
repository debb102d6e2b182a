"""A transactional producer: transactions over several partitions, which it commits, aborts or leaves.

    init      InitProducerId, until the coordinator has ended what the one before it left open
    write     batches to 1 to 4 partitions, one after another, each sent again until it is acknowledged
    commit    EndTxn, if everything was acknowledged; else, or by chance, an abort
    leave     by chance it goes away in the middle, for good, or comes back later and tries to commit

A producer of transactions v2 (KIP-890) sends the newest versions. The classic one adds its partitions by
requests, and keeps its epoch from one transaction to the next. So it takes another epoch after each request
without an answer: what is still on its way could get into its next transaction, as in Kafka.

Several clients may share transactional ids: whoever takes one fences the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import BrokerId
from odradek.base.values import value
from odradek.testing.sim.trial.cluster_client import ClusterClient
from odradek.testing.sim.trial.history import ACKS_ALL, Place, SentBatch
from odradek.testing.sim.trial.load import Load
from odradek.testing.sim.trial.scripts import Asking, Script
from odradek.testing.sim.trial.transactions import Fate, SentTransaction
from odradek.testing.sim.trial.workloads.plain_producer import encoded, produce_request
from odradek.wire.message import Request, ResponseT
from odradek.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from odradek.wire.messages.end_txn import EndTxnRequest, EndTxnResponse
from odradek.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from odradek.wire.messages.produce import ProduceResponse

PARTITIONS_MAX: Final = 4
BATCHES_MAX: Final = 2
"""Of one partition in one transaction."""
RECORDS_MAX: Final = 3
TRANSACTIONS_MAX: Final = 10
"""After so many it takes another transactional id."""
ATTEMPTS_MAX: Final = 40
"""So often a request is sent, at most."""
RETRY_PAUSE_MS: Final = 100
TIMEOUTS_MS: Final = (1_500, 4_000, 8_000)
LONG_ONE_IN: Final = 4
"""One transaction in so many stays open for a while."""
COORDINATOR_MOVED: Final = (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE)


@value
class Protocol:
    """Which versions of requests a producer sends; None for the newest."""

    produce: int | None
    end: int | None
    adds_partitions: bool
    """Whether it adds its partitions by requests, in this version."""


V2: Final = Protocol(None, None, adds_partitions=False)
CLASSIC: Final = Protocol(11, 4, adds_partitions=True)
ADD_PARTITIONS_VERSION: Final = 3


class TransactionalProducer:
    """Its transactions are whole or not there; see the module's head."""

    def __init__(
        self,
        load: Load,
        client: ClusterClient,
        pause_ms: int,
        transactional_ids: Sequence[str],
        protocol: Protocol = V2,
    ) -> None:
        """`pause_ms` is the longest pause between two requests."""
        self._load = load
        self._client = client
        self._pause_ms = pause_ms
        self._ids = transactional_ids
        self._protocol = protocol
        # Of the id that it has now.
        self._id = ""
        self._timeout_ms = 0
        self._producer = (-1, -1)
        self._sequences: dict[Place, int] = {}
        self._coordinator: BrokerId | None = None

    def run(self) -> Script:
        """Writes transactions until the load ends."""
        load = self._load
        while not load.is_ending:
            yield from self._client.refresh()
            self._id, self._timeout_ms = load.pick(self._ids), load.pick(TIMEOUTS_MS)
            if not (yield from self._init()):
                continue
            for _ in range(load.between(1, TRANSACTIONS_MAX)):
                if load.is_ending or not (yield from self._transaction()):
                    break

    # --- a transaction

    def _transaction(self) -> Asking[bool]:
        """One transaction; returns whether the producer can begin another one as it is."""
        load = self._load
        places = [place for place in self._client.places() if load.takes_transactions(place)]
        if not places:
            return False
        chosen = list(dict.fromkeys(load.pick(places) for _ in range(load.between(1, PARTITIONS_MAX))))
        writes = [place for place in chosen for _ in range(load.between(1, BATCHES_MAX))]
        name = f"{self._client.name}/{self._producer[0]}:{self._producer[1]}"
        transaction = load.transactions.begin(self._id, name, load.now_ms, self._timeout_ms)
        leaves_after = load.between(0, len(writes)) if load.chance.below(5) == 0 else None
        is_whole = not self._protocol.adds_partitions or (yield from self._add(chosen))
        if not is_whole:
            return False
        for number, place in enumerate(writes):
            if number == leaves_after:
                break
            is_whole = is_whole and (yield from self._write(transaction, place))
        if leaves_after is not None and not (yield from self._come_back()):
            return False
        if not transaction.batches:
            return False
        if load.chance.below(LONG_ONE_IN) == 0:  # leaders die meanwhile, and refuse markers
            yield load.scripts.pause(load.between(1, self._timeout_ms // 2))
        is_committed = is_whole and bool(load.chance.below(4))
        is_ended = yield from self._end(transaction, committed=is_committed)
        return is_ended and (is_whole or not self._protocol.adds_partitions)

    def _come_back(self) -> Asking[bool]:
        """Leave the transaction alone; returns whether it is to be ended after all."""
        load = self._load
        if load.chance.below(2):
            return False
        yield load.scripts.pause(load.between(1, 2 * self._timeout_ms))
        yield from self._client.refresh()
        return not load.is_ending

    # --- its requests

    def _init(self) -> Asking[bool]:
        """Get a producer id and an epoch; returns whether there are any."""
        load = self._load
        self._coordinator = None
        for _ in range(ATTEMPTS_MAX):
            request = InitProducerIdRequest(self._id, self._timeout_ms)
            response: InitProducerIdResponse | None = yield from self._ask_coordinator(request)
            if load.is_ending:
                return False
            if response is None:
                continue
            code = self._noted(response.error_code)
            if code is ErrorCode.NONE:
                self._producer = response.producer_id, response.producer_epoch
                self._sequences.clear()
                return True
            if not code.is_retriable:
                return False
            yield load.scripts.pause(RETRY_PAUSE_MS)
        return False

    def _add(self, places: Sequence[Place]) -> Asking[bool]:
        """Add partitions to the transaction, as classic producers do; returns whether they are in it."""
        load = self._load
        topics: dict[str, AddPartitionsToTxnTopic] = {}
        for place in places:
            topic = topics.setdefault(place.topic, AddPartitionsToTxnTopic(place.topic))
            topic.partitions.append(place.partition)
        for _ in range(ATTEMPTS_MAX):
            request = AddPartitionsToTxnRequest(self._id, *self._producer, list(topics.values()))
            response: AddPartitionsToTxnResponse | None = yield from self._ask_coordinator(
                request, ADD_PARTITIONS_VERSION
            )
            if response is None:
                return False
            codes = {
                self._noted(result.partition_error_code)
                for topic_result in response.results_by_topic_v3_and_below
                for result in topic_result.results_by_partition
            }
            if codes == {ErrorCode.NONE}:
                return True
            if not all(code.is_retriable or code is ErrorCode.OPERATION_NOT_ATTEMPTED for code in codes):
                return False
            yield load.scripts.pause(RETRY_PAUSE_MS)
        return False

    def _write(self, transaction: SentTransaction, place: Place) -> Asking[bool]:
        """Send a batch until it is acknowledged; returns whether it is."""
        load, client = self._load, self._client
        batch = load.history.next_batch(
            place,
            transaction.producer,
            load.between(1, RECORDS_MAX),
            ACKS_ALL,
            load.now_ms,
            is_idempotent=True,
        )
        transaction.batches.append(batch)
        for _ in range(ATTEMPTS_MAX):
            yield load.pause(self._pause_ms)
            leader = client.leader_of(place)
            if leader is None:
                yield from client.refresh()
                continue
            code = yield from self._produce(leader, batch)
            if code in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
                self._sequences[place] = self._sequences.get(place, 0) + batch.count
                return True
            if code is None and self._protocol.adds_partitions:
                return False
            if code is not None and not code.is_retriable:
                return False
            yield from client.refresh()
        return False

    def _produce(self, leader: BrokerId, batch: SentBatch) -> Asking[ErrorCode | None]:
        """Send a batch once; returns the error, or None without an answer."""
        load = self._load
        producer_id, producer_epoch = self._producer
        data = encoded(
            load,
            batch,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=self._sequences.get(batch.place, 0),
            is_transactional=True,
        )
        request = produce_request([batch], [data], ACKS_ALL, load)
        request.transactional_id = self._id
        response: ProduceResponse | None = yield self._client.ask(leader, request, self._protocol.produce)
        if response is None:
            return None
        (answered,) = response.responses[0].partition_responses
        code = self._noted(answered.error_code)
        if code in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
            base_offset = answered.base_offset if code is ErrorCode.NONE else -1
            load.history.note_acknowledged(batch, base_offset, load.now_ms)
        return code

    def _end(self, transaction: SentTransaction, *, committed: bool) -> Asking[bool]:
        """Commit or abort; returns whether the producer can begin another transaction as it is."""
        load, producer = self._load, self._producer
        if committed:
            transaction.fate = Fate.UNKNOWN
        for _ in range(ATTEMPTS_MAX):
            request = EndTxnRequest(self._id, *producer, committed)
            response: EndTxnResponse | None = yield from self._ask_coordinator(request, self._protocol.end)
            if response is None:
                if self._protocol.adds_partitions:
                    return False
                continue
            code = self._noted(response.error_code)
            if code is ErrorCode.NONE:
                transaction.ended_ms = load.now_ms
                if committed:
                    transaction.fate = Fate.COMMITTED
                if not self._protocol.adds_partitions:
                    self._producer = response.producer_id, response.producer_epoch
                    self._sequences.clear()
                return True
            if not code.is_retriable:
                return False
            yield load.scripts.pause(RETRY_PAUSE_MS)
        return False

    def _ask_coordinator(
        self, request: Request[ResponseT], version: int | None = None
    ) -> Asking[ResponseT | None]:
        """Send a request to the coordinator, which is looked for before if it is not known."""
        load = self._load
        yield load.pause(self._pause_ms)
        if self._coordinator is None:
            self._coordinator = yield from self._client.find_coordinator(self._id)
            if self._coordinator is None:
                return None
        response: ResponseT | None = yield self._client.ask(self._coordinator, request, version)
        if response is None:
            self._coordinator = None
        return response

    def _noted(self, error_code: int) -> ErrorCode:
        code = ErrorCode(error_code)
        self._load.history.note_error(code)
        if code in COORDINATOR_MOVED:
            self._coordinator = None
        return code
