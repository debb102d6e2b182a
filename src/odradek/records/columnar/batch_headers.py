"""The headers of many batches behind each other, as one structured array.

Only the lengths, which say where the next batch is, are read one by one.
"""

from struct import Struct
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from odradek.base.buffers import Buffer
from odradek.records.columnar.varints import Longs
from odradek.records.crc import crc32c
from odradek.records.header import CURRENT_MAGIC, HEADER_BYTES, OVERHEAD_BYTES, check_crc, read_header

_FIELDS: Final = np.dtype(
    [
        ("base_offset", ">i8"),
        ("batch_length", ">i4"),
        ("leader_epoch", ">i4"),
        ("magic", "i1"),
        ("crc", ">u4"),
        ("attributes", ">i2"),
        ("last_offset_delta", ">i4"),
        ("base_timestamp", ">i8"),
        ("max_timestamp", ">i8"),
        ("producer_id", ">i8"),
        ("producer_epoch", ">i2"),
        ("base_sequence", ">i4"),
        ("record_count", ">i4"),
    ]
)
_LENGTH_AND_MAGIC: Final = Struct(">i4xb")
_LENGTH_AT: Final = 8
_CHECKED_AT: Final = 21
"""The CRC covers everything of a batch from here on."""


class BatchHeaders:
    """The headers of the whole batches in `records`; one that is cut short ends them.

    Raises as `read_header` does, at the first batch that is none.
    """

    __slots__ = ("_fields", "ends", "records", "starts")

    def __init__(self, records: Buffer) -> None:
        self.records = records
        starts = _batch_starts(records)
        self.starts: Longs = np.array(starts, dtype=np.int64)
        """Where each batch begins in `records`."""
        rows = np.frombuffer(records, dtype=np.uint8)[self.starts[:, None] + np.arange(HEADER_BYTES)]
        self._fields: npt.NDArray[Any] = rows.view(_FIELDS).reshape(-1)
        self.ends: Longs = self.starts + self["batch_length"] + OVERHEAD_BYTES
        """Where each batch ends."""

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, name: str) -> Longs:
        """One field of all headers, by its name in `records.header`."""
        return self._fields[name].astype(np.int64)

    @property
    def last_offsets(self) -> Longs:
        """The last offset that each batch covers."""
        return self["base_offset"] + self["last_offset_delta"]

    def check_crcs(self) -> None:
        """CorruptRecord unless the bytes of each batch have the CRC that its header states."""
        view = memoryview(self.records)
        stated = zip(self.starts.tolist(), self.ends.tolist(), self["crc"].tolist(), strict=True)
        for start, end, crc in stated:
            if crc32c(view[start + _CHECKED_AT : end]) != crc:
                check_crc(view, read_header(view, start), start)


def _batch_starts(records: Buffer) -> list[int]:
    starts = []
    position, size = 0, len(records)
    while size - position >= HEADER_BYTES:
        length, magic = _LENGTH_AND_MAGIC.unpack_from(records, position + _LENGTH_AT)
        if magic != CURRENT_MAGIC or length + OVERHEAD_BYTES < HEADER_BYTES:
            read_header(records, position)  # which says what is wrong
        if length + OVERHEAD_BYTES > size - position:
            break
        starts.append(position)
        position += length + OVERHEAD_BYTES
    return starts
