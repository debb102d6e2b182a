"""`odradek pipeline`: topics become tables, or other topics, by Spark, every record exactly once."""

from __future__ import annotations

import signal
import threading
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from odradek.base.errors import SettingError
from odradek.base.extras import missing_extra
from odradek.base.system_errors import reason_of
from odradek.cli.command_line import JSON, Command, Group, Options, flag, number, option, positional
from odradek.cli.connecting import BOOTSTRAP, SERVERS_VARIABLE
from odradek.cli.output import Column, colour_of_lag, counted, say, say_json, show, timed
from odradek.client.configuration import ClientConfig

if TYPE_CHECKING:
    from odradek.spark.pipeline.compaction import Compacted
    from odradek.spark.pipeline.description import Description
    from odradek.spark.pipeline.engine import Engine
    from odradek.spark.pipeline.ledger import Commit
    from odradek.spark.pipeline.verifying import Findings

TEMPLATE = """\
# A pipeline of Odradek: from topics to a table, or a topic. docs/pipeline.md lists all settings.
name = "{name}"

[source]
{servers}topics = ["{topic}"]
# start = "latest"               # the first run begins at the end of the topic, not at its start

[decode]
format = "{format}"{fields}

# [[transform]]                  # stages, in this order; each sees the rows of the one before
# sql = "select * from records where ..."

[sink]
path = "{name}_table"
# format = "delta"               # or "iceberg"; else Parquet files
# format = "topic"               # rows become records of a topic; in path is the ledger
# topic = "..."                  # with format = "topic"
# delivery = "at-least-once"     # of a topic, without transactions; else exactly-once
# partition_by = ["..."]         # a directory for each value of a column
# key = ["..."]                  # one row for each key, in a delta or iceberg table

[batch]
records_max = 1000000
interval_s = 10

[dead_letters]
max_per_batch = 1000             # more records that cannot be read stop the pipeline
# topic = "..."                  # dead letters also become records of this topic

# [compact]                      # of Delta and Iceberg tables: small files become large ones
# after_commits = 100

# [spark]                        # where Spark runs; else on this machine
# master = "spark://HOST:7077"
"""
MORE_OF_FORMAT = {
    "csv": '\n[decode.fields]\ncolumn = "string"       # one for each place in a line',
    "avro": '\nschema = "schema.avsc"          # beside this file\n# skip_header = "confluent"',
}
"""What a description needs besides the format."""
PORT_MAX = 65_535
FILE = positional("file", "the description of the pipeline", metavar="FILE", completes="file")
FILES = positional(
    "files",
    "the description; pipelines of several share one Spark and take turns",
    metavar="FILE",
    many=True,
    completes="file",
)
MASTER = option(
    "--master",
    help="where Spark runs, instead of what the description says: local[4], spark://HOST:PORT, yarn, k8s://...",
    metavar="MASTER",
)
LAGS = (
    Column("topic"),
    Column("partition"),
    Column("next_offset", counted),
    Column("lag", counted, always=True, colour=colour_of_lag),
)


def init(options: Options) -> None:
    """Write a description to start from."""
    file = Path(options.file)
    servers = f'bootstrap_servers = "{options.bootstrap_server}"\n' if options.bootstrap_server else ""
    if not servers:
        default = ClientConfig().bootstrap_servers
        servers = f'# bootstrap_servers = "HOST:PORT"  # else ${SERVERS_VARIABLE}, else {default}\n'
    fields = MORE_OF_FORMAT.get(options.format, "")
    text = TEMPLATE.format(
        name=file.stem, servers=servers, topic=options.topic, format=options.format, fields=fields
    )
    try:
        with file.open("x") as made:
            made.write(text)
    except FileExistsError:
        raise SettingError(f"{file} exists; nothing was written") from None
    except OSError as error:
        raise SettingError(f"cannot write {file}: {reason_of(error)}") from None
    say(f"Wrote {file}. Next: odradek pipeline check {file}")


