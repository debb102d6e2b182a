"""`odradek log dump`: what the files of a partition hold, read without locks, also beside a living broker."""

from collections.abc import Iterator
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from odradek.base.errors import LogError, OdradekError
from odradek.cli.output import AsJson, say_json, show
from odradek.records.compression import Codec
from odradek.records.control import parse_marker
from odradek.records.framing import Record, iter_records
from odradek.records.header import BatchHeader
from odradek.storage.reading import PartitionFiles

# What fits on a screen; --json has every field of a batch.
BATCH_COLUMNS = (
    "base_offset",
    "last_offset",
    "records",
    "position",
    "bytes",
    "codec",
    "max_timestamp",
    "kind",
    "crc",
)

app = typer.Typer(help="Look into the files of a log.", no_args_is_help=True)


@app.callback()
def log() -> None:
    """Look into the files of a log."""


@app.command("dump")
def dump(
    path: Annotated[Path, typer.Argument(help="a partition's directory, or one of its files")],
    records: Annotated[bool, typer.Option("--records", help="each record, not only each batch")] = False,
    offset: Annotated[int, typer.Option(help="from the batch that holds this offset")] = 0,
    as_json: AsJson = False,
) -> None:
    """Show the batches of a log, or the entries of an index, snapshot or checkpoint file."""
    if not path.exists():
        raise OdradekError(f"there is no file or directory {path}")
    try:
        rows = _rows(path, records, offset)
        if as_json:
            _print_lines(rows)
        else:
            show(
                list(rows), as_json=False, empty="Nothing in it.", columns=None if records else BATCH_COLUMNS
            )
    except LogError as error:
        raise OdradekError(f"{path}: {error}") from error
    except OSError as error:
        raise OdradekError(f"cannot read {path}: {error}") from error


def _rows(path: Path, with_records: bool, offset: int) -> Iterator[dict[str, Any]]:
    if path.is_dir():
        yield from _batches(PartitionFiles(str(path)), with_records, offset, None)
        return
    files = PartitionFiles(str(path.parent))
    if path.name == "leader-epoch-checkpoint":
        yield from ({"epoch": epoch, "start_offset": start} for epoch, start in files.leader_epochs())
        return
    if not path.stem.isdigit():
        raise OdradekError(f"{path.name} is not a file of a log that can be shown")
    base_offset = int(path.stem)
    match path.suffix:
        case ".log":
            yield from _batches(files, with_records, max(offset, base_offset), base_offset)
        case ".index":
            yield from map(_fields, files.offset_index(base_offset))
        case ".timeindex":
            yield from map(_fields, files.time_index(base_offset))
        case ".txnindex":
            yield from map(_fields, files.aborted_transactions(base_offset))
        case ".snapshot":
            yield from map(_fields, files.producers(base_offset))
        case _:
            raise OdradekError(f"{path.name} is not a file of a log that can be shown")


def _batches(
    files: PartitionFiles, with_records: bool, offset: int, base_offset: int | None
) -> Iterator[dict[str, Any]]:
    end = None
    if base_offset is not None:
        following = [one.base_offset for one in files.segments() if one.base_offset > base_offset]
        end = following[0] if following else None
    for position, header, batch in files.batches(offset, end):
        if not with_records:
            yield _batch(position, header)
            continue
        for record in iter_records(batch, header):
            yield _control(record) if header.is_control else _record(record)


def _batch(position: int, header: BatchHeader) -> dict[str, Any]:
    return {
        "base_offset": header.base_offset,
        "last_offset": header.last_offset,
        "records": header.record_count,
        "position": position,
        "bytes": header.size_bytes,
        "codec": Codec(header.codec).name.lower(),
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


def _record(record: Record) -> dict[str, Any]:
    return {
        "offset": record.offset,
        "timestamp": record.timestamp_ms,
        "key": _text(record.key),
        "value": _text(record.value),
        "headers": {_text(name): _text(value) for name, value in record.headers},
    }


def _control(record: Record) -> dict[str, Any]:
    marker = parse_marker(record)
    shown = "unknown control record"
    if marker is not None:
        shown = "commit marker" if marker.committed else "abort marker"
    return {
        **_record(record),
        "key": shown,
        "value": marker and f"coordinator epoch {marker.coordinator_epoch}",
    }


def _fields(entry: Any) -> dict[str, Any]:  # noqa: ANN401 - entries are named tuples or dataclasses of storage
    if is_dataclass(entry) and not isinstance(entry, type):
        return asdict(entry)
    fields: dict[str, Any] = entry._asdict()
    return fields


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode(errors="backslashreplace")


def _print_lines(rows: Iterator[dict[str, Any]]) -> None:
    """One JSON object a line: a log may be larger than memory."""
    for row in rows:
        say_json(row)
