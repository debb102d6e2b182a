import pytest

from odradek.base.errors import MalformedRequest
from odradek.wire.explain import ELEMENTS_WALKED_MAX
from odradek.wire.messages.describe_topic_partitions import Cursor, DescribeTopicPartitionsRequest
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData


def test_the_path_leads_to_the_field() -> None:
    request = FetchRequest(
        topics=[FetchTopic(topic="a"), FetchTopic(topic="b", partitions=[FetchPartition()])]
    )
    data = request.encode(4)
    with pytest.raises(
        MalformedRequest,
        match=r"^FetchRequest v4: topics\[1\].partitions\[0\].partition_max_bytes: "
        r"4 bytes needed, 1 left \(at byte 47 of 48\)$",
    ):
        FetchRequest.decode(data[:-3], 4)


def test_the_path_leads_into_structures_that_may_be_null() -> None:
    data = DescribeTopicPartitionsRequest(cursor=Cursor(topic_name="t")).encode(0)
    with pytest.raises(MalformedRequest, match=r"cursor.partition_index: 4 bytes needed, 3 left"):
        DescribeTopicPartitionsRequest.decode(data[:-3], 0)


def test_records_longer_than_the_request_are_named() -> None:
    request = ProduceRequest(
        topic_data=[TopicProduceData(name="t", partition_data=[PartitionProduceData(records=bytes(100))])]
    )
    with pytest.raises(
        MalformedRequest, match=r"topic_data\[0\].partition_data\[0\].records: 100 bytes needed, 93 left"
    ):
        ProduceRequest.decode(request.encode(9)[:-10], 9)


def test_tagged_fields_beyond_their_number_are_named() -> None:
    data = DescribeTopicPartitionsRequest().encode(0)[:-1] + b"\x91\x4e" + b"\x05\x00" * 10_001
    with pytest.raises(MalformedRequest, match="more than 10000 tagged fields in one structure"):
        DescribeTopicPartitionsRequest.decode(data, 0)


def test_the_search_ends_after_many_elements() -> None:
    topics = [FetchTopic(topic="t") for _ in range(ELEMENTS_WALKED_MAX + 10)]
    with pytest.raises(MalformedRequest, match="somewhere behind the first 1000 elements"):
        FetchRequest.decode(FetchRequest(topics=topics).encode(4)[:-1], 4)
