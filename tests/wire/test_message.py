import importlib
import pkgutil
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import odradek.wire.messages
from odradek.base.buffers import Buffer
from odradek.base.errors import MalformedRequest
from odradek.base.ids import NO_TOPIC_ID
from odradek.wire.apis import APIS
from odradek.wire.message import Message, Request
from odradek.wire.messages.consumer_group_records import (
    ClassicMemberMetadata,
    ConsumerGroupMemberMetadataValue,
)
from odradek.wire.messages.create_topics import CreateTopicsRequest
from odradek.wire.messages.describe_client_quotas import DescribeClientQuotasRequest
from odradek.wire.messages.fetch import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
    ReplicaState,
)
from odradek.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from odradek.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from tests.wire.random_messages import messages_of, sent

KINDS = [
    pytest.param(kind, id=kind.__name__)
    for module in pkgutil.iter_modules(odradek.wire.messages.__path__, "odradek.wire.messages.")
    for kind in vars(importlib.import_module(module.name)).values()
    if isinstance(kind, type) and issubclass(kind, Message) and kind not in (Message, Request)
]
# One field; tag 0, of one byte, which says that no structure follows.
ONE_NULL_STRUCTURE_TAGGED_0 = b"\x01\x00\x01\x00"
ANY_HEALTH = list(HealthCheck)


def produce_of(records: bytes | None) -> ProduceRequest:
    return ProduceRequest(
        acks=-1,
        timeout_ms=1_000,
        topic_data=[
            TopicProduceData(name="t", partition_data=[PartitionProduceData(index=3, records=records)])
        ],
    )


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_encoded_decodes_to_the_same(kind: type[Message]) -> None:
    @settings(max_examples=5, deadline=None, database=None, suppress_health_check=ANY_HEALTH)
    @given(messages_of(kind))
    def check(message: Message) -> None:
        for version in kind.VERSIONS.span():
            said = sent(message, version)
            assert kind.decode(said.encode(version), version) == said, f"v{version}"

    check()


@pytest.mark.parametrize("kind", KINDS)
def test_a_message_cut_short_anywhere_is_malformed(kind: type[Message]) -> None:
    @settings(max_examples=3, deadline=None, database=None, suppress_health_check=ANY_HEALTH)
    @given(messages_of(kind), st.sampled_from(kind.VERSIONS.span()))
    def check(message: Message, version: int) -> None:
        data = sent(message, version).encode(version)
        # Long strings and records are cut at a few places only.
        for size in {*range(min(len(data), 64)), *range(0, len(data), 97), max(len(data) - 1, 0)}:
            if size == len(data):
                continue
            with pytest.raises(MalformedRequest, match=rf"^{kind.__name__} v{version}:") as raised:
                kind.decode(data[:size], version)
            assert "do not decode" not in str(raised.value), "the walk found nothing wrong"

    check()


@pytest.mark.parametrize("kind", KINDS)
def test_mutated_bytes_decode_or_are_explained(kind: type[Message]) -> None:
    """The fast reader and the explaining one agree on what is wrong."""

    @settings(max_examples=15, deadline=None, database=None, suppress_health_check=ANY_HEALTH)
    @given(messages_of(kind), st.sampled_from(kind.VERSIONS.span()), st.data())
    def check(message: Message, version: int, draw: st.DataObject) -> None:
        data = bytearray(sent(message, version).encode(version))
        if not data:
            return
        for _ in range(draw.draw(st.integers(1, 3))):
            data[draw.draw(st.integers(0, len(data) - 1))] = draw.draw(st.sampled_from([0, 1, 127, 128, 255]))
        fault = None
        try:
            decoded = kind.decode(data, version)
        except MalformedRequest as error:
            fault = str(error)
        if fault is None:
            kind.decode(decoded.encode(version), version)
        else:
            assert "do not decode" not in fault, data

    check()


@pytest.mark.parametrize("kind", KINDS)
def test_bytes_behind_the_message_are_an_error(kind: type[Message]) -> None:
    for version in kind.VERSIONS.span():
        data = kind().encode(version)
        with pytest.raises(MalformedRequest, match=rf"^{kind.__name__} v{version}: 1 bytes too many"):
            kind.decode(data + b"\0", version)
        assert kind.decode(data + b"\0", version, may_be_longer=True).encode(version) == data


@pytest.mark.parametrize("kind", KINDS)
def test_unknown_tagged_fields_are_skipped(kind: type[Message]) -> None:
    for version in kind.VERSIONS.span():
        if version < kind.FLEXIBLE_FROM:
            continue
        data = kind().encode(version)
        if kind is ConsumerGroupMemberMetadataValue:
            data = data.removesuffix(ONE_NULL_STRUCTURE_TAGGED_0) + b"\0"
        assert data[-1] == 0, "no tagged fields by default"
        tags = b"\x02" + b"\x7f\x03abc" + b"\x80\x01\x00"
        assert kind.decode(data[:-1] + tags, version) == kind.decode(data, version)