def check(options: Options) -> None:
    """Say what a run would read, and into which columns."""
    from odradek.spark.pipeline import assembly

    description = _described(options.file)
    view, fields, is_inferred = assembly.check(description)
    say(f"The description {description.file} is good.")
    records = sum(end - view.earliest[partition] for partition, end in view.latest.items())
    say(
        f"Topics: {', '.join(description.topics)}; {_counted(len(view.latest), 'partition')},"
        f" {_counted(records, 'offset')}."
    )
    if description.format == "raw":
        say("Column: value (the bytes of each record)")
    elif fields:
        shown = ", ".join(f"{name} ({kind})" for name, kind in fields.items())
        say(f"Columns{', inferred from the first records' if is_inferred else ''}: {shown}")
    else:
        say("Columns: none are known; the first run infers them from the records that have come by then.")
    if description.sink_topic:
        often = "; each row at least once" if description.may_repeat else ""
        say(f"Topic: {description.sink_topic}, with the ledger in {description.table}{often}")
    else:
        say(f"Table: {description.table}")
    if description.letters_topic:
        from odradek.spark.pipeline.dead_letter_topic import guarantee_of

        say(f"Dead letters: also to topic {description.letters_topic}, {guarantee_of(description)}")


def _kept(description: Description) -> str:
    return "topic" if description.sink_topic else "table"


def run(options: Options) -> None:
    """Bring the tables up to date, once or until Ctrl-C or SIGTERM."""
    from odradek.spark.pipeline import assembly

    descriptions = _described_each(options)
    with ExitStack() as stack:
        if len(descriptions) > 1:
            engines = stack.enter_context(
                assembly.opened_together(
                    descriptions,
                    lambda one: _Progress(f"{one.name}: "),
                    lambda one: partial(_say_compacted, prefix=f"{one.name}: "),
                )
            )
        else:
            engines = [_opened_alone(descriptions[0], options.admin_port, stack)]
        if options.once:
            for description, engine in zip(descriptions, engines, strict=True):
                batches = engine.run_once()
                kept = (
                    f"{_kept(description)} of {description.name}" if len(engines) > 1 else _kept(description)
                )
                say(f"The {kept} is up to date after {_counted(batches, 'batch', 'batches')}.")
            return
        ended = threading.Event()
        signal.signal(signal.SIGTERM, lambda *_: ended.set())
        say(f"Running {', '.join(one.name for one in descriptions)} until Ctrl-C.")
        turns = [(engine, one.interval_s) for engine, one in zip(engines, descriptions, strict=True)]
        assembly.run_until(turns, ended, _Progress().warned)


def _described_each(options: Options) -> list[Description]:
    """The descriptions of a run. Raises SettingError where they cannot run in one process."""
    descriptions = [_described(file, options.master) for file in options.files]
    names = [one.name for one in descriptions]
    for name in names:
        if names.count(name) > 1:
            raise SettingError(f"two descriptions have the name {name}: each pipeline needs one of its own")
    if options.admin_port is not None and len(descriptions) > 1:
        raise SettingError(
            "--admin-port has the figures of one pipeline: run these in processes of their own, or without it"
        )
    return descriptions


def _opened_alone(description: Description, admin_port: int | None, stack: ExitStack) -> Engine:
    """The engine of a run on its own, with its figures served, until the end of `stack`."""
    from odradek.spark.pipeline import assembly

    figures = None
    if admin_port is not None:
        figures, address = stack.enter_context(assembly.figures_served(description, admin_port))
        say(f"Figures for Prometheus: http://{address}/metrics")
    return stack.enter_context(
        assembly.opened(description, _Progress(), compacted=_say_compacted, figures=figures)
    )


class _Progress:
    """The lines of a run, each behind `prefix`, which says whose they are where several take turns."""

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix

    def committed(self, commit: Commit, records_behind: int) -> None:
        rate = round(commit.records * 1000 / max(1, commit.took_ms))
        dead = f", {_counted(commit.dead_letters, 'dead letter')}" if commit.dead_letters else ""
        gone = f", {_counted(commit.deletes, 'deletion')}" if commit.deletes else ""
        late = f", {_counted(commit.late, 'late row')}" if commit.late else ""
        holes = sum(end - start for parts in commit.holes.values() for start, end in parts.values())
        lost = f", {counted(holes)} offsets lost to retention" if holes else ""
        left = f", {records_behind / rate:,.0f} s left" if rate and records_behind else ""
        say(
            f"{self._prefix}batch {commit.batch}: {_counted(commit.records, 'record')},"
            f" {_counted(commit.rows, 'row')}{gone}{dead}{late}{lost}, {rate:,} records/s;"
            f" lag {counted(records_behind)}{left}"
        )

    def warned(self, sentence: str) -> None:
        say(f"odradek: {self._prefix}{sentence}", as_error=True)


