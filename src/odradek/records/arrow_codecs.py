"""Decompression by pyarrow, for interpreters without the package `cramjam`: the executors of a Spark cluster.

The names, and what they raise, are those of cramjam that `compression` uses. Nothing is compressed here.
"""

from types import SimpleNamespace
from typing import Final, NoReturn

import pyarrow as pa

from odradek.base.buffers import Buffer
from odradek.base.errors import UnsupportedCompression

TARGET_TOO_SMALL: Final = "failed to write whole buffer"
_SNAPPY_LENGTH_BITS: Final = 32


class DecompressionError(Exception):
    """The bytes are none of the codec, or need more than the target."""


def _refused(*_given: object, **_named: object) -> NoReturn:
    raise UnsupportedCompression("the package cramjam, which compresses, is not installed here")


class Framed:
    """A codec whose format says itself where it ends."""

    compress = Compressor = staticmethod(_refused)

    def __init__(self, name: str) -> None:
        self._name = name

    def decompress_into(self, data: Buffer, target: memoryview, /) -> int:
        """The number of bytes that were put into `target`. Raises DecompressionError."""
        size = 0
        if not len(data):
            raise DecompressionError("empty input")
        try:
            with pa.CompressedInputStream(pa.BufferReader(data), self._name) as source:
                while size < len(target) and (read := source.readinto(target[size:])):
                    size += read
                if size == len(target) and source.read(1):
                    raise DecompressionError(TARGET_TOO_SMALL)
        except (OSError, pa.ArrowException) as error:
            raise DecompressionError(str(error)) from None
        return size


def _decompress_raw_len(block: Buffer) -> int:
    """How many bytes a block of snappy holds: the number that it begins with."""
    size = shift = 0
    for byte in memoryview(block)[:5]:
        size |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
    else:
        raise DecompressionError("snappy: the length is cut short")
    if size >> _SNAPPY_LENGTH_BITS:
        raise DecompressionError("snappy: the length is too large")
    return size


def _decompress_raw_into(block: Buffer, target: memoryview) -> int:
    size = _decompress_raw_len(block)
    try:
        target[:size] = pa.Codec("snappy").decompress(block, size, asbytes=True)
    except (OSError, pa.ArrowException) as error:
        raise DecompressionError(str(error)) from None
    return size


gzip: Final = Framed("gzip")
lz4: Final = Framed("lz4")
zstd: Final = Framed("zstd")
snappy: Final = SimpleNamespace(
    compress_raw=_refused,
    decompress_raw_len=_decompress_raw_len,
    decompress_raw_into=_decompress_raw_into,
)
