"""Hanging transactions: what leaders and coordinators are asked, and which of them hang."""

from collections.abc import Callable

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.ids import TopicPartition
from odradek.client.core.admin.open_transactions import (
    find_hanging,
    holder_of,
    open_transaction_at,
    producers_of,
)
from odradek.client.core.admin.transactions import PartitionProducer, list_transactions_there
from odradek.client.core.operation import Operation
from odradek.client.core.requests import Send, ToNode
from odradek.net.request_pipeline import ConnectionFailed
from odradek.wire.message import Message
from odradek.wire.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from odradek.wire.messages.describe_producers import (
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)
from odradek.wire.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TopicData,
    TransactionState,
)
from odradek.wire.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from odradek.wire.messages.list_transactions import TransactionState as Listed
from odradek.wire.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from tests.client.core.running import Running

FLIGHTS = TopicPartition("flights", 0)
PRODUCER = PartitionProducer(FLIGHTS, 7, 3, -1, 5, 1_000, 40)


class Cluster:
    """A broker that leads flights-0, in which producer 7 has a transaction open at offset 40."""

    def __init__(self) -> None:
        self.leader = 1
        self.start_offset = 40
        self.held: dict[str, list[str]] = {}
        """The topics of the open transaction of each transactional id of the producer."""
        self.expired: set[str] = set()
        self.on_list: Callable[[], None] = lambda: None

    def run(self, operation: Operation[object]) -> object:
        running = Running(operation)
        while not running.is_done:
            running.answer(*map(self._answer, running.sends))
        return running.result

    def _answer(self, send: Send) -> Message:
        match send.request:
            case MetadataRequest():
                parts = [MetadataResponsePartition(0, 0, self.leader)]
                return MetadataResponse(topics=[MetadataResponseTopic(0, "flights", partitions=parts)])
            case DescribeClusterRequest():
                return DescribeClusterResponse(brokers=[DescribeClusterBroker(1)])
            case ListTransactionsRequest():
                assert send.request.producer_id_filters == [7]
                self.on_list()
                return ListTransactionsResponse(transaction_states=[Listed(one, 7) for one in self.held])
            case DescribeTransactionsRequest():
                (name,) = send.request.transactional_ids
                code = ErrorCode.TRANSACTIONAL_ID_NOT_FOUND if name in self.expired else ErrorCode.NONE
                topics = [TopicData(topic, [0]) for topic in self.held[name]]
                state = TransactionState(code, name, "Ongoing", topics=topics)
                return DescribeTransactionsResponse(transaction_states=[state])
        producer = ProducerState(7, 3, last_sequence=5, last_timestamp=1_000, coordinator_epoch=-1)
        producer.current_txn_start_offset = self.start_offset
        return DescribeProducersResponse(
            topics=[TopicResponse("flights", [PartitionResponse(0, 0, None, [producer])])]
        )


def test_a_transaction_that_no_id_has_hangs() -> None:
    cluster = Cluster()
    cluster.held = {"other": ["planes"], "gone": ["flights"]}
    cluster.expired = {"gone"}
    assert cluster.run(find_hanging([FLIGHTS], before_ms=1_001)) == [PRODUCER]
    assert cluster.run(find_hanging([FLIGHTS], before_ms=1_000)) == []  # it was written to since


def test_one_that_an_id_has_does_not() -> None:
    cluster = Cluster()
    cluster.held = {"payments": ["flights"]}
    assert cluster.run(find_hanging([FLIGHTS], before_ms=2_000)) == []
    held = cluster.run(holder_of(PRODUCER))
    assert getattr(held, "transactional_id", None) == "payments"


def test_one_that_ends_while_it_is_checked_does_not() -> None:
    cluster = Cluster()

    def end() -> None:
        cluster.start_offset = -1

    cluster.on_list = end
    assert cluster.run(find_hanging([FLIGHTS], before_ms=2_000)) == []


def test_an_open_transaction_is_named_by_its_first_offset() -> None:
    assert Cluster().run(open_transaction_at(FLIGHTS, 40)) == PRODUCER
    with pytest.raises(ApiError, match="no open transaction of flights-0 starts at offset 41"):
        Cluster().run(open_transaction_at(FLIGHTS, 41))


def test_a_partition_without_a_leader_is_an_error_at_once() -> None:
    cluster = Cluster()
    cluster.leader = -1
    with pytest.raises(ApiError, match="flights-0 has no leader"):
        cluster.run(producers_of([FLIGHTS]))


def test_transactional_ids_are_listed_by_the_brokers_that_are_there() -> None:
    running = Running(list_transactions_there())
    running.answer(DescribeClusterResponse(brokers=[DescribeClusterBroker(one) for one in (1, 2)]))
    assert [send.to for send in running.sends] == [ToNode(1), ToNode(2)]
    states = [Listed("b", 1, "Empty"), Listed("a", 2, "Empty")]
    running.answer(ConnectionFailed("gone"), ListTransactionsResponse(transaction_states=states))
    found, missing = running.result
    assert [one.transactional_id for one in found] == ["a", "b"]
    assert missing == {1: "broker 1 does not answer: gone"}
