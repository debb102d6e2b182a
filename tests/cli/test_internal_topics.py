"""Records of internal topics as `odradek log dump --records` shows them."""

import json
from pathlib import Path
from typing import Any

import pytest

from odradek import Admin, Consumer
from odradek.base.topic_names import OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC
from odradek.cli.internal_topics import KINDS, decode, in_words
from odradek.cli.main import run
from odradek.client.choices import GROUP_PROTOCOLS
from odradek.records.builder import BatchBuilder
from odradek.testing import Broker
from odradek.wire.messages.consumer_offsets import OffsetCommitKey, OffsetCommitValue
from odradek.wire.messages.transaction_state import PartitionsSchema, TransactionLogKey, TransactionLogValue
from odradek.wire.versioned import encode_versioned

KEY = encode_versioned(OffsetCommitKey("g", "t", 3), 1)


def value_of(version: int) -> bytes:
    value = OffsetCommitValue(offset=42, leader_epoch=7, metadata="m", commit_timestamp=1000)
    return encode_versioned(value, version)


@pytest.mark.parametrize("version", range(5))
def test_an_offset_is_decoded_in_every_version(version: int) -> None:
    found = decode(OFFSETS_TOPIC, KEY, value_of(version))
    assert (found.record, found.key_version, found.value_version) == ("OffsetCommit", 1, version)
    assert in_words(found.key) == "group g, topic t, partition 3"
    assert found.value is not None
    assert in_words(found.value).startswith(
        "offset 42, " + "leader epoch 7, " * (version >= 3) + "metadata m"
    )
    assert in_words(found.value).endswith("commit timestamp 1970-01-01 00:00:01.000Z")


def test_a_tombstone_has_no_value() -> None:
    found = decode(OFFSETS_TOPIC, KEY, None)
    assert (found.value, found.value_version) == (None, None)


def test_a_transaction_has_its_state_by_name() -> None:
    value = TransactionLogValue(
        producer_id=9, transaction_status=1, transaction_partitions=[PartitionsSchema("t", [0, 2])]
    )
    found = decode(
        TRANSACTION_STATE_TOPIC, encode_versioned(TransactionLogKey("pay"), 0), encode_versioned(value, 1)
    )
    assert found.record == "TransactionLog"
    assert found.key == {"transactional_id": "pay"}
    assert found.value is not None
    assert found.value["transaction_status"] == "Ongoing"
    assert "transaction partitions [topic t, partition ids [0; 2]]" in in_words(found.value)


def test_every_kind_of_key_is_decoded() -> None:
    for topic, kinds in KINDS.items():
        for version, (key_kind, value_kind) in kinds.items():
            key = encode_versioned(key_kind(), version)
            for value_version in range(value_kind.VERSIONS.lowest, value_kind.VERSIONS.highest + 1):
                value = encode_versioned(value_kind(), value_version)
                found = decode(topic, key, value)
                assert (found.key_version, found.value_version) == (version, value_version)
                assert json.loads(json.dumps(found.value)) == found.value


def dumped(capsys: pytest.CaptureFixture[str], path: Path, *options: str) -> str:
    capsys.readouterr()
    assert run(["log", "dump", str(path), "--records", *options]) == 0, capsys.readouterr()
    return capsys.readouterr().out


def rows(capsys: pytest.CaptureFixture[str], path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in dumped(capsys, path, "--json").splitlines()]


@pytest.mark.integration
def test_what_a_group_and_a_transaction_wrote_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from confluent_kafka import Producer

    with Broker(data_dir=tmp_path) as broker:
        topic = broker.create_topic()
        broker.produce(topic, "v")
        for protocol in GROUP_PROTOCOLS:
            with Consumer(
                topic,
                bootstrap_servers=broker.bootstrap_servers,
                group_id=protocol,
                group_protocol=protocol,
                auto_offset_reset="earliest",
            ) as reader:
                while not reader.poll(0.1):
                    pass
        with Admin(broker.bootstrap_servers) as admin:
            admin.delete_group("classic")
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": "pay"})
        producer.init_transactions(20)
        producer.begin_transaction()
        producer.produce(topic, b"1")
        producer.commit_transaction(20)
    found = rows(capsys, tmp_path / "__consumer_offsets-0")
    kinds = {one["record"] for one in found}
    assert {"OffsetCommit", "GroupMetadata", "ConsumerGroupMetadata"} <= kinds
    assert "ConsumerGroupCurrentMemberAssignment" in kinds
    offsets = [one for one in found if one["record"] == "OffsetCommit"]
    assert offsets[0]["key"] == {"group": "consumer", "topic": topic, "partition": 0}
    assert offsets[0]["value"]["offset"] == 1
    gone = [one for one in offsets if one["key"]["group"] == "classic"]
    assert [one["value"] is None for one in gone] == [False, True]
    group = next(one for one in found if one["record"] == "GroupMetadata" and one["value"]["members"])
    (member,) = group["value"]["members"]
    assert member["subscription"]["topics"] == [topic]
    assert member["assignment"]["assigned_partitions"] == [{"topic": topic, "partitions": [0]}]
    words = dumped(capsys, tmp_path / "__consumer_offsets-0")
    assert f"group consumer, topic {topic}, partition 0" in words
    assert "offset 1, " in words
    assert "tombstone" in words
    (segment,) = (tmp_path / "__transaction_state-0").glob("*.log")
    states = [one["value"]["transaction_status"] for one in rows(capsys, segment)]
    assert [states[0], states[-1]] == ["Empty", "CompleteCommit"]


def log_of(path: Path, *records: tuple[bytes | None, bytes | None]) -> Path:
    path.mkdir()
    builder = BatchBuilder(base_offset=0, leader_epoch=0)
    for key, value in records:
        builder.append(0, key, value)
    (path / f"{0:020}.log").write_bytes(builder.build())
    return path


def test_what_is_not_known_is_said_and_shown_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = log_of(
        tmp_path / "__consumer_offsets-0", (b"\0\x0bshare", b"v"), (KEY, b"\0\3short"), (KEY, value_of(3))
    )
    unknown, damaged, whole = rows(capsys, log)
    assert unknown["record"] == "not decoded: a key of version 11, which is not known here"
    assert (unknown["key"], unknown["value"]) == ("\0\x0bshare", "v")
    assert damaged["record"].startswith("not decoded: ")
    assert whole["value"]["offset"] == 42


def test_a_copy_elsewhere_is_decoded_when_that_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = log_of(tmp_path / "copy", (KEY, value_of(3)))
    assert "record" not in rows(capsys, log)[0]
    assert "group g, topic t, partition 3" in dumped(capsys, log, "--decode", "offsets")
    named = log_of(tmp_path / "__consumer_offsets-7", (KEY, None))
    assert "group g" not in dumped(capsys, named, "--decode", "none")
