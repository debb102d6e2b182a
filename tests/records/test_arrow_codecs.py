"""Batches are decompressed by pyarrow where cramjam is not installed, within the same bounds."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.base.errors import InvalidRecord, UnsupportedCompression
from odradek.records import compression
from odradek.records.compression import Codec, compress, decompress

pytest.importorskip("pyarrow")

from odradek.records import arrow_codecs

CODECS = (Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD)
PACKED = {
    (codec, data): bytes(compress(codec, data))
    for codec in CODECS
    for data in (b"", b"a line of a log\n" * 5000, bytes(range(256)) * 20)
}


@pytest.fixture(autouse=True)
def _without_cramjam(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compression, "cramjam", arrow_codecs)
    monkeypatch.setattr(compression, "_FRAMED", {Codec.LZ4: arrow_codecs.lz4, Codec.ZSTD: arrow_codecs.zstd})


@pytest.mark.parametrize(("codec", "data"), PACKED)
def test_what_cramjam_compressed_comes_back(codec: Codec, data: bytes) -> None:
    packed = PACKED[codec, data]
    assert bytes(decompress(codec, packed)) == data
    assert bytes(decompress(codec, packed + packed)) == data * 2
    assert bytes(decompress(codec, packed, max(len(data), 1))) == data


@pytest.mark.parametrize(("codec", "data"), [one for one in PACKED if one[1]])
def test_the_bound_holds(codec: Codec, data: bytes) -> None:
    with pytest.raises(InvalidRecord):
        decompress(codec, PACKED[codec, data], len(data) - 1)


@pytest.mark.parametrize(("codec", "data"), [one for one in PACKED if one[1]])
def test_what_is_cut_short_is_refused_or_shorter(codec: Codec, data: bytes) -> None:
    packed = PACKED[codec, data]
    for size in range(0, len(packed), max(1, len(packed) // 40)):
        try:
            assert len(decompress(codec, packed[:size])) < len(data)
        except InvalidRecord:
            pass


@given(st.sampled_from(sorted(PACKED)), st.data())
def test_damaged_bytes_are_refused_or_read_within_the_bound(
    which: tuple[Codec, bytes], draw: st.DataObject
) -> None:
    packed = bytearray(PACKED[which])
    for _ in range(draw.draw(st.integers(1, 4))):
        packed[draw.draw(st.integers(0, len(packed) - 1))] = draw.draw(st.integers(0, 255))
    try:
        assert len(decompress(which[0], packed, 100_000)) <= 100_000
    except InvalidRecord:
        pass


def test_a_length_of_snappy_that_is_too_large_is_refused() -> None:
    for claim in (b"\xff\xff\xff\xff\x7f", b"\xff\xff\xff\xff\xff", b""):
        with pytest.raises(arrow_codecs.DecompressionError):
            arrow_codecs.snappy.decompress_raw_len(claim)


@pytest.mark.parametrize("codec", [Codec.SNAPPY, Codec.LZ4])
def test_nothing_is_compressed_without_cramjam(codec: Codec) -> None:
    with pytest.raises(UnsupportedCompression, match="cramjam, which compresses, is not installed here"):
        compress(codec, b"data")


def test_an_interpreter_without_the_package_takes_it() -> None:
    script = """
import sys
sys.modules["cramjam"] = None
from odradek.records import compression
assert compression.cramjam.__name__ == "odradek.records.arrow_codecs"
"""
    subprocess.run([sys.executable, "-c", script], check=True)
