"""The log on disk: segments, indexes, producer state, recovery, retention.

The package must not know requests.
"""

from odradek.storage.append_info import AppendInfo
from odradek.storage.checkpoint import CheckpointWrite
from odradek.storage.files import File, FileSystem
from odradek.storage.flushing import PendingFlush
from odradek.storage.log import Log
from odradek.storage.log_checkpoints import LogCheckpoints
from odradek.storage.log_manager import LogManager
from odradek.storage.origin import Origin
from odradek.storage.positions import UNKNOWN_POSITION, EpochEnd, LogPosition, TimestampOffset
from odradek.storage.reads import LogRead
from odradek.storage.transaction_index import AbortedTransaction

__all__ = [
    "UNKNOWN_POSITION",
    "AbortedTransaction",
    "AppendInfo",
    "CheckpointWrite",
    "EpochEnd",
    "File",
    "FileSystem",
    "Log",
    "LogCheckpoints",
    "LogManager",
    "LogPosition",
    "LogRead",
    "Origin",
    "PendingFlush",
    "TimestampOffset",
]
