"""`odradek log dump`: what the files of a partition hold, read without locks, also beside a living broker."""

from pathlib import Path
from typing import Any

from odradek.base.errors import LogError, OdradekError
from odradek.cli.bytes_in_json import bytes_fields
from odradek.cli.command_line import JSON, Command, Group, Options, flag, number, option, positional
from odradek.cli.output import Column, counted, plain, show_lines, timed
from odradek.storage.dumping import rows_of

_CELLS = {
    **dict.fromkeys(("base_offset", "last_offset", "offset", "start_offset", "first_offset"), counted),
    **dict.fromkeys(("records", "position", "bytes", "last_stable_offset"), counted),
    **dict.fromkeys(("max_timestamp", "timestamp", "last_timestamp"), timed),
}
# What fits on a screen; --json has every field of a batch.
_BATCH_FIELDS = (
    *("base_offset", "last_offset", "records", "position", "bytes", "codec", "max_timestamp", "kind", "crc"),
)
_RECORD_FIELDS = ("offset", "timestamp", "key", "value", "headers")
_ENTRY_FIELDS = (
    *("topic", "partition", "topic_id", "epoch", "start_offset", "timestamp", "offset", "position"),
    *("producer_id", "first_offset", "last_sequence", "last_offset", "last_stable_offset", "last_timestamp"),
    *("coordinator_epoch", "transaction_first_offset"),
)


def dump(options: Options) -> None:
    """Show what a file or a directory holds."""
    path: Path = options.path
    if not path.exists():
        raise OdradekError(f"there is no file or directory {path}")
    is_log = path.is_dir() or path.suffix == ".log"
    fields = _ENTRY_FIELDS if not is_log else _RECORD_FIELDS if options.records else _BATCH_FIELDS
    columns = [Column(name, _CELLS.get(name, _text)) for name in fields]
    try:
        rows = rows_of(path, with_records=options.records, start_offset=options.offset)
        shown = map(_for_json, rows) if options.json else rows
        show_lines(shown, columns, as_json=options.json, empty=f"{path} is empty.")
    except LogError as error:
        raise OdradekError(f"{path}: {error}") from error
    except OSError as error:
        raise OdradekError(f"cannot read {path}: {(error.strerror or str(error)).lower()}") from error


def _text(value: object) -> str:
    """A cell: bytes as text, headers as name=value."""
    if isinstance(value, bytes):
        value = value.decode(errors="backslashreplace")
    elif isinstance(value, tuple):
        value = ",".join(
            f"{_text(name)}={'' if content is None else _text(content)}" for name, content in value
        )
    return plain(value)


def _for_json(row: dict[str, Any]) -> dict[str, Any]:
    """A row with its bytes as text, or in base64 where they are none."""
    if "headers" not in row:
        return row
    return {
        **{name: value for name, value in row.items() if name not in ("key", "value", "headers")},
        **bytes_fields("key", row["key"]),
        **bytes_fields("value", row["value"]),
        "headers": [
            {"name": name.decode(errors="backslashreplace"), **bytes_fields("value", value)}
            for name, value in row["headers"]
        ],
    }


GROUP = Group(
    "log",
    "Look into the files of a log.",
    (
        Command(
            "dump",
            "Show the batches or records of a log, or the entries of an index, snapshot or checkpoint file.",
            dump,
            (
                positional(
                    "path",
                    "a partition's directory, or a file: .log, .index, .timeindex, .txnindex, .snapshot,"
                    " leader-epoch-checkpoint, partition.metadata, or an offset checkpoint",
                    kind=Path,
                    completes="file",
                ),
                flag("--records", help="each record, not only each batch"),
                option(
                    "--offset",
                    help="begin at this offset",
                    metavar="OFFSET",
                    kind=number(),
                    default=0,
                    shown_default="0",
                ),
                JSON,
            ),
            details="With --json, each row is one line. A log may be read while its broker runs.",
            examples=(
                "odradek log dump data/flights-0",
                "odradek log dump data/flights-0/00000000000000000000.log --records --offset 1000",
            ),
        ),
    ),
)
