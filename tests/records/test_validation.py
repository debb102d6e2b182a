import struct
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.base.errors import (
    CorruptRecord,
    InvalidRecord,
    InvalidTimestamp,
    LogError,
    RecordTooLarge,
    UnsupportedCompression,
)
from odradek.base.settings import TopicConfig
from odradek.records.builder import BatchBuilder
from odradek.records.compression import Codec, compress
from odradek.records.control import EndTxnMarker, build_marker
from odradek.records.framing import append_record, iter_records
from odradek.records.header import HEADER_BYTES, BatchHeader, check_crc, read_header
from odradek.records.validation import RECORDS_BLAMED_MAX, ValidationRules, rules_of, validate

NOW_MS = 1_700_000_000_000
HOUR_MS = 3_600_000

HEADER = ValidationRules()
FULL = ValidationRules(walks_records=True)

both_levels = pytest.mark.parametrize("rules", [HEADER, FULL], ids=["header", "full"])
codecs = pytest.mark.parametrize("codec", list(Codec), ids=lambda codec: codec.name)


def batch_of(
    *timestamps: int, codec: Codec = Codec.NONE, key: bytes | None = b"key", producer_id: int = -1
) -> bytearray:
    is_idempotent = producer_id >= 0
    builder = BatchBuilder(
        codec=codec,
        producer_id=producer_id,
        producer_epoch=0 if is_idempotent else -1,
        base_sequence=0 if is_idempotent else -1,
    )
    for timestamp_ms in timestamps or (NOW_MS, NOW_MS - 5, NOW_MS + 5):
        builder.append(timestamp_ms, key, b"value" * 10)
    return builder.build()


def altered(change: Callable[[BatchHeader], None], batch: bytearray | None = None) -> bytes:
    """A batch whose header lies, under a CRC that holds."""
    batch = batch or batch_of()
    header = read_header(batch)
    change(header)
    header.seal_into(batch)
    return bytes(batch)


def with_body(body: bytes, record_count: int, codec: Codec = Codec.NONE) -> bytes:
    """A batch whose records are any bytes, under a header and CRC that hold."""
    packed = bytes(compress(codec, body))
    batch = bytearray(batch_of()[:HEADER_BYTES]) + packed
    header = read_header(batch)
    header.size_bytes = len(batch)
    header.record_count, header.last_offset_delta = record_count, record_count - 1
    header.attributes = int(codec)
    header.seal_into(batch)
    return bytes(batch)


@both_levels
@codecs
def test_a_good_batch_passes_untouched(rules: ValidationRules, codec: Codec) -> None:
    batch = bytes(batch_of(codec=codec))
    records = validate(batch, rules, NOW_MS)
    assert bytes(records.data) == batch
    assert records.headers == [read_header(batch)]


@both_levels
def test_a_writable_buffer_is_not_copied_and_another_once(rules: ValidationRules) -> None:
    batch = batch_of()
    view = memoryview(batch)
    assert validate(batch, rules, NOW_MS).data is batch
    assert validate(view, rules, NOW_MS).data is view
    assert isinstance(validate(view.toreadonly(), rules, NOW_MS).data, bytearray)


@both_levels
def test_what_is_not_one_whole_batch_is_invalid(rules: ValidationRules) -> None:
    batch = bytes(batch_of())
    for size in range(len(batch)):
        with pytest.raises(InvalidRecord):
            validate(batch[:size], rules, NOW_MS)
    with pytest.raises(InvalidRecord):
        validate(batch + b"\x00", rules, NOW_MS)


@both_levels
@given(at=st.integers(8, 10_000), bit=st.integers(0, 7))
def test_any_flipped_bit_is_refused_unless_the_broker_writes_there(
    rules: ValidationRules, at: int, bit: int
) -> None:
    batch = batch_of()
    at = 8 + at % (len(batch) - 8)
    batch[at] ^= 1 << bit
    if 12 <= at < 16:  # the leader epoch is the broker's to write
        validate(batch, rules, NOW_MS)
        return
    with pytest.raises((CorruptRecord, InvalidRecord)):
        validate(batch, rules, NOW_MS)


