"""`odradek consume`: prints the records of a topic as lines, in a custom format, or as JSON."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from threading import current_thread, main_thread
from typing import TYPE_CHECKING

from odradek.base.ids import Offset, TopicPartition
from odradek.base.visible import visible
from odradek.cli.command_line import (
    Command,
    Options,
    UsageError,
    flag,
    number,
    option,
    positional,
    seconds,
)
from odradek.cli.connecting import CONNECTION, client_config
from odradek.cli.moments import INT64_MAX, MOMENT, moment_ms
from odradek.cli.output import say
from odradek.cli.record_format import as_json, as_value, formatter
from odradek.client.cluster import EARLIEST, LATEST
from odradek.client.configuration import GROUP_PROTOCOLS, ISOLATION_LEVELS, ClientConfig
from odradek.client.reading_range import Start, starts_of
from odradek.client.record_deletion import partitions_of
from odradek.client.record_reader import FetchedRecord, RecordReader

if TYPE_CHECKING:
    from odradek.client.group_reader import GroupReader

POLL_MS = 500


def consume(options: Options) -> None:
    """Print records until the end, a limit, or Ctrl-C."""
    config = client_config(options)
    if options.isolation_level is not None:
        config = replace(config, isolation_level=options.isolation_level)
    start, group = _start(options), options.group or config.group_id
    render = _renderer(options)
    if group is not None:
        reader: RecordReader | GroupReader = _join(config, options, group, start)
        until = None
    else:
        _refuse_for_groups(options)
        positions, until = _positions(config, options, start)
        reader = RecordReader(config, positions)
    with closing(reader), _ended_by_sigterm():
        try:
            _print_records(reader, render, options, until)
        except KeyboardInterrupt:
            pass  # The normal end.


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """Treat SIGTERM like Ctrl-C: after `timeout 10 odradek ...`, too, a member commits and leaves."""
    if current_thread() is not main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _start(options: Options) -> Start | None:
    given = [
        one
        for one in (
            Start(EARLIEST) if options.from_beginning else None,
            options.offset,
            None if options.since is None else Start(options.since),
        )
        if one is not None
    ]
    if len(given) > 1:
        raise UsageError("odradek consume takes one of --from-beginning, --offset and --since")
    return given[0] if given else None


def _join(config: ClientConfig, options: Options, group: str, start: Start | None) -> GroupReader:
    if options.partition or options.offset is not None or options.since is not None:
        raise UsageError(
            "with --group, leave out --partition, --offset and --since: the group's committed offsets say"
            " where it reads; 'odradek groups reset-offsets' moves them"
        )
    if options.follow:
        raise UsageError("with --group, leave out --follow: a member of a group reads until Ctrl-C")
    from odradek.client.group_reader import NEVER, REGULARLY, GroupReader  # 40 ms that others do not need

    if options.protocol is not None:
        config = replace(config, group_protocol=options.protocol)
    commits = options.commit or (REGULARLY if config.enable_auto_commit else NEVER)
    return GroupReader(config, group, options.topic, LATEST if start is None else EARLIEST, commits=commits)


def _refuse_for_groups(options: Options) -> None:
    for name in ("protocol", "commit", "verbose"):
        if getattr(options, name):
            raise UsageError(f"--{name} needs --group GROUP")


def _positions(
    config: ClientConfig, options: Options, start: Start | None
) -> tuple[dict[TopicPartition, Offset], dict[TopicPartition, Offset] | None]:
    """The start offsets, and the end offsets; no end offsets when the command follows the log."""
    wanted = partitions_of(config, options.topic, options.partition)
    positions, ends = starts_of(config, wanted, start or Start(LATEST))
    return positions, None if options.follow or start is None else ends


def _print_records(
    reader: RecordReader | GroupReader,
    render: Callable[[FetchedRecord], bytes],
    options: Options,
    until: dict[TopicPartition, Offset] | None,
) -> None:
    output = sys.stdout.buffer
    shown, quiet_since = 0, time.monotonic()
    while until is None or _is_left(reader, until):
        for record in reader.poll(POLL_MS):
            if until is not None and record.offset >= until[TopicPartition(record.topic, record.partition)]:
                continue  # The partition was created after this command began.
            output.write(render(record))
            shown += 1
            if shown == options.max_messages:
                output.flush()
                _print_news(reader, options)
                return
            quiet_since = time.monotonic()
        output.flush()
        _print_news(reader, options)
        if options.timeout is not None and time.monotonic() - quiet_since >= options.timeout:
            were_shown = "1 was shown" if shown == 1 else f"{shown:,} were shown"
            say(f"No record for {options.timeout:g} s; {were_shown}.", as_error=True)
            return


def _print_news(reader: RecordReader | GroupReader, options: Options) -> None:
    """Acknowledge the printed records, and print the reader's notes to standard error."""
    while reader.notes:
        say(f"odradek: {reader.notes.pop(0)}", as_error=True)
    if isinstance(reader, RecordReader):
        return
    reader.acknowledge()
    while reader.rebalances:
        sentence = reader.rebalances.pop(0)
        if options.verbose:
            say(f"odradek: {sentence}", as_error=True)


