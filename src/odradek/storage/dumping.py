"""Shows the content of a partition's files, row by row, for people and scripts.

The file name tells the kind of file. Rows are yielded while the file is read, because a log may be larger
than memory.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from odradek.base.errors import OdradekError
from odradek.base.uuids import render_uuid
from odradek.records.compression import Codec
from odradek.records.control import ControlType, control_type, parse_marker
from odradek.records.framing import Record, iter_records
from odradek.records.header import BatchHeader
from odradek.storage import file_names
from odradek.storage.checkpoint import read_epochs, read_offsets
from odradek.storage.os_files import OsFileSystem
from odradek.storage.partition_metadata import read_topic_id
from odradek.storage.producer_state import ProducerEntry
from odradek.storage.reading import PartitionFiles

Row = dict[str, Any]

_CHECKPOINTS = (
    file_names.RECOVERY_POINTS,
    file_names.LOG_START_OFFSETS,
    file_names.HIGH_WATERMARKS,
    file_names.CLEANED_OFFSETS,
)


def rows_of(path: Path, *, with_records: bool = False, start_offset: int = 0) -> Iterator[Row]:
    """The batches or records of a partition's directory or `.log`, or the entries of another file of it.

    Raises OdradekError for a file that is none of these or is damaged, OSError when it cannot be read.
    """
    if path.is_dir():
        files = PartitionFiles(str(path))
        if not files.segments():
            raise OdradekError(_not_a_log(path))
        yield from _batches(files, with_records, start_offset, None)
        return
    disk = OsFileSystem(read_only=True)
    if path.name == file_names.LEADER_EPOCHS:
        epochs, damage = read_epochs(disk, str(path))
        _refuse(damage)
        yield from ({"epoch": epoch, "start_offset": start} for epoch, start in epochs)
        return
    if path.name in _CHECKPOINTS:
        offsets, damage = read_offsets(disk, str(path))
        _refuse(damage)
        for partition, offset in offsets.items():
            yield {"topic": partition.topic, "partition": partition.partition, "offset": offset}
        return
    if path.name == file_names.PARTITION_METADATA:
        topic_id, damage = read_topic_id(disk, str(path))
        _refuse(damage)
        yield {"topic_id": None if topic_id is None else render_uuid(topic_id)}
        return
    yield from _of_segment(path, with_records, start_offset)


def _not_a_log(directory: Path) -> str:
    """Why a directory cannot be shown; for a data directory, where its logs are."""
    said = f"{directory} is no partition's directory: it has no .log file"
    logs = sorted(found.parent.name for found in directory.glob(f"*/*{file_names.LOG}"))
    return f"{said}; its logs are in directories such as {directory / logs[0]}" if logs else said


def _of_segment(path: Path, with_records: bool, start_offset: int) -> Iterator[Row]:
    named = file_names.offset_and_suffix(path.name)
    if named is None:
        raise OdradekError(f"{path.name} is no file of a log that can be shown")
    base_offset, suffix = named
    files = PartitionFiles(str(path.parent))
    match suffix:
        case file_names.LOG:
            yield from _batches(files, with_records, max(start_offset, base_offset), base_offset)
        case file_names.OFFSET_INDEX:
            for offset, position in files.offset_index(base_offset):
                yield {"offset": offset, "position": position}
        case file_names.TIME_INDEX:
            for timestamp_ms, offset in files.time_index(base_offset):
                yield {"timestamp": timestamp_ms, "offset": offset}
        case file_names.TRANSACTION_INDEX:
            for one in files.aborted_transactions(base_offset):
                yield {
                    "producer_id": one.producer_id,
                    "first_offset": one.first_offset,
                    "last_offset": one.last_offset,
                    "last_stable_offset": one.last_stable_offset,
                }
        case file_names.PRODUCER_SNAPSHOT:
            yield from map(_producer, files.producers(base_offset))
        case _:
            raise OdradekError(f"{path.name} is no file of a log that can be shown")


def _refuse(damage: object | None) -> None:
    if damage is not None:
        raise OdradekError(str(damage).removesuffix(" and was ignored"))


def _batches(
    files: PartitionFiles, with_records: bool, offset: int, base_offset: int | None
) -> Iterator[Row]:
    end = None
    if base_offset is not None:
        following = [one.base_offset for one in files.segments() if one.base_offset > base_offset]
        end = following[0] if following else None
    for position, header, batch in files.batches(offset, end):
        if not with_records:
            yield _batch(position, header)
            continue
        for record in iter_records(batch, header):
            if record.offset >= offset:
                yield _control(record) if header.is_control else _record(record)


def _batch(position: int, header: BatchHeader) -> Row:
    return {
        "base_offset": header.base_offset,
        "last_offset": header.last_offset,
        "records": header.record_count,
        "position": position,
        "bytes": header.size_bytes,
        "codec": Codec(header.codec).name.lower() if header.codec in list(Codec) else str(header.codec),
        "max_timestamp": header.max_timestamp,
        "time": "append" if header.is_log_append_time else "create",
        "leader_epoch": header.leader_epoch,
        "producer_id": header.producer_id,
        "producer_epoch": header.producer_epoch,
        "base_sequence": header.base_sequence,
        "transactional": header.is_transactional,
        "control": header.is_control,
        "kind": "control" if header.is_control else "transactional" if header.is_transactional else "data",
        "crc": f"{header.crc:08x}",
    }


def _record(record: Record) -> Row:
    return {
        "offset": record.offset,
        "timestamp": record.timestamp_ms,
        "key": record.key,
        "value": record.value,
        "headers": record.headers,
    }


def _control(record: Record) -> Row:
    """A control record: its kind is in its key, in words."""
    kind = control_type(record)
    marker = parse_marker(record)
    if marker is not None:
        words = "commit marker" if marker.committed else "abort marker"
        value = f"coordinator epoch {marker.coordinator_epoch}"
    else:
        known = kind in list(ControlType)
        words = ControlType(kind).name.lower().replace("_", " ") if known else f"control type {kind}"
        value = ""
    return {**_record(record), "key": words.encode(), "value": value.encode(), "control": words}


def _producer(entry: ProducerEntry) -> Row:
    return {
        "producer_id": entry.producer_id,
        "epoch": entry.epoch,
        "last_sequence": entry.last_sequence,
        "last_offset": entry.last_offset,
        "last_timestamp": entry.last_timestamp_ms,
        "coordinator_epoch": entry.coordinator_epoch,
        "transaction_first_offset": entry.transaction_first_offset,
    }