@pytest.mark.parametrize("magic", [0, 1])
def test_old_message_formats_are_invalid(magic: int) -> None:
    batch = batch_of()
    batch[16] = magic
    with pytest.raises(InvalidRecord, match="message format"):
        validate(batch, HEADER, NOW_MS)


def test_a_client_sends_exactly_one_batch() -> None:
    with pytest.raises(InvalidRecord, match="2 batches"):
        validate(batch_of() + batch_of(), HEADER, NOW_MS)


def test_a_coordinator_may_write_several_batches_and_markers() -> None:
    marker = build_marker(EndTxnMarker(True, 1), producer_id=3, producer_epoch=0, timestamp_ms=NOW_MS)
    records = validate(marker + batch_of(), replace(HEADER, from_client=False), NOW_MS)
    assert [header.is_control for header in records.headers] == [True, False]


@both_levels
def test_size_is_judged_before_anything_else(rules: ValidationRules) -> None:
    """R6"""
    batch = batch_of()
    batch[-1] ^= 1
    with pytest.raises(RecordTooLarge):
        validate(batch, replace(rules, max_message_bytes=len(batch) - 1), NOW_MS)
    with pytest.raises(CorruptRecord):
        validate(batch, replace(rules, max_message_bytes=len(batch)), NOW_MS)


def set_counts(count: int, last_delta: int) -> Callable[[BatchHeader], None]:
    def change(header: BatchHeader) -> None:
        header.record_count, header.last_offset_delta = count, last_delta

    return change


def set_field(name: str, value: int) -> Callable[[BatchHeader], None]:
    return lambda header: setattr(header, name, value)


@both_levels
@pytest.mark.parametrize(
    ("change", "error"),
    [
        (set_counts(0, -1), InvalidRecord),
        (set_counts(-1, -2), InvalidRecord),
        (set_counts(3, 3), InvalidRecord),
        (set_counts(3, 1), InvalidRecord),
        (set_counts(2**31 - 1, 2**31 - 2), InvalidRecord),
        (set_field("attributes", 5), UnsupportedCompression),
        (set_field("attributes", 7), UnsupportedCompression),
        (set_field("attributes", 0x08), InvalidTimestamp),
        (set_field("attributes", 0x10), InvalidRecord),
        (set_field("attributes", 0x20), InvalidRecord),
        (set_field("base_offset", 1), InvalidRecord),
        (set_field("producer_id", 5), InvalidRecord),
    ],
)
def test_a_header_that_breaks_a_rule_is_refused(
    rules: ValidationRules, change: Callable[[BatchHeader], None], error: type[LogError]
) -> None:
    with pytest.raises(error):
        validate(altered(change), rules, NOW_MS)


@both_levels
@codecs
def test_a_count_that_no_batch_could_hold_gives_no_offsets_away(rules: ValidationRules, codec: Codec) -> None:
    with pytest.raises(InvalidRecord, match="do not fit"):
        validate(altered(set_counts(2**31 - 1, 2**31 - 2), batch_of(codec=codec)), rules, NOW_MS)


@pytest.mark.parametrize(("field", "value"), [("base_sequence", -1), ("producer_epoch", -1)])
def test_an_idempotent_batch_needs_epoch_and_sequence(field: str, value: int) -> None:
    batch = batch_of(producer_id=5)
    validate(bytes(batch), HEADER, NOW_MS)
    with pytest.raises(InvalidRecord):
        validate(altered(set_field(field, value), batch), HEADER, NOW_MS)


@pytest.mark.parametrize("count", [2, 4])
@codecs
def test_a_count_that_lies_is_found_by_the_walk_alone(codec: Codec, count: int) -> None:
    """R6"""
    lying = altered(set_counts(count, count - 1), batch_of(codec=codec))
    validate(lying, HEADER, NOW_MS)
    with pytest.raises(InvalidRecord):
        validate(lying, FULL, NOW_MS)


@codecs
def test_offsets_that_are_not_dense_are_found_by_the_walk_alone(codec: Codec) -> None:
    """R6"""
    body = bytearray()
    append_record(body, 0, 0, b"k", b"v")
    append_record(body, 0, 2, b"k", b"v")
    lying = with_body(bytes(body), 2, codec)
    validate(lying, HEADER, NOW_MS)
    with pytest.raises(InvalidRecord, match="offset delta 2"):
        validate(lying, FULL, NOW_MS)