def replay(options: Options) -> None:
    """Take dead letters back that can be read now."""
    from odradek.spark.pipeline import assembly

    done = assembly.replay_table(_described(options.file, options.master), _Progress())
    if not done.letters:
        say("There are no dead letters to take back.")
        return
    taken = done.letters - done.remaining
    if done.commit is None:
        say("No dead letter can be read now, and nothing was changed.")
    else:
        rows = _counted(done.commit.rows, "row")
        say(f"batch {done.commit.batch}: {_counted(taken, 'dead letter')} taken back, {rows}.")
    if done.remaining:
        say(f"{_counted(done.remaining, 'dead letter')} left, the first: {done.first_error}")


def compact(options: Options) -> None:
    """Make few large files of many small ones, and remove what no kept state of the table has."""
    from odradek.spark.pipeline import assembly

    description = _described(options.file, options.master)
    _say_compacted(assembly.compact_table(description, warn=_Progress().warned))


def _say_compacted(done: Compacted, prefix: str = "") -> None:
    before, after = done.rewritten.files_before, done.rewritten.files_after
    made = f"{_counted(before, 'small file')} became {counted(after)}" if before else "no file is too small"
    removed = f"; {_counted(done.files_removed, 'old file')} removed" if done.files_removed else ""
    say(f"{prefix}compacted: {made}{removed}")


def status(options: Options) -> None:
    """Show the last commit and the lag."""
    from odradek.spark.pipeline import assembly

    description = _described(options.file)
    found = assembly.status_of(description)
    last = found.last
    rows = [
        {
            "topic": partition.topic,
            "partition": partition.partition,
            "next_offset": None
            if last is None
            else last.following.get(partition.topic, {}).get(str(partition.partition)),
            "lag": behind,
        }
        for partition, behind in sorted(found.lag.items())
    ]
    total = sum(found.lag.values())
    if options.json:
        document = {
            "pipeline": description.name,
            "batch": last and last.batch,
            "committed_at_ms": last and last.committed_at_ms,
            "took_ms": last and last.took_ms,
            "records": last.records if last else 0,
            "records_total": last.records_total if last else 0,
            "dead_letters_total": last.dead_letters_total if last else 0,
            "late_total": last.late_total if last else 0,
            "lag": total,
            "partitions": rows,
        }
        say_json(document, indent=2)
        return
    if last is None:
        say(f"Pipeline {description.name} has committed nothing yet; lag {counted(total)}.")
    else:
        rate = round(last.records * 1000 / max(1, last.took_ms))
        late = f", {_counted(last.late_total, 'late row')}" if last.late_total else ""
        say(
            f"Pipeline {description.name}: {_counted(last.records_total, 'record')},"
            f" {_counted(last.dead_letters_total, 'dead letter')}{late}, lag {counted(total)}."
        )
        say(f"Batch {last.batch} was committed at {timed(last.committed_at_ms)}: {rate:,} records/s.")
    say("")
    show(rows, LAGS, as_json=False, empty="The topics have no partitions.")


def verify(options: Options) -> int:
    """Count the table, or the topic of rows, against the topics."""
    from dataclasses import asdict

    from odradek.spark.pipeline import assembly

    description = _described(options.file, options.master)
    found = assembly.verify_table(description, warn=_Progress().warned)
    if options.json:
        say_json(asdict(found), indent=2)
        return 1 if found.faults else 0
    say(
        f"{_counted(found.batches, 'batch', 'batches')}: {_counted(found.records, 'record')},"
        f" {_counted(found.rows, 'row')}, {_counted(found.dead_letters, 'dead letter')}."
    )
    if found.holes:
        say(f"{counted(found.holes)} offsets were deleted before they were read.")
    if found.no_longer_there:
        say(f"{counted(found.no_longer_there)} offsets are no longer in the topics and were not compared.")
    if found.repeated:
        rows = _counted(found.repeated, "row was sent again", "rows were sent again")
        say(f"{rows}, or not committed yet, as at-least-once permits.")
    _say_letters(description.letters_topic, found)
    for fault in found.faults:
        say(f"- {fault}")
    if found.fault_count > len(found.faults):
        say(f"- and {found.fault_count - len(found.faults)} more")
    if found.faults:
        return 1
    if description.transforms:
        once = "the ledger has no gap and no overlap"
    elif description.keying.columns:
        once = f"each of {_counted(found.keys, 'key')} has the row of its newest record"
    else:
        often = "at least once" if description.may_repeat else "once"
        once = f"each is in the {_kept(description)} {often}"
    say(f"{_counted(found.compared, 'record')} of the topics compared: {once}.")
    return 0


