"""`odradek produce`: sends lines, JSON objects or whole files as records."""

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from odradek.base.errors import ApiError, OdradekError
from odradek.cli.command_line import Command, Options, UsageError, flag, number, option, positional, seconds
from odradek.cli.connecting import CONNECTION, client_settings
from odradek.cli.output import say
from odradek.cli.record_input import (
    LineRules,
    has_more,
    lines_of,
    open_input,
    record_of_json,
    record_of_line,
    whole,
)
from odradek.cli.waiting import WaitingNotice
from odradek.client.choices import ACKS, CODECS
from odradek.client.core.producer.outgoing import Outgoing

if TYPE_CHECKING:
    from odradek.cli.sending import Sending

FORMATS = ("lines", "json", "whole")
_DEFAULTS: Final = {
    "batch.size": 128 << 10,
    # A topic is waited for so long; there is always memory.
    "max.block.ms": 10_000,
    # The broker says which records are too large.
    "max.request.size": 100 << 20,
    "buffer.memory": 256 << 20,
}
_WITHOUT: Final = ("linger.ms", "transactional.id", "transaction.timeout.ms")
"""Settings of a producer that this command has no use for: each line is sent at once, by itself."""


def produce(options: Options) -> None:
    """Send records, and print how many were acknowledged."""
    from odradek.cli.sending import Sending  # with the client: 100 ms that help does not need

    rules = _rules(options)
    with Sending(_settings(options), options.topic) as sending, WaitingNotice(sending):
        sending.open()
        if sending.has_made_topic:
            say(f"odradek: {_made(sending, options.topic)}", as_error=True)
        try:
            _send_files(sending, options, rules)
        except OdradekError as error:
            with suppress(KeyboardInterrupt):  # who does not wait for the rest is told the error, too
                sending.settle()
            said = f"{error}; {_sent(sending)} before that"
            raise (
                ApiError(error.code, said) if isinstance(error, ApiError) else OdradekError(said)
            ) from error
        except KeyboardInterrupt:
            perhaps = f", and perhaps {sending.unanswered:,} more" if sending.unanswered else ""
            say(f"odradek: interrupted; {_sent(sending)} before that{perhaps}", as_error=True)
            raise
    if not options.quiet:
        say(f"{_sent(sending)} to {options.topic}.", as_error=True)


def _settings(options: Options) -> dict[str, object]:
    """Those of the producer: options, else the properties file, else what suits a command."""
    from odradek.client.settings import DELIVERY_TIMEOUT_MS, Client

    config, settings = client_settings(options, Client.PRODUCER, without=_WITHOUT)
    delivery_ms = DELIVERY_TIMEOUT_MS.of(settings)
    if options.timeout is not None:
        delivery_ms = max(1, round(options.timeout * 1000))
    chosen: dict[str, object] = {
        "delivery.timeout.ms": delivery_ms,
        "request.timeout.ms": min(config.request_timeout_ms, delivery_ms),
        "linger.ms": 0,
    }
    if options.compression is not None:
        chosen["compression.type"] = options.compression
    if options.acks is not None:
        chosen["acks"] = options.acks
    return {**_DEFAULTS, **settings, **chosen}


def _send_files(sending: "Sending", options: Options, rules: LineRules) -> None:
    for path in options.file or ["-"]:
        with open_input(path) as descriptor:
            named = "" if path == "-" else f"{path}, "
            for records in _records(descriptor, options.format, rules, named):
                _send(sending, records, options.rate)
                if not has_more(descriptor):
                    sending.flush()  # an error is told before the next line is waited for
    sending.flush()


def _records(descriptor: int, form: str, rules: LineRules, named: str) -> Iterator[list[Outgoing]]:
    """Yields the records of the input, in lists of those available at once.

    Raises OdradekError, whose message begins with `named` and the number of the line.
    """
    if form == "whole":
        whole_rules = replace(rules, key_separator=None)
        yield [record_of_line(whole(descriptor), whole_rules)]
        return
    record_of, before = record_of_json if form == "json" else record_of_line, 0
    for lines in lines_of(descriptor):
        records = []
        for place, line in enumerate(lines, before + 1):
            try:
                if form != "json" or line.strip():
                    records.append(record_of(line, rules))
            except OdradekError as error:
                raise OdradekError(f"{named}line {place:,}: {error}") from error
        before += len(lines)
        yield records


