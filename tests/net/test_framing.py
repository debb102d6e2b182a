import struct
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.base.buffers import Buffer
from odradek.net.framing import JOINED_BYTES_MAX, FrameReader, FrameRefused, framed

FRAME_BYTES_MAX = 1_000_000


def reader(scratch_bytes: int = 64, frame_bytes_max: int = FRAME_BYTES_MAX) -> FrameReader:
    return FrameReader(memoryview(bytearray(scratch_bytes)), frame_bytes_max)


def feed(frames: FrameReader, data: bytes) -> list[bytes]:
    """Give the reader what it asks for, as a socket would, until `data` is used up."""
    found: list[bytes] = []
    while data:
        place = frames.writable()
        size = min(len(place), len(data))
        place[:size] = data[:size]
        del place
        found += [bytes(frame) for frame in frames.received(size)]
        data = data[size:]
    return found


def frame(payload: bytes) -> bytes:
    return b"".join(framed([payload]))


@given(st.lists(st.binary(max_size=200), max_size=12), st.lists(st.integers(1, 90)), st.integers(5, 80))
def test_frames_come_out_as_they_went_in_however_the_bytes_are_cut(
    payloads: list[bytes], cuts: list[int], scratch_bytes: int
) -> None:
    stream = b"".join(map(frame, payloads))
    frames = reader(scratch_bytes)
    found: list[bytes] = []
    for cut in cuts:
        found += feed(frames, stream[:cut])
        stream = stream[cut:]
    found += feed(frames, stream)
    assert found == payloads


def test_readers_share_one_scratch_buffer() -> None:
    scratch = memoryview(bytearray(64))
    first, second = FrameReader(scratch, 1000), FrameReader(scratch, 1000)
    assert feed(first, b"\0\0") == []
    assert feed(second, b"\0\0\0") == []
    assert feed(first, b"\0\2ab") == [b"ab"]
    assert feed(second, b"\1c") == [b"c"]


def test_a_frame_larger_than_the_scratch_buffer_is_followed_by_the_next_one() -> None:
    frames = reader(scratch_bytes=16)
    payload = bytes(range(200)) * 10
    found = feed(frames, frame(payload) + frame(b"next"))
    assert found == [payload, b"next"]


def test_a_claimed_length_takes_memory_only_as_bytes_come() -> None:
    """9,000 connections that each claim 100 MB and send 300 bytes hold what they sent, not 256 KB each."""
    claimed = 100_000_000
    frames = FrameReader(memoryview(bytearray(1 << 18)), claimed)
    tracemalloc.start()
    try:
        assert feed(frames, struct.pack(">i", claimed) + bytes(300)) == []
        assert tracemalloc.get_traced_memory()[0] < 1_000
        assert feed(frames, bytes(1_000_000)) == []
        assert tracemalloc.get_traced_memory()[0] < 1_200_000
    finally:
        tracemalloc.stop()


def test_a_frame_below_the_least_size_is_refused() -> None:
    """One read of 256 KB would hold 65,536 empty frames."""
    frames = FrameReader(memoryview(bytearray(64)), FRAME_BYTES_MAX, frame_bytes_min=8)
    assert feed(frames, frame(bytes(8))) == [bytes(8)]
    with pytest.raises(FrameRefused, match="a frame of 7 bytes; the least is 8"):
        feed(frames, frame(bytes(7)))


def test_an_empty_frame_is_a_frame() -> None:
    assert feed(reader(), bytes(4)) == [b""]


@pytest.mark.parametrize(
    ("first", "reason"),
    [
        (struct.pack(">i", -1), "a frame of -1 bytes"),
        (struct.pack(">i", FRAME_BYTES_MAX + 1), "the most is 1000000"),
        (b"GET / HTTP/1.1\r\n", "an HTTP request"),
        (b"\x16\x03\x01\x02\x00", "a TLS handshake"),
        (b"SSH-2.0-x", "an SSH client"),
    ],
)
def test_what_is_no_frame_is_refused_by_its_name(first: bytes, reason: str) -> None:
    with pytest.raises(FrameRefused, match=reason):
        feed(reader(), first)


def test_a_payload_is_framed_without_copying_its_large_parts() -> None:
    parts: list[Buffer] = [bytes(JOINED_BYTES_MAX + 1), memoryview(b"defgh")]
    length, *rest = framed(parts)
    assert length == b"\0\0\x10\x06"
    assert rest[0] is parts[0]
    assert rest[1] is parts[1]


def test_a_small_first_part_goes_out_with_its_length_as_one_piece() -> None:
    records = memoryview(b"defgh")
    first, second = framed([bytearray(b"abc"), records])
    assert first == b"\0\0\0\x08abc"
    assert second is records
    assert framed([b""]) == [b"\0\0\0\0"]
