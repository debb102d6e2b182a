"""Reads KRaft's metadata log from a log directory: the newest snapshot, then the batches behind it.

__cluster_metadata-0/00000000000000001207-0000000003.checkpoint     everything before offset 1207
__cluster_metadata-0/00000000000000000000.log                       records, some of them before it
"""

import re
from collections.abc import Iterator

from odradek.base.ids import Offset
from odradek.base.topic_names import KRAFT_METADATA_TOPIC
from odradek.records.framing import iter_records
from odradek.records.header import check_crc
from odradek.storage.batch_walk import walk_batches
from odradek.storage.files import FileSystem
from odradek.storage.reading import PartitionFiles

DIRECTORY = f"{KRAFT_METADATA_TOPIC}-0"
_SNAPSHOT = re.compile(r"([0-9]{20})-([0-9]{10})\.checkpoint\Z")


def has_metadata_log(file_system: FileSystem, log_directory: str) -> bool:
    """Whether a log directory holds KRaft's metadata."""
    return file_system.exists(f"{log_directory}/{DIRECTORY}")


def metadata_values(file_system: FileSystem, log_directory: str) -> Iterator[bytes]:
    """The values of all metadata records, in order. Raises CorruptRecord, OSError."""
    path = f"{log_directory}/{DIRECTORY}"
    start: Offset = 0
    snapshot = _newest_snapshot(file_system, path)
    if snapshot is not None:
        start, name, size_bytes = snapshot
        file = file_system.file(f"{path}/{name}")
        try:
            for _, header, batch in walk_batches(file, 0, size_bytes):
                check_crc(batch, header)
                if not header.is_control:
                    yield from (record.value or b"" for record in iter_records(batch, header))
        finally:
            file.close()
    for _, header, batch in PartitionFiles(path, file_system).batches(start):
        if not header.is_control:
            yield from (
                record.value or b"" for record in iter_records(batch, header) if record.offset >= start
            )


def _newest_snapshot(file_system: FileSystem, path: str) -> tuple[Offset, str, int] | None:
    found = [
        (int(match[1]), int(match[2]), name, size_bytes)
        for name, size_bytes in file_system.list_directory(path)
        if (match := _SNAPSHOT.match(name))
    ]
    if not found:
        return None
    offset, _, name, size_bytes = max(found)
    return offset, name, size_bytes