def _send(sending: "Sending", records: list[Outgoing], rate: int | None) -> None:
    """Send them; with `rate`, at most that many per second."""
    if rate is None:
        sending.send(records)
        return
    at_once = max(1, rate // 10)
    for begin in range(0, len(records), at_once):
        started = time.monotonic()
        part = records[begin : begin + at_once]
        sending.send(part)
        sending.flush()
        time.sleep(max(0.0, len(part) / rate - (time.monotonic() - started)))


def _made(sending: "Sending", topic: str) -> str:
    count = sending.partition_count
    partitions = "1 partition" if count == 1 else f"{count:,} partitions"
    return f"topic {topic} did not exist and was created, with {partitions}"


def _sent(sending: "Sending") -> str:
    count = sending.acknowledged
    return "1 record was sent" if count == 1 else f"{count:,} records were sent"


def _rules(options: Options) -> LineRules:
    if options.key is not None and options.key_separator is not None:
        raise UsageError("odradek produce takes one of --key and --key-separator")
    if options.key_separator is not None and options.format != "lines":
        raise UsageError(f"--key-separator is for lines, not for --format {options.format}")
    if options.key_separator == "":
        raise UsageError("--key-separator is a text of at least one character, not ''")
    return LineRules(
        options.topic,
        _bytes(options.key_separator),
        _bytes(options.key),
        _bytes(options.null_marker),
        tuple(options.header),
        options.partition,
    )


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode()


def _header(text: str) -> tuple[bytes, bytes | None]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise ValueError("given as NAME=VALUE")
    return name.encode(), value.encode()


COMMAND = Command(
    "produce",
    "Send lines of the standard input, or of files, as records.",
    produce,
    (
        positional("topic", "the topic's name", completes="topic"),
        option(
            "--file",
            help="read this file instead of the standard input",
            metavar="FILE",
            many=True,
            completes="file",
        ),
        option(
            "--format",
            help="what becomes a record: each line, each line of JSON, or a whole file",
            metavar="FORMAT",
            choices=FORMATS,
            default="lines",
            shown_default="lines",
        ),
        option("--key-separator", "-K", help="the text between key and value in each line", metavar="TEXT"),
        option("--key", "-k", help="the key of every record", metavar="KEY"),
        option(
            "--header", "-H", help="a header of every record", metavar="NAME=VALUE", kind=_header, many=True
        ),
        option(
            "--null-marker",
            "-Z",
            help="a key or value that is this text is null: a tombstone",
            metavar="TEXT",
        ),
        option(
            "--partition",
            "-p",
            help="the partition of every record",
            metavar="N",
            kind=number(0, (1 << 31) - 1),
            shown_default="chosen by key as Kafka's Java client does, without a key for each batch",
        ),
        option("--compression", "-z", help="how batches are compressed", metavar="CODEC", choices=CODECS),
        option(
            "--acks",
            help="the replicas that must have a record before it is acknowledged",
            metavar="ACKS",
            choices=ACKS,
            shown_default="all",
        ),
        option(
            "--timeout",
            help="fail when records are not acknowledged for this many seconds",
            metavar="SECONDS",
            kind=seconds,
            shown_default="120, or delivery.timeout.ms",
        ),
        option("--rate", help="send at most this many records per second", metavar="N", kind=number(1)),
        flag("--quiet", "-q", help="do not say how many records were sent"),
        *CONNECTION,
    ),
    details="Each line is sent as soon as it is read, in a batch with the lines that are there. Records are"
    " written exactly once unless --acks is 0 or 1. If something fails, the error says how many records were"
    " acknowledged."
    "\n\n"
    "A line of JSON is an object with key, value, headers, partition and timestamp, all optional, as"
    " 'odradek consume --json' prints it; key_base64 and value_base64 hold bytes. An object whose value is"
    " null or missing becomes a tombstone.",
    examples=(
        "printf 'JFK=on time\\nLHR=late\\n' | odradek produce flights --key-separator =",
        "printf 'JFK=\\n' | odradek produce flights --key-separator = --null-marker ''",
        'echo \'{"key": "JFK", "value": {"delay": 5}}\' | odradek produce flights --format json',
        "odradek produce pictures --format whole --file cat.png --key cat",
    ),
)