def _say_letters(topic: str, found: Findings) -> None:
    """What the topic of dead letters has."""
    if found.letters_sent:
        say(f"{_counted(found.letters_sent, 'dead letter is', 'dead letters are')} also in topic {topic}.")
    if found.letters_pending:
        pending = _counted(found.letters_pending, "dead letter is", "dead letters are")
        say(f"{pending} not in topic {topic} yet: the next run sends what is left.")
    if found.letters_gone:
        gone = _counted(found.letters_gone, "dead letter is", "dead letters are")
        say(f"{gone} no longer in topic {topic} and not compared.")


def doctor(options: Options) -> int:
    """Look at everything that a run needs."""
    from dataclasses import asdict

    from odradek.spark.pipeline import assembly

    found = assembly.diagnose(_described(options.file))
    wrong = sum(not one.is_good for one in found)
    if options.json:
        say_json([asdict(one) for one in found], indent=2)
        return 1 if wrong else 0
    width = max(len(one.subject) for one in found)
    for one in found:
        say(f"{'ok   ' if one.is_good else 'WRONG'}  {one.subject:{width}}  {one.sentence}")
    say("Nothing is wrong." if not wrong else f"{_counted(wrong, 'thing is', 'things are')} wrong.")
    return 1 if wrong else 0


def _described(file: str, master: str | None = None) -> Description:
    """The description in that file, with the master that is given, if any. Raises SettingError."""
    if missing := missing_extra("spark", "odradek pipeline"):
        raise SettingError(missing)
    from odradek.spark.master import check_master
    from odradek.spark.pipeline.description import read_description

    described = read_description(Path(file))
    return described if master is None else replace(described, master=check_master(master, "--master"))


def _counted(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


GROUP = Group(
    "pipeline",
    "Keep a table, or another topic, up to date with topics, every record exactly once, by Spark.",
    (
        Command(
            "init",
            "Write a description to start from.",
            init,
            (
                FILE,
                option("--topic", help="the topic", metavar="TOPIC", required=True, completes="topic"),
                option(
                    "--format",
                    help="how values are written",
                    metavar="FORMAT",
                    default="json",
                    shown_default="json",
                    choices=("json", "avro", "csv", "raw"),
                ),
                BOOTSTRAP,
            ),
            examples=("odradek pipeline init flights.toml --topic flights",),
        ),
        Command("check", "Check a description against the cluster, and show the columns.", check, (FILE,)),
        Command(
            "run",
            "Read what has come and commit it to the sink, batch by batch, until Ctrl-C.",
            run,
            (
                FILES,
                flag("--once", help="end when all records that are there now are in the sink"),
                option(
                    "--admin-port",
                    help="port of /metrics and /healthz, on loopback; 0 for any free one",
                    metavar="PORT",
                    kind=number(0, PORT_MAX),
                ),
                MASTER,
            ),
            details="A run that is killed at any moment loses nothing and doubles nothing: rows and offsets"
            " of a batch become visible together. A second run with the same sink.path is refused."
            " An error of one of several pipelines ends them all.",
        ),
        Command(
            "replay",
            "Take dead letters back: those that can be read now become rows, each once.",
            replay,
            (FILE, MASTER),
            details="For after a fix of the description. A replay that is killed at any moment loses nothing"
            " and doubles nothing: it is a batch of its own. While a run writes the sink, it is refused.",
        ),
        Command(
            "compact",
            "Make few large files of a Delta or Iceberg table's many small ones, and remove old ones.",
            compact,
            (FILE, MASTER),
            details="States of the table that are older than keep_hours can no longer be read afterwards."
            " With after_commits in [compact] a run compacts by itself; while one runs, this command is"
            " refused.",
        ),
        Command("status", "Show how far the sink got, and the lag.", status, (FILE, JSON)),
        Command(
            "doctor",
            "Look at all that a run needs: Java, jars, brokers, the sink. Exit code 1 for a fault.",
            doctor,
            (FILE, JSON),
        ),
        Command(
            "verify",
            "Count the sink against the topics: every record exactly once. Exit code 1 for a fault.",
            verify,
            (FILE, JSON, MASTER),
        ),
    ),
)
