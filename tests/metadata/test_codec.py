"""The store's documents are Kafka's, field by field, and a broken one is an error of its own."""

import json
from collections.abc import Callable
from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.base.ids import NO_BROKER, NO_EPOCH, TopicPartition
from odradek.metadata import codec
from odradek.metadata.image import BrokerImage, Endpoint, PartitionImage


def test_a_broker_is_registered_as_kafka_registers_it() -> None:
    endpoints = (Endpoint("INSIDE", "PLAINTEXT", "::1", 9092), Endpoint("OUTSIDE", "SSL", "example", 9093))
    broker = BrokerImage(1, endpoints, "a", 5, (UUID(int=7),), clean_stop=False)
    data = codec.encode_broker(broker, timestamp_ms=1_700_000_000_000)
    document = json.loads(data)
    del document["odradek"]
    assert document == {
        "version": 5,
        "host": "::1",
        "port": 9092,
        "jmx_port": -1,
        "timestamp": "1700000000000",
        "endpoints": ["INSIDE://[::1]:9092", "OUTSIDE://example:9093"],
        "listener_security_protocol_map": {"INSIDE": "PLAINTEXT", "OUTSIDE": "SSL"},
        "rack": "a",
        "features": {},
    }
    assert codec.decode_broker(1, data, epoch=5) == broker


def test_kafkas_own_registration_is_read() -> None:
    data = (
        b'{"listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT"},"endpoints":["PLAINTEXT://box:9092"],'
        b'"jmx_port":-1,"features":{},"host":"box","timestamp":"1","port":9092,"version":5}'
    )
    expected = BrokerImage(3, (Endpoint("PLAINTEXT", "PLAINTEXT", "box", 9092),), None, 9)
    assert codec.decode_broker(3, data, epoch=9) == expected


def test_a_topic_is_written_as_kafka_writes_it() -> None:
    partitions = {
        0: PartitionImage((1, 2), (1,), 1),
        1: PartitionImage((3, 2, 1), (1,), 1, adding_replicas=(3,), removing_replicas=(1,)),
    }
    data = codec.encode_topic(UUID(int=1), partitions)
    assert json.loads(data) == {
        "version": 3,
        "topic_id": "AAAAAAAAAAAAAAAAAAAAAQ",
        "partitions": {"0": [1, 2], "1": [3, 2, 1]},
        "adding_replicas": {"1": [3]},
        "removing_replicas": {"1": [1]},
    }
    assert codec.decode_topic(data) == codec.TopicDocument(
        UUID(int=1), {0: (1, 2), 1: (3, 2, 1)}, {1: (3,)}, {1: (1,)}
    )


def test_a_partition_state_is_written_as_kafka_writes_it() -> None:
    state = PartitionImage((1, 2), (2, 1), 2, leader_epoch=4)
    data = codec.encode_state(state, controller_epoch=3)
    assert json.loads(data) == {
        "controller_epoch": 3,
        "leader": 2,
        "version": 1,
        "leader_epoch": 4,
        "isr": [2, 1],
    }
    assert codec.decode_state(data) == codec.StateDocument(2, 4, (2, 1), 3)


@pytest.mark.parametrize(
    ("state", "added"),
    [
        pytest.param(PartitionImage((1, 2), (2,), 2, elr=(1,)), {"elr": [1]}, id="eligible"),
        pytest.param(
            PartitionImage((1, 2), (), NO_BROKER, last_known_leader=2),
            {"last_known_leader": 2},
            id="none left",
        ),
        pytest.param(PartitionImage((1, 2), (2,), 2, 5, unclean_epoch=5), {"unclean_epoch": 5}, id="unclean"),
    ],
)
def test_what_kafka_does_not_have_is_added_to_a_partition_state(
    state: PartitionImage, added: dict[str, object]
) -> None:
    """R15e: Kafka skips fields that it does not know."""
    data = codec.encode_state(state, controller_epoch=3)
    plain = replace(state, elr=(), last_known_leader=NO_BROKER, unclean_epoch=NO_EPOCH)
    assert json.loads(data) == json.loads(codec.encode_state(plain, controller_epoch=3)) | added
    found = codec.decode_state(data)
    assert (found.elr, found.last_known_leader) == (state.elr, state.last_known_leader)
    assert found.unclean_epoch == state.unclean_epoch
    assert codec.encode_state_document(found) == data