@codecs
def test_bytes_that_are_no_records_are_found_by_the_walk_alone(codec: Codec) -> None:
    """R6"""
    lying = with_body(b"no records at all, only text", 2, codec)
    validate(lying, HEADER, NOW_MS)
    with pytest.raises(InvalidRecord):
        validate(lying, FULL, NOW_MS)


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD], ids=lambda one: one.name)
def test_records_that_are_not_of_their_codec_are_invalid(codec: Codec) -> None:
    lying = altered(set_field("attributes", int(codec)))
    with pytest.raises(InvalidRecord):
        validate(lying, FULL, NOW_MS)


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD], ids=lambda one: one.name)
def test_a_bomb_is_refused_at_the_bound(codec: Codec) -> None:
    bomb = with_body(bytes(1_000_000), 3, codec)
    with pytest.raises(InvalidRecord):
        validate(bomb, replace(FULL, decompressed_bytes_max=100_000), NOW_MS)


@both_levels
def test_a_timestamp_too_far_ahead_is_refused(rules: ValidationRules) -> None:
    validate(batch_of(NOW_MS + HOUR_MS), rules, NOW_MS)
    with pytest.raises(InvalidTimestamp):
        validate(batch_of(NOW_MS + HOUR_MS + 1), rules, NOW_MS)


@both_levels
def test_a_timestamp_too_far_behind_is_refused_where_there_is_a_limit(rules: ValidationRules) -> None:
    limited = replace(rules, timestamp_before_max_ms=1000)
    validate(batch_of(NOW_MS - 10**12), rules, NOW_MS)
    validate(batch_of(NOW_MS, NOW_MS - 1000), limited, NOW_MS)
    with pytest.raises(InvalidTimestamp):
        validate(batch_of(NOW_MS, NOW_MS - 1001), limited, NOW_MS)


@both_levels
def test_records_without_a_timestamp_are_neither_too_old_nor_too_new(rules: ValidationRules) -> None:
    validate(batch_of(-1, -1), replace(rules, timestamp_before_max_ms=1000), NOW_MS)


@both_levels
def test_under_log_append_time_the_producers_timestamps_do_not_matter(rules: ValidationRules) -> None:
    unlimited = replace(rules, log_append_time=True, timestamp_before_max_ms=0)
    validate(batch_of(NOW_MS + 10 * HOUR_MS, 5), unlimited, NOW_MS)


def test_the_walk_finds_a_hidden_timestamp_ahead() -> None:
    lying = altered(set_field("max_timestamp", NOW_MS), batch_of(NOW_MS, NOW_MS + 2 * HOUR_MS))
    with pytest.raises(InvalidTimestamp):
        validate(lying, FULL, NOW_MS)


def test_the_walk_sets_a_misstated_largest_timestamp_right() -> None:
    misstated = altered(set_field("max_timestamp", 5), batch_of(NOW_MS, NOW_MS + 7))
    records = validate(misstated, FULL, NOW_MS)
    header = read_header(records.data)
    check_crc(records.data, header)
    assert header.max_timestamp == NOW_MS + 7
    assert records.headers == [header]


@pytest.mark.parametrize("base_timestamp", [-(2**63), 2**63 - 1])
def test_timestamps_beyond_64_bits_are_invalid(base_timestamp: int) -> None:
    unlimited = replace(FULL, timestamp_after_max_ms=2**63 - 1, log_append_time=True)
    with pytest.raises(InvalidRecord, match="64 bits"):
        validate(altered(set_field("base_timestamp", base_timestamp)), unlimited, NOW_MS)


def test_compacted_topics_need_keys() -> None:
    compacted = replace(HEADER, compacted=True)
    validate(batch_of(key=b""), compacted, NOW_MS)
    with pytest.raises(InvalidRecord, match="record 0 has no key"):
        validate(batch_of(key=None), compacted, NOW_MS)