def test_versions_unknown_are_malformed() -> None:
    with pytest.raises(MalformedRequest, match=r"^FetchRequest v19: only versions 4 to 18 are known"):
        FetchRequest.decode(b"", 19)


def test_a_position_says_where_the_message_begins() -> None:
    data = produce_of(b"abc").encode(9)
    assert ProduceRequest.decode(b"header" + data, 9, 6) == produce_of(b"abc")


@pytest.mark.parametrize("wrap", [bytes, bytearray, memoryview])
def test_any_kind_of_buffer_decodes(wrap: Callable[[bytes], Buffer]) -> None:
    for version in (3, 9):
        assert ProduceRequest.decode(wrap(produce_of(b"abc").encode(version)), version) == produce_of(b"abc")


def test_records_are_views_into_the_buffer() -> None:
    data = bytearray(produce_of(b"abc").encode(9))
    records = ProduceRequest.decode(data, 9).topic_data[0].partition_data[0].records
    assert isinstance(records, memoryview)
    data[data.index(b"abc")] = ord("x")
    assert bytes(records) == b"xbc"


def test_large_records_are_passed_through_uncopied() -> None:
    large = bytes(100_000)
    parts = produce_of(large).encode_parts(9)
    assert [part is large for part in parts] == [False, True, False]
    assert b"".join(parts) == produce_of(large).encode(9)


def test_small_records_are_gathered() -> None:
    assert len(produce_of(bytes(100)).encode_parts(9)) == 1


def test_null_and_empty_differ() -> None:
    for records in (None, b""):
        for version in (3, 9):
            decoded = ProduceRequest.decode(produce_of(records).encode(version), version)
            assert decoded.topic_data[0].partition_data[0].records == records
    nothing: tuple[list[MetadataRequestTopic] | None, ...] = (None, [])
    for topics in nothing:
        assert MetadataRequest.decode(MetadataRequest(topics=topics).encode(9), 9).topics == topics


def test_null_where_a_version_knows_none_is_our_mistake() -> None:
    with pytest.raises(AssertionError):
        MetadataRequest(topics=None).encode(0)


@pytest.mark.parametrize(
    ("data", "version", "words"),
    [
        pytest.param(b"\xff\xff\xff\xff", 0, "null for an array that may not be null", id="null array"),
        pytest.param(b"\xff\xff\xff\xfe", 1, "a length of -2", id="negative"),
        pytest.param(b"\x7f\xff\xff\xff", 0, "more than 100000 array elements", id="huge"),
        pytest.param(b"\x00\x00\x10\x00", 0, "4096 elements announced, 0 bytes left", id="more than bytes"),
        pytest.param(b"\xff\xff\xff\xff\x0f\x00", 9, "more than 100000 array elements", id="huge compact"),
        pytest.param(b"\xff\xff\xff\xff\x1f\x00", 9, "a varint of more than 32 bits", id="33 bits"),
        pytest.param(b"\x80\x80\x80\x80\x80\x01", 9, "a varint of more than 32 bits", id="six bytes"),
    ],
)
def test_hostile_counts_are_refused(data: bytes, version: int, words: str) -> None:
    with pytest.raises(MalformedRequest, match=rf"^MetadataRequest v{version}: topics: {words}"):
        MetadataRequest.decode(data, version)


def test_hostile_counts_inside_are_refused() -> None:
    request = ListOffsetsRequest(topics=[ListOffsetsTopic(name="t", partitions=[ListOffsetsPartition()])])
    data = bytearray(request.encode(1))
    place = data.index(b"\0\x01t") + 3
    data[place : place + 4] = b"\x00\x00\xff\xff"
    with pytest.raises(
        MalformedRequest, match=r"topics\[0\].partitions: 65535 elements announced, 12 bytes left"
    ):
        ListOffsetsRequest.decode(data, 1)


def test_array_elements_are_counted_over_the_whole_message() -> None:
    topics = [MetadataRequestTopic(name="t") for _ in range(10)]
    data = MetadataRequest(topics=topics).encode(9)
    assert len(MetadataRequest.decode(data, 9, array_elements_max=10).topics or []) == 10
    with pytest.raises(MalformedRequest, match="more than 9 array elements in one message"):
        MetadataRequest.decode(data, 9, array_elements_max=9)
    nested = FetchRequest(topics=[FetchTopic(partitions=[FetchPartition()] * 2) for _ in range(3)]).encode(13)
    assert len(FetchRequest.decode(nested, 13, array_elements_max=9).topics) == 3
    with pytest.raises(MalformedRequest, match="more than 8 array elements in one message"):
        FetchRequest.decode(nested, 13, array_elements_max=8)


