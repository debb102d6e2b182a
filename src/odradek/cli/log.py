"""`odradek log dump`: shows a partition's files, read without locks, also while a broker runs."""

from pathlib import Path
from typing import Any

from odradek.base.errors import LogError, MalformedRequest, OdradekError
from odradek.base.system_errors import reason_of
from odradek.base.topic_names import OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC
from odradek.cli.bytes_in_json import bytes_fields
from odradek.cli.command_line import JSON, Command, Group, Options, flag, number, option, positional
from odradek.cli.output import Column, counted, plain, show_lines, timed
from odradek.storage.dumping import rows_of

_CELLS = {
    **dict.fromkeys(("base_offset", "last_offset", "offset", "start_offset", "first_offset"), counted),
    **dict.fromkeys(("records", "position", "bytes", "last_stable_offset"), counted),
    **dict.fromkeys(("max_timestamp", "timestamp", "last_timestamp"), timed),
}
# The columns that fit a screen; --json has every field of a batch.
_BATCH_FIELDS = (
    *("base_offset", "last_offset", "records", "position", "bytes", "codec", "max_timestamp", "kind", "crc"),
)
_RECORD_FIELDS = ("offset", "timestamp", "key", "value", "headers")
_DECODED_FIELDS = ("offset", "timestamp", "record", "key", "value")
_ENTRY_FIELDS = (
    *("topic", "partition", "topic_id", "epoch", "start_offset", "timestamp", "offset", "position"),
    *("producer_id", "first_offset", "last_sequence", "last_offset", "last_stable_offset", "last_timestamp"),
    *("coordinator_epoch", "transaction_first_offset"),
)


def dump(options: Options) -> None:
    """Show the content of a file or a directory."""
    path: Path = options.path
    if not path.exists():
        raise OdradekError(f"there is no file or directory {path}")
    is_log = path.is_dir() or path.suffix == ".log"
    topic = _internal_topic(path, options.decode) if is_log and options.records else None
    fields = _ENTRY_FIELDS if not is_log else _RECORD_FIELDS if options.records else _BATCH_FIELDS
    fields = fields if topic is None else _DECODED_FIELDS
    columns = [Column(name, _CELLS.get(name, _text)) for name in fields]
    try:
        rows = rows_of(path, with_records=options.records, start_offset=options.offset)
        if topic is not None:
            rows = (_decoded(topic, row, for_json=options.json) for row in rows)
        shown = map(_for_json, rows) if options.json else rows
        show_lines(shown, columns, as_json=options.json, empty=f"{path} is empty.")
    except LogError as error:
        raise OdradekError(f"{path}: {error}") from error
    except OSError as error:
        raise OdradekError(f"cannot read {path}: {reason_of(error)}") from error


def _internal_topic(path: Path, asked: str | None) -> str | None:
    """The internal topic whose records to decode: the option's, else the directory's."""
    if asked is not None:
        return _DECODERS[asked]
    folder = path.resolve() if path.is_dir() else path.resolve().parent
    topic = folder.name.rpartition("-")[0]
    return topic if topic in _DECODERS.values() else None


def _decoded(topic: str, row: dict[str, Any], *, for_json: bool) -> dict[str, Any]:
    """Decode a row's key and value, as objects for JSON, else as text; an unknown record stays unchanged."""
    from odradek.cli.internal_topics import decode, in_words  # 40 ms that other logs do not need

    if "control" in row:
        return row
    try:
        found = decode(topic, row["key"], row["value"])
    except MalformedRequest as unknown:
        return {**row, "record": f"not decoded: {unknown}"}
    place = {"offset": row["offset"], "timestamp": row["timestamp"], "record": found.record}
    if for_json:
        return {**place, **{name: getattr(found, name) for name in _JSON_FIELDS}}
    value = "tombstone" if found.value is None else f"{in_words(found.value)} (version {found.value_version})"
    return {**place, "key": in_words(found.key), "value": value}


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
    """A row with its bytes as text, or in base64 if they are not UTF-8."""
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


_DECODERS = {"offsets": OFFSETS_TOPIC, "transactions": TRANSACTION_STATE_TOPIC, "none": None}
_JSON_FIELDS = ("key_version", "key", "value_version", "value")

GROUP = Group(
    "log",
    "Show what is in the files of a log.",
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
                flag("--records", help="show each record, not only each batch"),
                option(
                    "--decode",
                    help="with --records: the internal topic whose format keys and values have",
                    metavar="TOPIC",
                    choices=tuple(_DECODERS),
                    shown_default="as the directory's name says",
                ),
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
            details="With --json, each row is one line. A log may be read while its broker runs."
            "\n\n"
            "With --records, those of __consumer_offsets and __transaction_state are decoded: a committed"
            " offset, a group, a member, a transaction. A tombstone removes the records with the same key.",
            examples=(
                "odradek log dump data/flights-0",
                "odradek log dump data/flights-0/00000000000000000000.log --records --offset 1000",
                "odradek log dump data/__consumer_offsets-0 --records",
            ),
        ),
    ),
)
