"""`odradek consume`: prints the records of a topic as lines, in a custom format, or as JSON."""

from __future__ import annotations

import logging
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import current_thread, main_thread
from typing import TYPE_CHECKING, Final

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.ids import Offset, TopicPartition
from odradek.base.offset_timestamps import EARLIEST, LATEST
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
from odradek.cli.connecting import CONNECTION, client_settings
from odradek.cli.moments import INT32_MAX, INT64_MAX, MOMENT, moment_ms
from odradek.cli.output import say
from odradek.cli.reading_range import Start, partitions_of, starts_of
from odradek.cli.record_format import as_json, as_value, formatter
from odradek.client.choices import GROUP_PROTOCOLS, ISOLATION_LEVELS
from odradek.client.configuration import ClientConfig

if TYPE_CHECKING:
    from odradek.cli.reading import Reading
    from odradek.client.core.consumer.completed_fetch import ConsumerRecord

CONSUMER, CLASSIC = GROUP_PROTOCOLS
POLL_S: Final = 0.5
POLL_TO_END_S: Final = 0.05
"""What is at a log's end may not be for readers: then no record says that the end is reached."""
BATCH: Final = 500
_DEFAULTS: Final[dict[str, object]] = {"allow.auto.create.topics": False, "default.api.timeout.ms": 10_000}
_WITHOUT: Final = ("auto.offset.reset", "max.poll.records")
"""Settings of a consumer that options of this command decide, or that nobody would notice."""


def consume(options: Options) -> None:
    """Print records until the end, a limit, or Ctrl-C."""
    from odradek.cli.reading import Reading  # with the client: 150 ms that help does not need
    from odradek.client.settings import GROUP_ID, Client

    config, settings = client_settings(options, Client.CONSUMER, without=_WITHOUT)
    if options.isolation_level is not None:
        settings["isolation.level"] = options.isolation_level
    start, group = _start(options), options.group or GROUP_ID.of(settings)
    render = _renderer(options)
    if group is None:
        _refuse_for_groups(options)
    else:
        settings |= _of_group(config, settings, options, group)
    try:
        with _ended_by_sigterm(), _warnings_said(), Reading({**_DEFAULTS, **settings}, group) as reading:
            ends = None
            if group is None:
                ends = _begin(reading, options, start)
            else:
                partitions_of(reading.consumer, options.topic)
                reading.subscribe(options.topic, LATEST if start is None else EARLIEST)
            _print_records(reading, render, options, ends)
    except KeyboardInterrupt:
        pass  # The normal end.
    except ApiError as error:
        raise _in_words(error, settings) from error


class _Said(logging.Handler):
    """Prints what the client warns of in the form of this command's own sentences."""

    def emit(self, record: logging.LogRecord) -> None:
        say(f"odradek: {record.getMessage()}", as_error=True)


@contextmanager
def _warnings_said() -> Iterator[None]:
    """Tell the user what no exception tells: a commit of the consumer's own has failed, say."""
    log, said = logging.getLogger("odradek.consumer"), _Said(logging.WARNING)
    log.addHandler(said)
    try:
        yield
    finally:
        log.removeHandler(said)


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


def _of_group(
    config: ClientConfig, given: Mapping[str, object], options: Options, group: str
) -> dict[str, object]:
    """The settings of a member. Raises UsageError for options that are not for groups."""
    from odradek.client.settings import ENABLE_AUTO_COMMIT, GROUP_PROTOCOL

    if options.partition or options.offset is not None or options.since is not None:
        raise UsageError(
            "with --group, leave out --partition, --offset and --since: the group's committed offsets say"
            " where it reads; 'odradek groups reset-offsets' moves them"
        )
    if options.follow:
        raise UsageError("with --group, leave out --follow: a member of a group reads until Ctrl-C")
    commits = options.commit or ("regularly" if ENABLE_AUTO_COMMIT.of(given) else "never")
    settings: dict[str, object] = {"group.id": group, "enable.auto.commit": commits != "never"}
    if commits == "end":
        settings["auto.commit.interval.ms"] = INT32_MAX
    protocol = options.protocol or GROUP_PROTOCOL.of(given) or _protocol_of_members(config, group)
    if protocol is not None:
        settings["group.protocol"] = protocol
    if protocol == CLASSIC:
        from odradek.client.classic_assignors import ASSIGNORS

        settings["partition.assignment.strategy"] = ",".join(ASSIGNORS)
    return settings


