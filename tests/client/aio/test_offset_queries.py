"""Questions about offsets, asked of brokers whose answers say less, or other things, than was asked."""

import asyncio
from typing import cast

import pytest

from odradek.base.chance import SeededChance
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.ids import TopicPartition
from odradek.base.offset_timestamps import LATEST
from odradek.client.aio.driver import Driver
from odradek.client.aio.offset_queries import OffsetQueries
from odradek.client.core.backoff import Backoff
from odradek.client.core.consumer.positions import Identity
from odradek.client.core.consumer.subscription import Subscription
from odradek.client.core.requests import Outcome, Send
from odradek.client.core.routing import Routing
from odradek.wire.message import Message
from odradek.wire.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from odradek.wire.messages.offset_fetch import OffsetFetchResponse
from tests.client.core.producer.model_broker import ORDERS, known_view

OTHER = TopicPartition("planes", 3)


class OneMember:
    """A consumer with a group that it has not joined."""

    group, member, epoch, instance, checks_epoch = "billing", "", -1, None, False


class Answering:
    """Stands for a driver: each request gets the next answer."""

    def __init__(self, *answers: Message) -> None:
        self.view = known_view()
        self.routing = Routing(self.view, SeededChance(1))
        self.now_ms = 0
        self.is_closed = False
        self._answers = list(answers)

    def ask(self, send: Send) -> "asyncio.Future[Outcome]":
        found: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        found.set_result(Outcome(send, self._answers.pop(0)))
        return found

    def pump(self) -> None:
        self.now_ms += 1_000


def queries(driver: Answering) -> OffsetQueries:
    return OffsetQueries(
        cast(Driver, driver),
        cast(Identity, OneMember()),
        Subscription(driver.view),
        is_committed_only=False,
        request_timeout_ms=1_000,
        backoff=Backoff(1, 1, SeededChance(1)),
    )


def listed(partition: TopicPartition, offset: int) -> ListOffsetsResponse:
    part = ListOffsetsPartitionResponse(partition_index=partition.partition, offset=offset, timestamp=-1)
    return ListOffsetsResponse(topics=[ListOffsetsTopicResponse(partition.topic, [part])])


def test_an_answer_about_another_partition_is_none_about_this_one() -> None:
    driver = Answering(listed(OTHER, 9), listed(ORDERS, 7))
    found = asyncio.run(queries(driver).find({ORDERS: LATEST}, 30))
    assert {one: at.offset for one, at in found.items() if at is not None} == {ORDERS: 7}


def test_a_committed_offset_that_the_answer_leaves_out_is_not_taken_for_none() -> None:
    driver = Answering(OffsetFetchResponse())
    with pytest.raises(ApiError, match="leaves out the committed offset of orders-0") as refused:
        asyncio.run(queries(driver).committed([ORDERS], 30))
    assert refused.value.code is ErrorCode.UNKNOWN_SERVER_ERROR
