"""The TOML file of a pipeline: what may stand in it, and a sentence for each mistake.

    name = "flights"

    [source]
    bootstrap_servers = "127.0.0.1:9092"
    topics = ["flights"]

    [decode]
    format = "json"

    [sink]
    path = "flights_table"

Relative paths are relative to the file. The fields that were inferred or added are kept in a file beside it,
`flights.fields.json` for `flights.toml`.
"""

import json
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from odradek.base.errors import SettingError
from odradek.base.system_errors import reason_of
from odradek.client.bootstrap import parse_bootstrap_servers
from odradek.client.configuration import ClientConfig
from odradek.spark.brokers import Brokers
from odradek.spark.master import LOCAL, check_master, check_settings
from odradek.spark.pipeline.avro import HEADERS, AvroFormat, fields_of, read_schema
from odradek.spark.pipeline.change_events import Envelope
from odradek.spark.pipeline.decoding import FORMATS, Decoder
from odradek.spark.pipeline.fields import ORIGIN, Fields, check_fields
from odradek.spark.pipeline.keys import KEY_FORMATS, TOMBSTONES, Keying, check_keying
from odradek.spark.pipeline.protection import protection_of
from odradek.spark.pipeline.toml_table import MISSING, TomlTable, named_values
from odradek.spark.pipeline.transforms import Code, TableJoin, Transform, read_transform
from odradek.spark.sink_options import AT_LEAST_ONCE, EXACTLY_ONCE

_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,200}")
SINK_FORMATS: Final = ("parquet", "delta", "iceberg", "topic")
TOPIC: Final = "topic"
"""The format of a sink that is a topic."""
VALUE_FORMATS: Final = ("json", "raw")
DELIVERIES: Final = (EXACTLY_ONCE, AT_LEAST_ONCE)
NO_COMPACTION: Final = (
    "a table of Parquet files has no log in which one commit could put one file in the place of several, so"
    ' that readers would see rows twice or not at all; take format = "delta" or "iceberg" in [sink], or make'
    " fewer and larger batches with interval_s in [batch]"
)
"""Why tables of Parquet files are not compacted."""


@dataclass(frozen=True, slots=True)
class Compaction:
    """How the table of a lake format is kept small: `[compact]`."""

    after_commits: int
    """A run compacts the table after that many batches; 0 for never."""
    file_bytes: int
    """About how large files become."""
    keep_hours: int
    """How long an older state of the table can still be read."""


@dataclass(frozen=True, slots=True)
class Description:
    """A pipeline as its file describes it."""

    file: Path
    name: str
    bootstrap_servers: str
    topics: tuple[str, ...]
    starts_at_latest: bool
    """Whether the first run begins at the topics' ends, not at their starts."""
    isolation: str
    continues_after_loss: bool
    """Whether records that were deleted unread leave a hole that is recorded; otherwise the run fails."""
    group: str
    """The consumer group that committed offsets are also written to."""
    format: str
    protection: Mapping[str, str] = field(repr=False)
    """Kafka's settings of TLS and SASL, by their names; may hold secrets, which are not shown."""
    given_fields: Fields
    """The fields that the file, or its schema of Avro, gives; may be empty."""
    adds_fields: bool
    delimiter: str
    transforms: tuple[Transform, ...]
    table: Path
    sink_format: str
    partition_by: tuple[str, ...]
    keying: Keying
    """Which records are of the same row."""
    records_max: int
    """The most offsets of one batch."""
    interval_s: float
    """The shortest time from the start of one batch to the start of the next."""
    dead_letters_max: int
    """The most dead letters of one batch; more stop the pipeline before the batch is committed."""
    compaction: Compaction
    avro: AvroFormat | None = None
    """How values are written; None for formats other than Avro."""
    sink_topic: str = ""
    """The topic that rows go to; "" for a table."""
    value_format: str = ""
    """What a row is in the topic, one of VALUE_FORMATS; "" for a table."""
    may_repeat: bool = False
    """Whether a run that ends in a batch may leave rows in the topic that the next one sends again."""
    letters_topic: str = ""
    """The topic that dead letters are also sent to; "" for none."""

    sink_brokers: Brokers | None = None
    """The brokers of the topics that are written; None for those of the source."""
    master: str = LOCAL
    """Where Spark runs."""
    spark_settings: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Settings of Spark's; may hold secrets, which are not shown."""

    @property
    def brokers(self) -> Brokers:
        """The brokers of the topics that the pipeline writes."""
        return self.sink_brokers or self.source_brokers

    @property
    def source_brokers(self) -> Brokers:
        """The brokers of the topics that the pipeline reads."""
        return Brokers(self.bootstrap_servers, self.group, self.protection)

    @property
    def marker_topic(self) -> str:
        """The topic with the pipeline's notes on what it has written to other topics."""
        return f"_odradek-pipeline-{self.name}"

    @property
    def table_formats(self) -> tuple[str, ...]:
        """The formats of the sink and of the tables that are joined."""
        joined = [one.format for one in self.transforms if isinstance(one, TableJoin)]
        return tuple(dict.fromkeys([self.sink_format, *joined]))

    @property
    def fields_file(self) -> Path:
        """Where inferred and added fields are kept."""
        return self.file.with_suffix(".fields.json")

    def decoder(self, fields: Fields) -> Decoder:
        """The decoder of values with these fields."""
        return Decoder(self.format, fields, self.adds_fields, self.delimiter, self.avro)


