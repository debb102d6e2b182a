"""A broker with one partition that follows Kafka's rules for idempotent producers, for tests of cores."""

from collections import deque
from dataclasses import dataclass, field

from odradek.base.chance import SeededChance
from odradek.base.error_codes import ErrorCode
from odradek.base.ids import TopicPartition
from odradek.client.core.cluster_view import ClusterView
from odradek.client.core.requests import Outcome, Send
from odradek.net.request_pipeline import ConnectionFailed
from odradek.records.framing import iter_records
from odradek.records.header import read_header
from odradek.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from odradek.wire.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from odradek.wire.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)

ORDERS = TopicPartition("orders", 0)
_SEQUENCES = 1 << 31


def known_view() -> ClusterView:
    """A view that knows one broker, which leads orders-0."""
    view = ClusterView(SeededChance(1))
    view.want(["orders"])
    (send,) = view.due(0)
    partition = MetadataResponsePartition(partition_index=0, leader_id=1, leader_epoch=0)
    answer = MetadataResponse(
        brokers=[MetadataResponseBroker(node_id=1, host="h", port=9)],
        topics=[MetadataResponseTopic(name="orders", partitions=[partition])],
    )
    view.outcome(Outcome(send, answer), 0)
    return view


@dataclass
class _ProducerEntry:
    epoch: int
    next_sequence: int
    # (first sequence, records, base offset) of the last five batches.
    recent: deque[tuple[int, int, int]] = field(default_factory=lambda: deque(maxlen=5))


class ModelBroker:
    """Answers requests at once; what is lost, and when, its caller decides."""

    def __init__(self, first_epoch: int = 0) -> None:
        self.first_epoch = first_epoch
        self.ids_given = 0
        self.log: list[bytes] = []
        """The stored values."""
        self.producers: dict[int, _ProducerEntry] = {}
        self.batch_bytes_max = 1 << 20
        """As `max.message.bytes`."""

    def answer(self, send: Send, refusal: ErrorCode = ErrorCode.NONE) -> Outcome:
        """Carry a request out, or refuse it with this code without any effect."""
        if isinstance(send.request, InitProducerIdRequest):
            if refusal is not ErrorCode.NONE:
                return Outcome(send, InitProducerIdResponse(error_code=ErrorCode.NOT_COORDINATOR))
            self.ids_given += 1
            return Outcome(
                send, InitProducerIdResponse(producer_id=self.ids_given, producer_epoch=self.first_epoch)
            )
        assert isinstance(send.request, ProduceRequest)
        ((part,),) = ([*topic.partition_data] for topic in send.request.topic_data)
        assert part.records is not None
        code, offset = (refusal, -1) if refusal is not ErrorCode.NONE else self._append(bytes(part.records))
        answer = PartitionProduceResponse(index=0, error_code=code, base_offset=offset)
        return Outcome(send, ProduceResponse([TopicProduceResponse("orders", partition_responses=[answer])]))

    def _append(self, batch: bytes) -> tuple[ErrorCode, int]:
        if len(batch) > self.batch_bytes_max:
            return ErrorCode.MESSAGE_TOO_LARGE, -1
        header = read_header(batch)
        if header.has_producer_id:
            entry = self.producers.get(header.producer_id)
            if entry is not None and header.producer_epoch < entry.epoch:
                return ErrorCode.INVALID_PRODUCER_EPOCH, -1
            if entry is not None and header.producer_epoch == entry.epoch:
                for first, records, offset in entry.recent:
                    if (first, records) == (header.base_sequence, header.record_count):
                        return ErrorCode.NONE, offset
                if header.base_sequence != entry.next_sequence:
                    return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1
            elif entry is not None and header.base_sequence:
                return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1
            if entry is None or entry.epoch != header.producer_epoch:
                entry = self.producers[header.producer_id] = _ProducerEntry(header.producer_epoch, 0)
            entry.next_sequence = (header.base_sequence + header.record_count) % _SEQUENCES
            entry.recent.append((header.base_sequence, header.record_count, len(self.log)))
        offset = len(self.log)
        self.log += [record.value or b"" for record in iter_records(batch, header)]
        return ErrorCode.NONE, offset


def lost(send: Send) -> Outcome:
    """The connection broke: whether the request was carried out is unknown."""
    return Outcome(send, error=ConnectionFailed("the connection broke"))
