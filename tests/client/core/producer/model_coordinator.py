"""Brokers with one partition and coordinators of transactions, by Kafka's rules, for tests of cores.

Invariant: the model checks what a client may not do: a batch of a transaction that the coordinator was not
told of (v1), an end under another epoch than the current one, records under an epoch that has ended.
"""

from dataclasses import dataclass, field

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import TopicPartition
from odradek.client.core.requests import Outcome, Send
from odradek.records.framing import iter_records
from odradek.records.header import read_header
from odradek.wire.message import Message
from odradek.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from odradek.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
)
from odradek.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse, FinalizedFeatureKey
from odradek.wire.messages.end_txn import EndTxnRequest, EndTxnResponse
from odradek.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from odradek.wire.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from odradek.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

ORDERS = TopicPartition("orders", 0)
PRODUCER_ID = 7


@dataclass
class Open:
    """What the transaction under way has done so far."""

    values: list[bytes] = field(default_factory=list)
    offsets: dict[int, int] = field(default_factory=dict)


class ModelCoordinator:
    """Answers requests at once; what is lost, and when, its caller decides."""

    def __init__(self, version: int) -> None:
        self.version = version
        self.epoch = -1
        self.partitions: set[TopicPartition] = set()
        self.groups: set[str] = set()
        self.open: Open | None = None
        self.committed: list[bytes] = []
        self.offsets: dict[int, int] = {}
        self.fences: list[Message] = []
        """Requests of an epoch that has ended; there are none while nothing else uses the id."""
        # What the last end was, by the epoch under which it was asked for.
        self._ended: tuple[int, bool] | None = None
        # Next sequence, and the first ones and records of the last five batches, of the current epoch.
        self._next_sequence = 0
        self._recent: list[tuple[int, int]] = []
        self.batch_bytes_max = 1 << 20
        """As `max.message.bytes`."""

    def answer(self, send: Send, refusal: ErrorCode = ErrorCode.NONE) -> Outcome:
        """Carry a request out, or refuse it with this code without any effect."""
        request = send.request
        match request:
            case ApiVersionsRequest():
                feature = FinalizedFeatureKey("transaction.version", self.version, self.version)
                return Outcome(send, ApiVersionsResponse(finalized_features=[feature]), version=4)
            case InitProducerIdRequest():
                return Outcome(send, self._init(request, refusal), version=5)
            case AddPartitionsToTxnRequest():
                return Outcome(send, self._add_partitions(request, refusal), version=3)
            case AddOffsetsToTxnRequest():
                return Outcome(send, self._add_offsets(request, refusal), version=3)
            case TxnOffsetCommitRequest():
                return Outcome(send, self._commit_offsets(request, refusal), version=send.highest)
            case EndTxnRequest():
                return Outcome(send, self._end(request, refusal), version=send.highest)
            case ProduceRequest():
                return Outcome(send, self._produce(request, refusal), version=send.highest)
        raise AssertionError(f"{request} is not for these brokers")

    def expire(self) -> None:
        """The transaction was open for too long: the coordinator aborts it and fences the producer."""
        if self.open is not None:
            self._finish(is_commit=False)
            self.epoch += 1

    def _init(self, request: InitProducerIdRequest, refusal: ErrorCode) -> InitProducerIdResponse:
        if refusal:
            return InitProducerIdResponse(error_code=refusal)
        # Either of the last two epochs: its answer may have been lost.
        if request.producer_epoch >= 0 and request.producer_epoch not in (self.epoch, self.epoch - 1):
            self.fences.append(request)
            return InitProducerIdResponse(error_code=ErrorCode.PRODUCER_FENCED)
        if self.open is not None:
            self._finish(is_commit=False)
        self._bump()
        return InitProducerIdResponse(producer_id=PRODUCER_ID, producer_epoch=self.epoch)

    def _checked(self, epoch: int, request: Message) -> ErrorCode:
        if epoch == self.epoch:
            return ErrorCode.NONE
        self.fences.append(request)
        return ErrorCode.INVALID_PRODUCER_EPOCH

    def _begun(self) -> Open:
        if self.open is None:
            self.open = Open()
        return self.open

    def _add_partitions(
        self, request: AddPartitionsToTxnRequest, refusal: ErrorCode
    ) -> AddPartitionsToTxnResponse:
        assert self.version == 1
        code = refusal or self._checked(request.v3_and_below_producer_epoch, request)
        results = []
        for topic in request.v3_and_below_topics:
            one = AddPartitionsToTxnTopicResult(topic.name)
            one.results_by_partition = [AddPartitionsToTxnPartitionResult(n, code) for n in topic.partitions]
            results.append(one)
            if code is ErrorCode.NONE:
                self._begun()
                self.partitions |= {TopicPartition(topic.name, number) for number in topic.partitions}
        return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=results)

    def _add_offsets(self, request: AddOffsetsToTxnRequest, refusal: ErrorCode) -> AddOffsetsToTxnResponse:
        assert self.version == 1
        code = refusal or self._checked(request.producer_epoch, request)
        if code is ErrorCode.NONE:
            self._begun()
            self.groups.add(request.group_id)
        return AddOffsetsToTxnResponse(error_code=code)

    def _commit_offsets(self, request: TxnOffsetCommitRequest, refusal: ErrorCode) -> TxnOffsetCommitResponse:
        code = refusal or self._checked(request.producer_epoch, request)
        topics = []
        for topic in request.topics:
            parts = [TxnOffsetCommitResponsePartition(one.partition_index, code) for one in topic.partitions]
            topics.append(TxnOffsetCommitResponseTopic(topic.name, partitions=parts))
            if code is ErrorCode.NONE:
                assert self.version == 2 or request.group_id in self.groups, "an unknown group"
                new = {one.partition_index: one.committed_offset for one in topic.partitions}
                self._begun().offsets |= new
        return TxnOffsetCommitResponse(topics=topics)

    def _end(self, request: EndTxnRequest, refusal: ErrorCode) -> EndTxnResponse:
        if refusal:
            return EndTxnResponse(error_code=refusal)
        is_current = request.producer_epoch == self.epoch
        if self._ended == (request.producer_epoch, request.committed) and (
            not is_current or self.open is None
        ):
            return self._ended_now()
        code = self._checked(request.producer_epoch, request)
        if code is ErrorCode.NONE and self.open is None and (self.version == 1 or request.committed):
            code = ErrorCode.INVALID_TXN_STATE
        if code is not ErrorCode.NONE:
            return EndTxnResponse(error_code=code)
        self._finish(is_commit=request.committed)
        self._ended = (request.producer_epoch, request.committed)
        if self.version == 2:
            self._bump()
        return self._ended_now()

    def _ended_now(self) -> EndTxnResponse:
        if self.version == 1:
            return EndTxnResponse()
        return EndTxnResponse(producer_id=PRODUCER_ID, producer_epoch=self.epoch)

    def _bump(self) -> None:
        self.epoch += 1
        self._next_sequence, self._recent = 0, []

    def _finish(self, *, is_commit: bool) -> None:
        if self.open is not None and is_commit:
            self.committed += self.open.values
            self.offsets |= self.open.offsets
        self.open = None
        self.partitions.clear()
        self.groups.clear()

    def _produce(self, request: ProduceRequest, refusal: ErrorCode) -> ProduceResponse:
        ((part,),) = ([*topic.partition_data] for topic in request.topic_data)
        assert part.records is not None
        code = refusal or self._append(bytes(part.records), request)
        answer = PartitionProduceResponse(index=0, error_code=code, base_offset=0)
        return ProduceResponse([TopicProduceResponse("orders", partition_responses=[answer])])

    def _append(self, batch: bytes, request: ProduceRequest) -> ErrorCode:
        if len(batch) > self.batch_bytes_max:
            return ErrorCode.MESSAGE_TOO_LARGE
        header = read_header(batch)
        assert header.is_transactional
        assert request.transactional_id == "t"
        code = self._checked(header.producer_epoch, request)
        if code is not ErrorCode.NONE:
            return code
        numbers = (header.base_sequence, header.record_count)
        if numbers in self._recent:
            return ErrorCode.NONE
        if header.base_sequence != self._next_sequence:
            return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        assert self.version == 2 or ORDERS in self.partitions, "a batch outside the transaction"
        self._next_sequence += header.record_count
        self._recent = [*self._recent, numbers][-5:]
        self._begun().values += [record.value or b"" for record in iter_records(batch, header)]
        return ErrorCode.NONE