def read_description(file: Path) -> Description:
    """Raises SettingError for a file that cannot be read, and for the first mistake in it."""
    document = _document(file)
    top = TomlTable(file, "", document)
    source, decode, sink = (top.table(name) for name in ("source", "decode", "sink"))
    batch, dead_letters, compact = (top.table(name) for name in ("batch", "dead_letters", "compact"))
    spark, stages = top.table("spark"), top.tables("transform")
    name = top.text("name", file.stem)
    top.refuse_the_rest()  # before `[sourec]` is said to be a source without topics
    if not _NAME.fullmatch(name):
        raise top.wrong("name", "a name of letters, digits, dots, dashes and underscores")
    servers = _servers(source)
    format_name = decode.choice("format", FORMATS, MISSING)
    delimiter = decode.text("delimiter", ",")
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise decode.wrong("delimiter", "one character")
    sink_format = sink.choice("format", SINK_FORMATS, "parquet")
    sink_topic, value_format = _topic(file, sink, sink_format, format_name)
    transforms = tuple(map(read_transform, stages))
    avro, given_fields = _avro(file, decode, format_name)
    described = Description(
        file=file,
        name=name,
        bootstrap_servers=servers,
        topics=source.topics("topics"),
        starts_at_latest=source.choice("start", ("earliest", "latest"), "earliest") == "latest",
        isolation=source.choice("isolation", ("read_committed", "read_uncommitted"), "read_committed"),
        continues_after_loss=source.choice("on_lost_offsets", ("fail", "continue"), "fail") == "continue",
        group=source.text("group", f"odradek-pipeline-{name}"),
        format=format_name,
        protection=protection_of(file, "source", source.content("kafka")),
        given_fields=given_fields,
        adds_fields=decode.choice("new_fields", ("add", "dead-letter"), "add") == "add",
        delimiter=delimiter,
        transforms=transforms,
        table=file.parent / sink.text("path", MISSING),
        sink_format=sink_format,
        partition_by=sink.texts("partition_by", ()),
        keying=Keying(
            sink.columns("key"),
            sink.option("tombstones", TOMBSTONES),
            decode.option("key_format", KEY_FORMATS),
            is_transformed=bool(transforms),
            envelope=_envelope(decode),
        ),
        records_max=batch.number("records_max", 1_000_000, lowest=1),
        interval_s=batch.number("interval_s", 10),
        dead_letters_max=dead_letters.number("max_per_batch", 1000),
        compaction=Compaction(
            after_commits=compact.number("after_commits", 0),
            file_bytes=compact.number("file_size_mb", 128, lowest=1) << 20,
            keep_hours=compact.number("keep_hours", 168),
        ),
        avro=avro,
        sink_topic=sink_topic,
        value_format=value_format,
        may_repeat=sink.has("delivery") and sink.choice("delivery", DELIVERIES, MISSING) == AT_LEAST_ONCE,
        letters_topic=dead_letters.topic("topic") if dead_letters.has("topic") else "",
        sink_brokers=_sink_brokers(file, sink, sink_format, source.text("group", f"odradek-pipeline-{name}")),
        master=check_master(spark.text("master", LOCAL), f"{file}: spark.master"),
        spark_settings=check_settings(
            dict(named_values(f"{file}: spark.settings", spark.content("settings"))),
            f"{file}: spark.settings",
        ),
    )
    for table in (source, decode, sink, batch, dead_letters, compact, spark):
        table.refuse_the_rest()
    _check_topics(described)
    _check_format(described, is_compacted="compact" in document)
    return described