def test_hostile_tag_counts_are_refused() -> None:
    data = MetadataRequest(topics=[]).encode(9)[:-1]
    with pytest.raises(MalformedRequest, match=r"tagged fields: 5 tagged fields announced, 2 bytes left"):
        MetadataRequest.decode(data + b"\x05\x09\x00", 9)
    many = data + b"\xd0\x0f" + b"\x09\x00" * 2000
    MetadataRequest.decode(many, 9, array_elements_max=2000)
    with pytest.raises(MalformedRequest, match="more than 1999 array elements"):
        MetadataRequest.decode(many, 9, array_elements_max=1999)


def test_a_tagged_field_of_another_size_than_announced_is_malformed() -> None:
    data = FetchRequest(replica_state=ReplicaState(1, 2)).encode(15)
    place = data.index(b"\x01\x01\x0d") + 2
    with pytest.raises(MalformedRequest, match="replica_state: 14 bytes announced for a tagged field"):
        FetchRequest.decode(data[:place] + b"\x0e" + data[place + 1 :] + b"\0", 15)


def test_text_that_is_not_utf8_is_malformed() -> None:
    data = ListOffsetsRequest(topics=[ListOffsetsTopic(name="a")]).encode(1).replace(b"a", b"\xff")
    with pytest.raises(MalformedRequest, match=r"topics\[0\].name: not UTF-8: invalid start byte"):
        ListOffsetsRequest.decode(data, 1)


def test_a_tagged_structure_that_may_be_null_is_never_absent() -> None:
    """Kafka takes its absence for an empty structure, and so writes null in so many words."""
    value = ConsumerGroupMemberMetadataValue()
    data = value.encode(0)
    assert data.endswith(ONE_NULL_STRUCTURE_TAGGED_0)
    assert ConsumerGroupMemberMetadataValue.decode(data, 0) == value
    value.classic_member_metadata = ClassicMemberMetadata(session_timeout_ms=9)
    given_one = value.encode(0)
    assert given_one == data[:-4] + bytes.fromhex("01 00 07 01 00000009 01 00")
    assert ConsumerGroupMemberMetadataValue.decode(given_one, 0) == value
    with pytest.raises(MalformedRequest, match=r"classic_member_metadata.session_timeout_ms: 4 bytes needed"):
        ConsumerGroupMemberMetadataValue.decode(data[:-4] + bytes.fromhex("01 00 01 01"), 0)


def test_a_tagged_structure_is_absent_unless_given() -> None:
    partition = PartitionData(partition_index=1, records=b"")
    without = FetchResponse(responses=[FetchableTopicResponse(partitions=[partition])])
    back = FetchResponse.decode(without.encode(12), 12)
    assert back.responses[0].partitions[0].diverging_epoch is None
    partition.diverging_epoch = EpochEndOffset(epoch=3, end_offset=70)
    back = FetchResponse.decode(without.encode(12), 12)
    assert back.responses[0].partitions[0].diverging_epoch == EpochEndOffset(3, 70)


def test_fields_that_a_version_lacks_are_left_out() -> None:
    request = FetchRequest(topics=[FetchTopic(topic="t")], rack_id="r", session_id=7)
    back = FetchRequest.decode(request.encode(4), 4)
    assert (back.rack_id, back.session_id, back.topics[0].topic_id) == ("", 0, NO_TOPIC_ID)


def test_floats_come_back() -> None:
    kind = APIS[49].request_class
    module = importlib.import_module(kind.__module__)
    request = kind(entries=[module.EntryData(ops=[module.OpData(key="producer_byte_rate", value=1.5)])])  # type: ignore[call-arg]
    assert kind.decode(request.encode(1), 1) == request
    assert DescribeClientQuotasRequest.decode(DescribeClientQuotasRequest().encode(0), 0).strict is False


def test_what_is_printed_holds_no_records_and_no_secrets() -> None:
    assert "records=<5 bytes>" in repr(produce_of(b"quiet"))
    assert repr(SaslAuthenticateRequest(auth_bytes=b"\0me\0secret")) == (
        "SaslAuthenticateRequest(auth_bytes=<10 bytes>)"
    )


def test_messages_are_equal_by_their_fields() -> None:
    assert CreateTopicsRequest(timeout_ms=1) == CreateTopicsRequest(timeout_ms=1)
    assert CreateTopicsRequest(timeout_ms=1) != CreateTopicsRequest(timeout_ms=2)
    assert CreateTopicsRequest() != MetadataRequest()
    with pytest.raises(TypeError, match="unhashable"):
        hash(CreateTopicsRequest())
