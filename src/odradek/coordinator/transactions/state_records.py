"""What `__transaction_state` holds, in Kafka's own formats: a key and a value per transactional id.

Decodes and encodes records, nothing else. Keys are TransactionLogKey 0; values are written as
TransactionLogValue 1 and read as 0 or 1. A key without a value is a tombstone: the id has expired.
"""

from typing import Final

from odradek.base.buffers import Buffer
from odradek.base.errors import MalformedRequest
from odradek.base.execution import COUNTED_PER_STEP, Steps, freed, stepwise
from odradek.base.ids import TopicPartition, by_topic
from odradek.coordinator.transactions.state import TransactionState
from odradek.coordinator.transactions.transaction import (
    TransactionRecord,
    TransactionVersion,
    by_topic_in_steps,
)
from odradek.records.builder import BatchBuilder
from odradek.wire.messages.transaction_state import PartitionsSchema, TransactionLogKey, TransactionLogValue
from odradek.wire.versioned import (
    decode_versioned,
    encode_versioned,
    encode_versioned_in_steps,
    version_of,
)

KEY_VERSION: Final = 0
VALUE_VERSION: Final = 1

_STORED_STATES: Final = frozenset(range(TransactionState.COMPLETE_ABORT + 1))


def build_batch(transactional_id: str, record: TransactionRecord | None, now_ms: int) -> bytearray:
    """The batch of one record that stores `record`, or of a tombstone."""
    return _batch_of(transactional_id, None if record is None else encode_value(record), now_ms)


def build_batch_in_steps(transactional_id: str, record: TransactionRecord, now_ms: int) -> Steps[bytearray]:
    """The same for a record that may have very many partitions."""
    topics = yield from by_topic_in_steps(record.partitions)
    rows = yield from stepwise(topics.items(), lambda one: PartitionsSchema(*one), COUNTED_PER_STEP)
    value = yield from encode_versioned_in_steps(_value(record, rows), VALUE_VERSION)
    spent: list[object] = [rows, topics]
    del rows, topics
    yield from freed(spent)
    return _batch_of(transactional_id, value, now_ms)


def _batch_of(transactional_id: str, value: bytes | None, now_ms: int) -> bytearray:
    builder = BatchBuilder()
    builder.append(now_ms, encode_versioned(TransactionLogKey(transactional_id), KEY_VERSION), value)
    return builder.build()


def decode_key(key: Buffer | None) -> str | None:
    """The transactional id; None for a key of a kind that is not known here. Raises MalformedRequest."""
    if key is None:
        raise MalformedRequest("a record of __transaction_state without a key")
    if version_of(key) != KEY_VERSION:
        return None
    return decode_versioned(TransactionLogKey, key).transactional_id


def encode_value(record: TransactionRecord) -> bytes:
    """The record's bytes."""
    rows = [PartitionsSchema(*one) for one in by_topic(record.partitions).items()]
    return encode_versioned(_value(record, rows), VALUE_VERSION)


def _value(record: TransactionRecord, partitions: list[PartitionsSchema]) -> TransactionLogValue:
    return TransactionLogValue(
        producer_id=record.producer_id,
        previous_producer_id=record.previous_producer_id,
        next_producer_id=record.next_producer_id,
        producer_epoch=record.producer_epoch,
        transaction_timeout_ms=record.timeout_ms,
        transaction_status=record.state,
        transaction_partitions=None if record.state is TransactionState.EMPTY else partitions,
        transaction_last_update_timestamp_ms=record.updated_ms,
        transaction_start_timestamp_ms=record.started_ms,
        client_transaction_version=record.version,
    )


def decode_value(value: Buffer) -> TransactionRecord:
    """The record behind the bytes. Raises MalformedRequest."""
    stored = decode_versioned(TransactionLogValue, value)
    if stored.transaction_status not in _STORED_STATES:
        raise MalformedRequest(f"a transaction is never stored in state {stored.transaction_status}")
    is_classic = stored.client_transaction_version < TransactionVersion.V2
    return TransactionRecord(
        producer_id=stored.producer_id,
        producer_epoch=stored.producer_epoch,
        timeout_ms=stored.transaction_timeout_ms,
        state=TransactionState(stored.transaction_status),
        updated_ms=stored.transaction_last_update_timestamp_ms,
        started_ms=stored.transaction_start_timestamp_ms,
        partitions=frozenset(
            TopicPartition(topic.topic, partition)
            for topic in stored.transaction_partitions or ()
            for partition in topic.partition_ids
        ),
        previous_producer_id=stored.previous_producer_id,
        next_producer_id=stored.next_producer_id,
        version=TransactionVersion.CLASSIC if is_classic else TransactionVersion.V2,
    )
