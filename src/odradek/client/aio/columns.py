"""What `poll_batch` returns: the pieces of several partitions as one Arrow record batch."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.extras import missing_extra
from odradek.base.ids import NO_EPOCH
from odradek.client.core.consumer.completed_fetch import ConsumerRecord
from odradek.client.core.consumer.fetcher import Piece

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_RECORDS: Final = 65_536
"""How many records `poll_batch` returns at most by default."""


def check_plain(*, is_plain: bool) -> None:
    """Raises ApiError without pyarrow, and for a consumer whose records are converted or intercepted."""
    missing = missing_extra("arrow", "poll_batch")
    if missing:
        raise ApiError(ErrorCode.INVALID_REQUEST, missing)
    if not is_plain:
        said = "poll_batch returns columns of bytes: a consumer with deserializers or interceptors polls"
        raise ApiError(ErrorCode.INVALID_REQUEST, said)


def joined(pieces: Sequence[Piece]) -> "pa.RecordBatch | None":
    """One record batch of all pieces; a single piece is not copied. None without pieces."""
    if len(pieces) <= 1:
        return pieces[0].rows if pieces else None
    import pyarrow as pa

    (whole,) = pa.Table.from_batches([piece.rows for piece in pieces]).combine_chunks().to_batches()
    return whole


def first_of(piece: Piece) -> ConsumerRecord:
    """Stands for the first record of a piece where only its place matters."""
    topic, number = piece.partition
    return ConsumerRecord(topic, number, piece.first, -1, None, None, (), NO_EPOCH, False)
