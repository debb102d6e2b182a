from odradek.wire.encoding import (
    PAYLOAD_BYTES_MIN,
    Payloads,
    gather,
    write_compact_count,
    write_compact_nullable_records,
    write_compact_nullable_string,
    write_compact_string,
    write_nullable_records,
    write_nullable_string,
    write_tag,
)


def test_lengths_are_compact_or_not() -> None:
    out = bytearray()
    write_nullable_string(out, "ü")
    write_nullable_string(out, None)
    write_compact_nullable_string(out, "ü")
    write_compact_nullable_string(out, None)
    assert out == b"\0\2\xc3\xbc" + b"\xff\xff" + b"\3\xc3\xbc" + b"\0"


def test_long_lengths_take_more_than_a_byte() -> None:
    out = bytearray()
    write_compact_string(out, "a" * 127)
    assert out[:2] == b"\x80\x01"
    out = bytearray()
    write_compact_count(out, range(300))
    assert out == b"\xad\x02"


def test_records_below_the_limit_are_copied_and_others_kept() -> None:
    small, large = bytes(PAYLOAD_BYTES_MIN - 1), bytes(PAYLOAD_BYTES_MIN)
    for write in (write_nullable_records, write_compact_nullable_records):
        out = bytearray()
        payloads: Payloads = []
        write(out, small, payloads)
        assert payloads == []
        assert gather(out, payloads) == [out]
        write(out, large, payloads)
        write(out, None, payloads)
        parts = gather(out, payloads)
        assert parts[1] is large
        assert b"".join(parts) == out[: payloads[0][0]] + large + out[payloads[0][0] :]


def test_payloads_at_the_end_leave_no_empty_piece() -> None:
    large = bytes(PAYLOAD_BYTES_MIN)
    assert gather(bytearray(b"ab"), [(1, large), (2, large)]) == [b"a", large, b"b", large]


def test_a_tagged_field_tells_its_size() -> None:
    out = bytearray()
    write_tag(out, 2, b"abc")
    assert out == b"\2\3abc"