def _protocol_of_members(config: ClientConfig, group: str) -> str | None:
    """CLASSIC for a group whose members speak that protocol, which is to stay; else the client chooses."""
    from odradek.cli.patient_admin import patient_admin
    from odradek.client.core.admin.groups import describe_group

    with patient_admin(config) as admin:
        try:
            found = admin.carry_out(describe_group(group))
        except ApiError as refused:
            if refused.code is not ErrorCode.GROUP_ID_NOT_FOUND:
                raise
            return None
    return CLASSIC if found.members and found.kind == CLASSIC else None


def _in_words(error: ApiError, settings: Mapping[str, object]) -> ApiError:
    """What a group refuses that the user has chosen."""
    protocol = settings.get("group.protocol")
    if error.code is ErrorCode.UNSUPPORTED_VERSION and protocol == CONSUMER:
        said = "reading as a group needs the consumer group protocol of Kafka 4.0 (KIP-848)"
        return ApiError(error.code, f"{said}, which this broker does not serve")
    if error.code is ErrorCode.INCONSISTENT_GROUP_PROTOCOL and protocol == CONSUMER:
        said = f"group {settings['group.id']} is in use by members that this one cannot join"
        return ApiError(error.code, said)
    return error


def _refuse_for_groups(options: Options) -> None:
    for name in ("protocol", "commit", "verbose"):
        if getattr(options, name):
            raise UsageError(f"--{name} needs --group GROUP")


def _begin(reading: Reading, options: Options, start: Start | None) -> Ends | None:
    """Assign the partitions; returns where to end, None where the command follows the log."""
    wanted = partitions_of(reading.consumer, options.topic, options.partition)
    positions, ends = starts_of(reading.consumer, wanted, start or Start(LATEST))
    reading.assign(positions)
    return None if options.follow or start is None else Ends(positions, ends)


def _print_records(
    reading: Reading, render: Callable[[ConsumerRecord], bytes], options: Options, ends: Ends | None
) -> None:
    output = sys.stdout.buffer
    shown, quiet_since = 0, time.monotonic()
    while ends is None or ends.has_left(reading):
        before, had_begun = shown, reading.has_begun
        most = BATCH if options.max_messages is None else min(BATCH, options.max_messages - shown)
        records = reading.poll(_patience_s(options, quiet_since, ends), most)
        for record in records if ends is None else ends.within(records):
            output.write(render(record))
            shown += 1
        output.flush()
        _print_news(reading, options)
        if shown == options.max_messages:
            return
        now = time.monotonic()
        if shown > before or not had_begun or reading.is_away:
            quiet_since = now
        if options.timeout is not None and now - quiet_since >= options.timeout:
            were_shown = "1 was shown" if shown == 1 else f"{shown:,} were shown"
            say(f"No record for {options.timeout:g} s; {were_shown}.", as_error=True)
            return


def _patience_s(options: Options, quiet_since: float, ends: Ends | None) -> float:
    """How long to wait for records now."""
    longest = POLL_S if ends is None else POLL_TO_END_S
    timeout_s: float | None = options.timeout
    if timeout_s is None:
        return longest
    return max(0.0, min(longest, quiet_since + timeout_s - time.monotonic()))


def _print_news(reading: Reading, options: Options) -> None:
    """Print what has happened to standard error."""
    for note in reading.notes:
        say(f"odradek: {note}", as_error=True)
    for sentence in reading.rebalances if options.verbose else ():
        say(f"odradek: {sentence}", as_error=True)
    reading.notes.clear()
    reading.rebalances.clear()


class Ends:
    """Where printing ends in each partition of the topic; a position may pass it without a record."""

    def __init__(
        self, positions: Mapping[TopicPartition, Offset], ends: Mapping[TopicPartition, Offset]
    ) -> None:
        # By partition: the next offset, and the end.
        self._left = {one: (at, ends[one]) for one, at in positions.items()}
        self._is_quiet = False

    def within(self, records: Sequence[ConsumerRecord]) -> Iterator[ConsumerRecord]:
        """Those of the records that lie before the ends; the others came later."""
        self._is_quiet = not records
        for record in records:
            one = TopicPartition(record.topic, record.partition)
            at, end = self._left[one]
            if record.offset < end:
                self._left[one] = max(at, record.offset + 1), end
                yield record
            else:
                self._left[one] = end, end

    def has_left(self, reading: Reading) -> bool:
        """Whether anything is to be read; partitions that are done are read no longer."""
        if self._is_quiet:  # what comes next may not be for readers
            self._left = {one: (reading.position(one), end) for one, (_, end) in self._left.items()}
        left = {one: (at, end) for one, (at, end) in self._left.items() if at < end}
        if left and len(left) < len(self._left):
            reading.keep({one: at for one, (at, _) in left.items()})
        self._left = left
        return bool(left)


def _renderer(options: Options) -> Callable[[ConsumerRecord], bytes]:
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
