"""Copies records to another topic, exactly once: what was read and what was written are one transaction."""

import asyncio
from collections.abc import Mapping
from typing import Final

from campaigns.clients.application import API_MS, COPY, SOURCE, Setting
from campaigns.clients.ledger import Reader
from campaigns.clients.reading import PASSING, PASSING_COMMIT, POLL_S, Listener, group_settings
from odradek.aio import (
    Consumer,
    ConsumerRecord,
    OffsetAndMetadata,
    Producer,
    TopicPartition,
    TransactionAbortable,
)
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError

GROUP: Final = "copiers"
TRANSACTION_MS: Final = 10_000
PASSING_TRANSACTION: Final = PASSING_COMMIT | {
    ErrorCode.TRANSACTION_ABORTABLE,
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.LEADER_NOT_AVAILABLE,
}
"""What a transaction may be aborted for."""
PASSING_LOOK: Final = PASSING_COMMIT | {ErrorCode.UNSTABLE_OFFSET_COMMIT}
"""What a look at committed offsets may end with: a transaction is open for as long as such a call lasts."""
PASSING_END: Final = PASSING | {
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.INVALID_TXN_STATE,
    ErrorCode.PRODUCER_FENCED,
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
}
"""What a producer may end with: the coordinator aborts what stands still for TRANSACTION_MS."""


class _Gaveup(Exception):
    """The application aborts a transaction of its own accord."""


async def copy(setting: Setting, name: str, transactional_id: str, protocol: str, strategy: str) -> None:
    """Copy until the run ends; a producer that has ended is followed by another of the same id."""
    reader = setting.ledger.reader(GROUP, name)
    noted = Listener(setting.ledger, reader)
    settings = {**group_settings(setting, GROUP, protocol, strategy), "enable.auto.commit": False}
    consumer = Consumer(SOURCE, settings=settings, listener=noted, interceptors=(noted,))
    while setting.is_running:
        producer = Producer(
            settings={
                **setting.common,
                "transactional.id": transactional_id,
                "transaction.timeout.ms": TRANSACTION_MS,
                "delivery.timeout.ms": 8_000,
                "max.block.ms": API_MS,
                "linger.ms": setting.chance.choice((0, 20)),
            }
        )
        try:
            async with setting.within(API_MS / 1000, f"{name}: init_transactions", producer):
                await producer.init_transactions()
            while setting.is_running:
                await _copy_some(setting, consumer, producer, reader)
        except ApiError as error:
            setting.refused("producer", error, PASSING_END)
            await _go_back(setting, consumer, reader)
        async with setting.within(API_MS / 1000, f"{name}: close of the producer", producer):
            await producer.close(5)
    async with setting.within(30, f"{name}: close", consumer):
        await consumer.close()


async def _copy_some(setting: Setting, consumer: Consumer, producer: Producer, reader: Reader) -> None:
    try:
        async with setting.within(POLL_S + API_MS / 1000, f"{reader.name}: poll", consumer):
            records = await consumer.poll(POLL_S)
    except ApiError as error:
        setting.refused("poll", error, PASSING)
        return
    if not records:
        return
    for record in records:
        setting.ledger.handed_out(reader, record)
    following = {TopicPartition(one.topic, one.partition): one.offset + 1 for one in records}
    try:
        # Records, offsets, the commit, and an abort after any of them.
        async with setting.within(4 * API_MS / 1000, f"{reader.name}: transaction", producer):
            await _transaction(setting, consumer, producer, records, following)
    except _Gaveup:
        setting.ledger.counts["transactions aborted"] += 1
        await _go_back(setting, consumer, reader)
    except TransactionAbortable as error:
        setting.refused("transaction", error, PASSING_TRANSACTION)
        await _go_back(setting, consumer, reader)
    else:
        setting.ledger.counts["transactions"] += 1
        setting.ledger.committed(reader, {one: OffsetAndMetadata(at) for one, at in following.items()})


async def _transaction(
    setting: Setting,
    consumer: Consumer,
    producer: Producer,
    records: list[ConsumerRecord],
    following: Mapping[TopicPartition, int],
) -> None:
    member = consumer.group_metadata()
    async with producer.transaction():
        for record in records:
            # The same partition, so that a copy is in order, too.
            await producer.send(COPY, b"of %d" % record.offset, partition=record.partition)
        await producer.send_offsets_to_transaction(following, member)
        if setting.chance.random() < 0.1:
            raise _Gaveup


async def _go_back(setting: Setting, consumer: Consumer, reader: Reader) -> None:
    """Read again from what is committed."""
    held = consumer.assignment()
    while setting.is_running and held:
        try:
            async with setting.within(API_MS / 1000, f"{reader.name}: committed", consumer):
                committed = await consumer.committed(held)
        except ApiError as error:
            setting.refused("committed", error, PASSING_LOOK)
            await asyncio.sleep(0.1)
            held = held & consumer.assignment()
            continue
        for one in held & consumer.assignment():
            found = committed[one]
            if found is None:
                consumer.seek_to_beginning([one])
            else:
                consumer.seek(one, found.offset)
            setting.ledger.sought(reader, one)
        return