def _servers(source: TomlTable) -> str:
    """As all commands find them, so that `odradek serve` and a description from `init` fit together."""
    default = os.environ.get("ODRADEK_BOOTSTRAP_SERVERS") or ClientConfig().bootstrap_servers
    servers = source.text("bootstrap_servers", default)
    parse_bootstrap_servers(servers)
    return servers


def _document(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text())
    except OSError as error:
        raise SettingError(f"cannot read {file}: {reason_of(error)}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingError(f"{file} is not TOML: {error}") from None


def read_fields(description: Description) -> Fields:
    """The fields that are known: those of the description, then those that were inferred or added."""
    try:
        kept = json.loads(description.fields_file.read_text())["fields"]
        added = check_fields(kept, str(description.fields_file))
    except FileNotFoundError:
        added = {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise SettingError(f"{description.fields_file} is damaged: remove it, and it is made anew") from None
    return description.given_fields | {
        name: kind for name, kind in added.items() if name not in description.given_fields
    }


def write_fields(description: Description, fields: Fields) -> None:
    """Keep the fields, at once or not at all. Raises SettingError if their file cannot be written."""
    text = json.dumps({"pipeline": description.name, "fields": fields}, indent=2)
    beside = description.fields_file.with_suffix(".new")
    try:
        beside.write_text(text + "\n")
        beside.replace(description.fields_file)
    except OSError as error:
        reason = reason_of(error)
        raise SettingError(
            f"cannot write {description.fields_file}, which keeps the fields: {reason}"
        ) from None


def check_transforms(description: Description) -> None:
    """Raises SettingError for a transform whose file or table is not there."""
    for one in description.transforms:
        if isinstance(one, Code) and one.python_file is not None and not one.python_file.is_file():
            raise SettingError(f"there is no file {one.python_file}, which a transform names")
        if isinstance(one, TableJoin) and not one.table.exists():
            raise SettingError(f"there is no table {one.table}, which a transform joins")


def _avro(file: Path, decode: TomlTable, format_name: str) -> tuple[AvroFormat | None, Fields]:
    """How values of Avro are written, None for other formats, and the given fields. Raises SettingError."""
    if format_name != "avro":
        for key in ("schema", "skip_header"):
            if decode.has(key):
                raise SettingError(f'{file}: decode.{key} has an effect only with decode.format = "avro"')
        return None, check_fields(decode.content("fields"), f"{file}: decode.fields")
    for key in ("fields", "new_fields"):
        if decode.has(key):
            raise SettingError(f"{file}: decode.{key} has no effect with Avro: the schema has the fields")
    schema_file = file.parent / decode.text("schema", MISSING)
    schema = read_schema(schema_file)
    header = decode.choice("skip_header", HEADERS, MISSING) if decode.has("skip_header") else ""
    return AvroFormat(schema, header), check_fields(fields_of(schema, schema_file), str(schema_file))


def _topic(file: Path, sink: TomlTable, sink_format: str, format_name: str) -> tuple[str, str]:
    """The topic that rows go to and how values are written; both "" for a table. Raises SettingError."""
    if sink_format != TOPIC:
        for key in ("topic", "value_format", "delivery"):
            if sink.has(key):
                raise SettingError(f'{file}: sink.{key} has an effect only with sink.format = "topic"')
        return "", ""
    return sink.topic("topic"), sink.choice(
        "value_format", VALUE_FORMATS, "raw" if format_name == "raw" else "json"
    )


def _sink_brokers(file: Path, sink: TomlTable, sink_format: str, client_id: str) -> Brokers | None:
    """The brokers that `[sink]` names for its topic; None for those of the source. Raises SettingError."""
    given = [key for key in ("bootstrap_servers", "kafka") if sink.has(key)]
    if not given:
        return None
    if sink_format != TOPIC:
        raise SettingError(f'{file}: sink.{given[0]} has an effect only with sink.format = "topic"')
    servers = sink.text("bootstrap_servers", MISSING)
    parse_bootstrap_servers(servers)
    return Brokers(servers, client_id, protection_of(file, "sink", sink.content("kafka")))


def _check_topic(described: Description, *, is_compacted: bool) -> None:
    """Raises SettingError for what a topic cannot have."""
    file, keying = described.file, described.keying
    if described.partition_by:
        raise SettingError(
            f"{file}: sink.partition_by has no effect on a topic: the key of a record, the column _key, says"
            " which partition it is in"
        )
    if is_compacted:
        raise SettingError(
            f"{file}: [compact] has no effect on a topic: its brokers compact it, if its"
            " cleanup.policy says so"
        )
    if keying.columns or keying.tombstones:
        raise SettingError(
            f"{file}: sink.{'key' if keying.columns else 'tombstones'} has no effect on a topic, whose"
            " records are never replaced: the key of a record is the column _key"
        )
    if keying.envelope is not None:
        raise SettingError(f"{file}: decode.cdc changes rows of a table, and a topic has none: remove it")


def _check_topics(described: Description) -> None:
    """Raises SettingError for a topic that is to be two things."""
    file, letters = described.file, described.letters_topic
    # Other brokers may have topics of the same names; see `topic_sink.check_sink_topic`.
    read = () if described.sink_brokers else described.topics
    written = [one for one in (described.sink_topic, letters) if one]
    if written and described.marker_topic in (*written, *read):
        raise SettingError(f"{file}: {described.marker_topic} is the topic of the pipeline's own offsets")
    for setting, topic in (("sink.topic", described.sink_topic), ("dead_letters.topic", letters)):
        if topic and topic in read:
            raise SettingError(
                f"{file}: {setting} is one of source.topics: the pipeline would read what it writes"
            )
    if letters and letters == described.sink_topic:
        raise SettingError(
            f"{file}: dead_letters.topic is sink.topic: its readers could not tell dead letters from rows"
        )


def _check_format(described: Description, *, is_compacted: bool) -> None:
    for name in described.partition_by:
        if name in ORIGIN:
            raise SettingError(f"{described.file}: sink.partition_by cannot name {name}, which verify reads")
    if described.sink_format == "parquet" and is_compacted:
        raise SettingError(f"{described.file}: [compact] has no effect: {NO_COMPACTION}")
    if described.sink_format == TOPIC:
        _check_topic(described, is_compacted=is_compacted)
    where = f"{described.file}: decode"
    if described.format == "csv" and not described.given_fields:
        raise SettingError(f"{where}.fields is missing: a line of CSV does not say what its fields are")
    if described.format == "raw" and described.given_fields:
        raise SettingError(f'{where}.fields has no effect with format = "raw": remove it')
    if described.keying.envelope is not None and described.format != "json":
        raise SettingError(f'{where}.cdc reads objects of JSON: set format to "json", or remove it')
    check_keying(described.keying, described.sink_format, described.file)


def _envelope(decode: TomlTable) -> Envelope | None:
    """How changes are written; None if values are the rows themselves."""
    if not decode.has("cdc"):
        return None
    default, cdc = Envelope(), decode.table("cdc")
    found = Envelope(
        operation=cdc.text("operation", default.operation),
        before=cdc.text("before", default.before),
        after=cdc.text("after", default.after),
        insert=cdc.texts("insert", default.insert),
        update=cdc.texts("update", default.update),
        delete=cdc.texts("delete", default.delete),
    )
    cdc.refuse_the_rest()
    return found