def _is_left(reader: RecordReader | GroupReader, until: dict[TopicPartition, Offset]) -> bool:
    assert isinstance(reader, RecordReader), "a group follows its topic"
    left = {one: at for one, at in reader.positions.items() if at < until[one]}
    if len(left) < len(reader.positions):
        reader.keep(left)
    return bool(left)


def _renderer(options: Options) -> Callable[[FetchedRecord], bytes]:
    if sum((options.json, options.format is not None, options.headers or options.keys)) > 1:
        raise UsageError("odradek consume takes one of --json, --format, and --keys with --headers")
    if options.json:
        return lambda record: as_json(record, always_base64=options.base64)
    shown = (
        formatter(options.format) if options.format is not None else as_value(options.keys, options.headers)
    )
    if not sys.stdout.isatty():
        return shown
    return lambda record: _for_a_terminal(shown(record))


def _for_a_terminal(shown: bytes) -> bytes:
    """Escape control characters: the content of a record must not control the terminal."""
    text = shown.decode(errors="backslashreplace")
    ending = "\n" if text.endswith("\n") else ""
    lines = text.removesuffix("\n")
    return (visible(lines) + ending).encode()


def _offset(text: str) -> Start:
    """Parse an offset, an offset from the end, or a word. Raises ValueError."""
    if text in ("earliest", "latest"):
        return Start(EARLIEST if text == "earliest" else LATEST)
    try:
        count = number(-INT64_MAX)(text)
    except ValueError:
        raise ValueError("an offset, -N for the last N, 'earliest' or 'latest'") from None
    return Start(offset=count)


COMMAND = Command(
    "consume",
    "Print the records of a topic.",
    consume,
    (
        positional("topic", "the topic's name", completes="topic"),
        flag("--from-beginning", help="start at the first record; the same as --offset earliest"),
        option(
            "--offset",
            "-o",
            help="start at this offset, 'earliest', 'latest', or -N for the last N of each partition",
            metavar="OFFSET",
            kind=_offset,
        ),
        option(
            "--since",
            help=f"start at the first record of this time or later: {MOMENT}",
            metavar="TIME",
            kind=moment_ms,
        ),
        flag("--follow", "-f", help="wait for more records at the end"),
        option("--max-messages", "-n", help="stop after this many records", metavar="N", kind=number(1)),
        option(
            "--timeout", help="stop after this many seconds without a record", metavar="SECONDS", kind=seconds
        ),
        option("--partition", "-p", help="only this partition", metavar="N", kind=number(0, (1 << 31) - 1)),
        option(
            "--group",
            "-g",
            help="read as a member of this group, and commit the offsets of printed records",
            metavar="GROUP",
            completes="group",
        ),
        option(
            "--protocol",
            help="with --group: the protocol of the group; see below",
            metavar="PROTOCOL",
            choices=GROUP_PROTOCOLS,
        ),
        option(
            "--commit",
            help="with --group: when offsets are committed: every five seconds and at the end, only at the"
            " end, or never",
            metavar="WHEN",
            choices=("regularly", "end", "never"),
            shown_default="regularly",
        ),
        flag(
            "--verbose", "-v", help="with --group: print assigned and revoked partitions to the error output"
        ),
        option(
            "--isolation-level",
            help="whether records of open and aborted transactions are shown",
            metavar="LEVEL",
            choices=tuple(ISOLATION_LEVELS),
            shown_default="read_uncommitted",
        ),
        flag("--keys", help="print each key and a tab before the value"),
        flag("--headers", help="print name=value,... and a tab before the value"),
        option("--format", help="print each record in this format; see below", metavar="FORMAT"),
        flag("--json", help="print each record as a JSON object with all its fields"),
        flag("--base64", help="with --json: keys and values always in base64"),
        *CONNECTION,
    ),
    details="Without a starting point, it waits for new records until Ctrl-C. With one, it prints the records"
    " that are there and ends; with --follow it continues. With --group it reads until Ctrl-C, and"
    " --from-beginning is for partitions without a committed offset."
    "\n\n"
    "It joins a group whose members use the classic protocol with that protocol, and any other group with the"
    " consumer protocol of Kafka 4.0 (KIP-848) if the broker serves it, else with the classic one. --protocol"
    " chooses one of them. With the classic protocol it supports the strategies range, cooperative-sticky,"
    " sticky and roundrobin."
    "\n\n"
    "In a FORMAT, %t is the topic, %p the partition, %o the offset, %T the time in milliseconds, %k the key,"
    " %s the value, %K and %S their lengths in bytes (-1 for null), %h the headers, %% a percent sign;"
    r" \n and \t are a newline and a tab."
    "\n\n"
    "In JSON, bytes that are not UTF-8 are in key_base64 and value_base64, so nothing is lost."
    " 'odradek produce --format json' reads this JSON.",
    examples=(
        "odradek consume flights --from-beginning --max-messages 10",
        "odradek consume flights --since 10m --follow --json",
        r"odradek consume flights --offset -5 --format '%p@%o %k=%s\n'",
    ),
)