@codecs
def test_the_records_to_blame_are_named(codec: Codec) -> None:
    builder = BatchBuilder(codec=codec)
    for timestamp_ms, key in ((NOW_MS, b"a"), (NOW_MS + 2 * HOUR_MS, None), (NOW_MS, None)):
        builder.append(timestamp_ms, key, b"value")
    batch = bytes(builder.build())
    with pytest.raises(InvalidRecord) as keyless:
        validate(batch, replace(HEADER, compacted=True), NOW_MS)
    assert [number for number, _ in keyless.value.records] == [1, 2]
    for rules in (HEADER, FULL):
        with pytest.raises(InvalidTimestamp) as early:
            validate(batch, rules, NOW_MS)
        assert [number for number, _ in early.value.records] == [1]


def test_no_more_records_are_named_than_the_bound() -> None:
    builder = BatchBuilder()
    for _ in range(RECORDS_BLAMED_MAX + 1):
        builder.append(NOW_MS, None, b"value")
    with pytest.raises(InvalidRecord) as refused:
        validate(bytes(builder.build()), replace(HEADER, compacted=True), NOW_MS)
    assert len(refused.value.records) == RECORDS_BLAMED_MAX


@codecs
@pytest.mark.parametrize("target", list(Codec), ids=lambda codec: f"to-{codec.name}")
def test_another_codec_than_the_topics_is_replaced(codec: Codec, target: Codec) -> None:
    batch = bytes(batch_of(codec=codec, producer_id=4))
    records = validate(batch, replace(HEADER, codec=target), NOW_MS)
    header, before = read_header(records.data), read_header(batch)
    check_crc(records.data, header)
    assert header.codec == target
    assert list(iter_records(records.data, header)) == list(iter_records(batch, before))
    assert (header.producer_id, header.base_sequence) == (before.producer_id, before.base_sequence)
    assert records.headers == [header]
    if codec == target:
        assert bytes(records.data) == batch


def test_a_batch_that_grows_too_large_under_the_topics_codec_is_refused() -> None:
    builder = BatchBuilder(codec=Codec.ZSTD)
    builder.append(NOW_MS, None, bytes(10_000))
    with pytest.raises(RecordTooLarge):
        validate(builder.build(), replace(HEADER, codec=Codec.NONE, max_message_bytes=5000), NOW_MS)


def test_rules_are_those_of_the_topics_settings() -> None:
    assert rules_of(TopicConfig(odradek_record_validation="header")) == HEADER
    assert rules_of(TopicConfig(odradek_record_validation="full")) == FULL
    config = TopicConfig(
        cleanup_policy=frozenset({"compact", "delete"}),
        compression_type="zstd",
        compression_zstd_level=9,
        max_message_bytes=500,
        message_timestamp_type="LogAppendTime",
        message_timestamp_before_max_ms=7,
        message_timestamp_after_max_ms=8,
        odradek_record_validation="header",
    )
    assert rules_of(config, from_client=False) == ValidationRules(
        from_client=False,
        max_message_bytes=500,
        log_append_time=True,
        timestamp_before_max_ms=7,
        timestamp_after_max_ms=8,
        compacted=True,
        codec=Codec.ZSTD,
        level=9,
    )
    assert rules_of(TopicConfig(compression_type="gzip")).level is None
    assert rules_of(TopicConfig(compression_type="gzip", compression_gzip_level=4)).level == 4
    assert rules_of(TopicConfig(compression_type="uncompressed")).codec == Codec.NONE
    assert rules_of(TopicConfig(compression_type="lz4")).level == 9


@both_levels
@given(st.data())
def test_hostile_batches_meet_a_rule_or_pass_and_nothing_else(
    rules: ValidationRules, draw: st.DataObject
) -> None:
    codec = draw.draw(st.sampled_from(list(Codec)))
    batch = batch_of(codec=codec)
    for _ in range(draw.draw(st.integers(1, 6))):
        batch[draw.draw(st.integers(16, len(batch) - 1))] = draw.draw(st.integers(0, 255))
    if batch[16] == 2:
        read_header(batch).seal_into(batch)
    rules = replace(rules, compacted=draw.draw(st.booleans()), codec=draw.draw(st.sampled_from([None, 0, 2])))
    try:
        validate(batch, rules, NOW_MS)
    except LogError:
        pass


def test_a_batch_length_of_its_own_reaches_no_further_than_the_buffer() -> None:
    batch = batch_of()
    struct.pack_into(">i", batch, 8, 2**31 - 1)
    with pytest.raises(InvalidRecord, match="cut short"):
        validate(batch, FULL, NOW_MS)