def test_producer_id_blocks_are_strings_as_kafka_writes_them() -> None:
    block = codec.ProducerIdBlockDocument(1, 1000, 1999)
    data = codec.encode_producer_id_block(block)
    assert json.loads(data) == {"version": 1, "broker": 1, "block_start": "1000", "block_end": "1999"}
    assert codec.decode_producer_id_block(data) == block


def test_the_small_documents_are_kafkas_too() -> None:
    assert json.loads(codec.encode_cluster_id("x")) == {"version": "1", "id": "x"}
    assert json.loads(codec.encode_controller(1, 5)) == {
        "version": 2,
        "brokerid": 1,
        "timestamp": "5",
        "kraftControllerEpoch": -1,
    }
    assert codec.encode_controller_epoch(12) == b"12"
    assert json.loads(codec.encode_config({"retention.ms": "1"})) == {
        "version": 1,
        "config": {"retention.ms": "1"},
    }
    assert json.loads(codec.encode_isr_change([TopicPartition("a", 3)])) == {
        "version": 1,
        "partitions": [{"topic": "a", "partition": 3}],
    }
    assert json.loads(codec.encode_log_dir_event(4)) == {"version": 1, "broker": 4, "event": 1}


def test_the_small_documents_are_read_back() -> None:
    assert codec.decode_cluster_id(codec.encode_cluster_id("x")) == "x"
    assert codec.decode_controller(codec.encode_controller(1, 5)) == 1
    assert codec.decode_controller_epoch(b"12") == 12
    assert codec.decode_config(codec.encode_config({"a": "1"})) == {"a": "1"}
    assert codec.decode_isr_change(codec.encode_isr_change([TopicPartition("a", 3)])) == [("a", 3)]
    assert codec.decode_log_dir_event(codec.encode_log_dir_event(4)) == 4
    known = codec.LogDirsDocument(4, (UUID(int=1), UUID(int=2)), "b1", (UUID(int=3),))
    assert codec.decode_log_dirs(codec.encode_log_dirs(known)) == known


@given(st.uuids())
def test_an_id_survives_its_text(topic_id: UUID) -> None:
    assert codec.topic_id_of(codec.topic_id_text(topic_id)) == topic_id


DECODERS = [
    lambda data: codec.decode_broker(1, data, 1),
    codec.decode_topic,
    codec.decode_state,
    codec.decode_isr_change,
    codec.decode_log_dir_event,
    codec.decode_config,
    codec.decode_cluster_id,
    codec.decode_controller,
    codec.decode_controller_epoch,
    codec.decode_producer_id_block,
    codec.decode_log_dirs,
]

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
FIELDS = (
    *("version", "topic_id", "partitions", "leader", "leader_epoch", "isr", "controller_epoch", "config"),
    *("id", "brokerid", "broker", "block_start", "block_end", "endpoints", "odradek", "log_dir_ids"),
    *("broker_epoch", "boot_id", "missing_dir_ids"),
)
documents = st.dictionaries(st.sampled_from(FIELDS), json_values, max_size=8)


@pytest.mark.slow
@given(
    decode=st.sampled_from(DECODERS),
    data=st.binary(max_size=20) | documents.map(lambda document: json.dumps(document).encode()),
)
def test_whatever_a_node_holds_it_is_read_or_malformed(
    decode: Callable[[bytes], object], data: bytes
) -> None:
    try:
        document = decode(data)
    except codec.MalformedNode as malformed:
        document = str(malformed)
    assert document not in (None, ""), "a node is read, or the error says what it held"
