"""Reads the input of `odradek produce`: lines, JSON objects or whole files.

Input is read in chunks of the bytes available: lines of a slow program are sent one by one, those of a fast
one in large batches.
"""

import base64
import binascii
import json
import os
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from odradek.base.errors import OdradekError
from odradek.base.system_errors import reason_of
from odradek.cli.moments import INT64_MAX
from odradek.client.core.producer.outgoing import Outgoing
from odradek.records.framing import RecordHeaders
from odradek.records.header import NO_TIMESTAMP

CHUNK_BYTES = 64 << 10
LINE_SHOWN_MAX = 60
_JSON_FIELDS = {"key", "key_base64", "value", "value_base64", "headers", "partition", "timestamp"}
# Fields that `odradek consume --json` adds; ignored here.
_JSON_IGNORED = {"topic", "offset", "timestamp_type", "leader_epoch"}


@dataclass(frozen=True, slots=True)
class LineRules:
    """How a line becomes a record."""

    topic: str
    key_separator: bytes | None = None
    """The separator after the key at the start of each line; None: lines have no keys."""
    key: bytes | None = None
    """The key of every record, without a separator."""
    null_marker: bytes | None = None
    """The text that stands for null."""
    headers: RecordHeaders = ()
    partition: int | None = None


@contextmanager
def open_input(path: str | None) -> Iterator[int]:
    """Open a file, or standard input for "-" and None; yields its descriptor. Raises OdradekError."""
    if path in (None, "-"):
        yield sys.stdin.fileno()
        return
    assert path is not None
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError as error:
        raise OdradekError(f"cannot read {path}: {reason_of(error)}") from error
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def lines_of(descriptor: int) -> Iterator[list[bytes]]:
    """Yields lists of the lines available at once, without line ends; blocks for the first of each list."""
    rest = b""
    while chunk := _read(descriptor):
        *lines, rest = (rest + chunk).split(b"\n")
        if lines:
            yield [line.removesuffix(b"\r") for line in lines]
    if rest:
        yield [rest.removesuffix(b"\r")]


def has_more(descriptor: int) -> bool:
    """Whether reading returns at once: there is more, or the end."""
    return bool(select.select([descriptor], [], [], 0)[0])


def whole(descriptor: int) -> bytes:
    """Everything up to the end."""
    chunks = []
    while chunk := _read(descriptor):
        chunks.append(chunk)
    return b"".join(chunks)


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, CHUNK_BYTES)
    except OSError as error:
        raise OdradekError(f"cannot read the input: {reason_of(error)}") from error


def record_of_line(line: bytes, rules: LineRules) -> Outgoing:
    """Returns the record of a line. Raises OdradekError for a line without the separator."""
    key, value = rules.key, line
    if rules.key_separator is not None:
        key, found, value = line.partition(rules.key_separator)
        if not found:
            separator = rules.key_separator.decode(errors="replace")
            said = f"in: {_shown(line)}" if line else "in an empty line"
            raise OdradekError(f"there is no key separator '{separator}' {said}")
    return Outgoing(
        rules.topic,
        _unless_null(value, rules),
        _unless_null(key, rules),
        rules.headers,
        rules.partition,
        None,
    )


def record_of_json(line: bytes, rules: LineRules) -> Outgoing:
    """The record that a JSON object describes, as `odradek consume --json` prints it. Raises OdradekError."""
    try:
        given = json.loads(line)
    except json.JSONDecodeError as error:
        wrong = f"{error.msg[:1].lower()}{error.msg[1:]} at column {error.colno}"
        raise OdradekError(f"this is not JSON ({wrong}): {_shown(line)}") from error
    except RecursionError:
        raise OdradekError(f"this JSON is nested too deeply: {_shown(line)}") from None
    except ValueError as error:
        raise OdradekError(f"this is not JSON ({error}): {_shown(line)}") from error
    if not isinstance(given, dict):
        raise OdradekError(f"this is not a JSON object: {_shown(line)}")
    unknown = sorted(given.keys() - _JSON_FIELDS - _JSON_IGNORED)
    if unknown:
        known = ", ".join(sorted(_JSON_FIELDS))
        raise OdradekError(f"the JSON object has the field {unknown[0]}; known are {known}: {_shown(line)}")
    try:
        key = _bytes(given, "key")
        headers = tuple(_header(one) for one in given.get("headers") or ())
        partition = given.get("partition", rules.partition)
        if not isinstance(partition, int | None) or isinstance(partition, bool):
            raise ValueError("its partition is not a number")
        timestamp_ms = given.get("timestamp")
        if not isinstance(timestamp_ms, int | None) or isinstance(timestamp_ms, bool):
            raise ValueError("its timestamp is not a number of milliseconds")
        if timestamp_ms is not None and not NO_TIMESTAMP <= timestamp_ms <= INT64_MAX:
            raise ValueError("its timestamp is out of range")
        value = _bytes(given, "value")
    except ValueError as error:
        raise OdradekError(f"the JSON object cannot be sent, {error}: {_shown(line)}") from error
    return Outgoing(
        rules.topic,
        value,
        rules.key if key is None else key,
        (*rules.headers, *headers),
        partition,
        timestamp_ms,
    )


def _bytes(given: dict[str, Any], name: str) -> bytes | None:
    """Text as UTF-8, base64 as its bytes, other JSON values as JSON. Raises ValueError."""
    if f"{name}_base64" in given:
        try:
            return base64.b64decode(given[f"{name}_base64"], validate=True)
        except (binascii.Error, TypeError, ValueError):
            raise ValueError(f"its {name}_base64 is not base64") from None
    value = given.get(name)
    if value is None:
        return None
    try:
        return value.encode() if isinstance(value, str) else json.dumps(value).encode()
    except UnicodeEncodeError:
        raise ValueError(f"its {name} is not Unicode text") from None


def _header(given: object) -> tuple[bytes, bytes | None]:
    if isinstance(given, list) and len(given) == 2 and isinstance(given[0], str):
        given = {"name": given[0], "value": given[1]}
    if not isinstance(given, dict) or not isinstance(given.get("name"), str):
        raise ValueError('its headers are not a list of {"name": ..., "value": ...}')
    return given["name"].encode(), _bytes(given, "value")


def _unless_null(content: bytes | None, rules: LineRules) -> bytes | None:
    return None if rules.null_marker is not None and content == rules.null_marker else content


def _shown(line: bytes) -> str:
    return line[:LINE_SHOWN_MAX].decode(errors="replace")
