"""Transactional writes before they are appended: is their partition part of the transaction (KIP-890)?

A log that has the producer's transaction open already lets its writes through at no cost. Otherwise the
coordinator is asked, or no marker would ever end what is written here. By the version of the request:

    Produce   TxnOffsetCommit
    to 10     to 3      the producer has added the partition by a request, else INVALID_TXN_STATE
    11        4         the same, else TRANSACTION_ABORTABLE
    12        5         the partition is added now; the transaction may begin by that

There each transaction has an epoch of its own, so that a log that does not know the producer has to get its
sequence 0 first: else an earlier batch was refused with a retriable error, and would now be too late.

Errors that pass by themselves become NOT_ENOUGH_REPLICAS, at which every producer tries again.
"""

from collections.abc import Collection, Mapping
from enum import IntEnum
from typing import Final

from odradek.base.buffers import Buffer
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import LogError
from odradek.base.execution import Later
from odradek.base.ids import TopicPartition
from odradek.coordinator.transactions import Producer, TransactionVersion
from odradek.records.header import HEADER_BYTES, TRANSACTIONAL_BIT, read_header
from odradek.server.node.core import BrokerCore

Refused = Mapping[TopicPartition, ErrorCode]
"""The partitions that must not be written to, with their errors."""

_ATTRIBUTES_LOW_AT: Final = 22
"""The byte of a batch header that holds the transactional bit."""
_PASSING: Final = frozenset(
    {
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)


class Ability(IntEnum):
    """What a producer can, by the version of its request; each can what those before it can."""

    ADDS_PARTITIONS = 0
    KNOWS_ABORTABLE = 1
    LEAVES_ADDING_TO_US = 2

    @classmethod
    def of_version(cls, version: int, first_with_abortable: int) -> "Ability":
        """Of a request whose version after the first with TRANSACTION_ABORTABLE leaves adding to us."""
        return cls(max(0, min(version - first_with_abortable + 1, cls.LEAVES_ADDING_TO_US)))


def is_transactional(batches: Buffer) -> bool:
    """Whether the first batch says that it is part of a transaction."""
    return len(batches) >= HEADER_BYTES and batches[_ATTRIBUTES_LOW_AT] & TRANSACTIONAL_BIT != 0


def admit_batches(
    core: BrokerCore,
    transactional_id: str | None,
    entries: Mapping[TopicPartition, Buffer],
    ability: Ability,
    later: Later[Refused],
) -> Refused | None:
    """Admit what a produce is about to append; see `admit`.

    Refusals, as in Kafka: transactional batches without a transactional id with
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED, those of several producers with INVALID_PRODUCER_ID_MAPPING, a
    first one without the sequence 0 with OUT_OF_ORDER_SEQUENCE_NUMBER.
    """
    if transactional_id is None:
        return dict.fromkeys(entries, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    producers = _producers(entries)
    if not producers:
        return {}
    producer = next(iter(producers.values()))
    if any(other != producer for other in producers.values()):
        return dict.fromkeys(entries, ErrorCode.INVALID_PRODUCER_ID_MAPPING)

    def with_late(refused: Refused) -> Refused:
        if ability is not Ability.LEAVES_ADDING_TO_US:
            return refused
        return {**_too_late(core, entries, producers), **refused}

    refused = admit(
        core, transactional_id, producer, producers, ability, lambda refused: later(with_late(refused))
    )
    return None if refused is None else with_late(refused)


def admit(
    core: BrokerCore,
    transactional_id: str,
    producer: Producer,
    partitions: Collection[TopicPartition],
    ability: Ability,
    later: Later[Refused],
) -> Refused | None:
    """Let the coordinator know of the partitions that the producer writes to, or vouch for them.

    Nothing may come between the result and what is then appended.
    """
    unknown = [one for one in partitions if not _is_open(core, one, producer)]
    coordinator = core.transactions.coordinator
    if unknown and ability is Ability.LEAVES_ADDING_TO_US:
        error = coordinator.add_partitions(
            transactional_id,
            producer,
            unknown,
            TransactionVersion.V2,
            lambda error: later(_refused(dict.fromkeys(unknown, error), ability)),
        )
        return None if error is None else _refused(dict.fromkeys(unknown, error), ability)
    if unknown and core.settings.transaction_partition_verification_enable:
        errors = coordinator.verify_partitions(
            transactional_id, producer, unknown, lambda errors: later(_refused(errors, ability))
        )
        return None if errors is None else _refused(errors, ability)
    return {}


def _producers(entries: Mapping[TopicPartition, Buffer]) -> dict[TopicPartition, Producer]:
    producers = {}
    for topic_partition, batches in entries.items():
        if is_transactional(batches):
            try:
                header = read_header(batches)
            except LogError:
                continue  # the append will say so
            producers[topic_partition] = Producer(header.producer_id, header.producer_epoch)
    return producers


def _too_late(
    core: BrokerCore, entries: Mapping[TopicPartition, Buffer], producers: Mapping[TopicPartition, Producer]
) -> Refused:
    """Those whose log does not know the producer, and that do not begin with its sequence 0."""
    late = {}
    for topic_partition, producer in producers.items():
        log = core.logs.get(topic_partition)
        if (
            log is not None
            and log.producers.get(producer.producer_id) is None
            and read_header(entries[topic_partition]).base_sequence != 0
        ):
            late[topic_partition] = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    return late


def _is_open(core: BrokerCore, topic_partition: TopicPartition, producer: Producer) -> bool:
    """Whether the partition's log has the producer's transaction open."""
    log = core.logs.get(topic_partition)
    known = None if log is None else log.producers.get(producer.producer_id)
    return known is not None and known.epoch == producer.epoch and known.transaction_first_offset is not None


def _refused(errors: Mapping[TopicPartition, ErrorCode], ability: Ability) -> Refused:
    return {
        topic_partition: _told(error, ability)
        for topic_partition, error in errors.items()
        if error is not ErrorCode.NONE
    }


def _told(error: ErrorCode, ability: Ability) -> ErrorCode:
    if error in _PASSING:
        return ErrorCode.NOT_ENOUGH_REPLICAS
    if error is ErrorCode.CONCURRENT_TRANSACTIONS and ability is not Ability.LEAVES_ADDING_TO_US:
        return ErrorCode.NOT_ENOUGH_REPLICAS
    if error is ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if error is ErrorCode.TRANSACTION_ABORTABLE and ability is Ability.ADDS_PARTITIONS:
        return ErrorCode.INVALID_TXN_STATE
    return error
