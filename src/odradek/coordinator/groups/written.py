"""What became of a write to the log of a partition of groups."""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import NO_OFFSET, Offset


class Written(NamedTuple):
    """What became of an append."""

    error: ErrorCode = ErrorCode.NONE
    """NONE when every in-sync replica has the batch; REQUEST_TIMED_OUT when that is not known."""
    base_offset: Offset = NO_OFFSET
    """The offset of the batch's first record; -1 when nothing was written."""


WriteDone: TypeAlias = Callable[[Written], None]
