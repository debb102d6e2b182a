"""How a record is printed: its value alone, in a format like kcat's, or as JSON without loss."""

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from odradek.base.visible import visible_json
from odradek.cli.bytes_in_json import bytes_fields
from odradek.cli.command_line import UsageError

if TYPE_CHECKING:
    from odradek.client.core.consumer.completed_fetch import ConsumerRecord

Render = Callable[["ConsumerRecord"], bytes]

_FIELDS: Mapping[str, Render] = {
    "t": lambda record: record.topic.encode(),
    "p": lambda record: b"%d" % record.partition,
    "o": lambda record: b"%d" % record.offset,
    "T": lambda record: b"%d" % record.timestamp,
    "k": lambda record: _bytes(record.key) or b"",
    "s": lambda record: _bytes(record.value) or b"",
    "K": lambda record: b"%d" % _length(record.key),
    "S": lambda record: b"%d" % _length(record.value),
    "h": lambda record: _headers(record),
    "%": lambda record: b"%",
}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "\\": "\\"}
_PARTS = re.compile(r"%(?P<field>.?)|\\(?P<escape>.)|(?P<text>[^%\\]+|\\$)", re.DOTALL)


def formatter(template: str) -> Render:
    """Returns a renderer for a template of %-fields.

    Raises UsageError for an unknown field, and for `json`, which is a format of `odradek produce` alone.
    """
    if template == "json":
        raise UsageError("--format takes a template such as '%k=%s\\n'; for JSON use --json")
    parts: list[bytes | Render] = []
    for part in _PARTS.finditer(template):
        if part["field"] is not None:
            if part["field"] not in _FIELDS:
                known = " ".join(f"%{one}" for one in _FIELDS)
                raise UsageError(f"--format has no %{part['field']}: it knows {known}")
            parts.append(_FIELDS[part["field"]])
        elif part["escape"] is not None:
            parts.append(_ESCAPES.get(part["escape"], f"\\{part['escape']}").encode())
        else:
            parts.append(part["text"].encode())
    return lambda record: b"".join(part if isinstance(part, bytes) else part(record) for part in parts)


def as_value(with_keys: bool, with_headers: bool) -> Render:
    """Returns a renderer: the value as a line, after headers and key if selected; null as an empty line."""

    def render(record: "ConsumerRecord") -> bytes:
        parts = [_headers(record)] if with_headers else []
        if with_keys:
            parts.append(_bytes(record.key) or b"")
        return b"\t".join([*parts, _bytes(record.value) or b""]) + b"\n"

    return render


def as_json(record: "ConsumerRecord", *, always_base64: bool = False) -> bytes:
    """One line of JSON with every field; bytes that are not UTF-8 are in base64, named `..._base64`."""
    shown: dict[str, Any] = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "timestamp_type": "append" if record.is_append_time else "create",
        "leader_epoch": record.leader_epoch,
        **bytes_fields("key", _bytes(record.key), always_base64),
        **bytes_fields("value", _bytes(record.value), always_base64),
        "headers": [
            {"name": name, **bytes_fields("value", value, always_base64)} for name, value in record.headers
        ],
    }
    return visible_json(shown).encode() + b"\n"


def _bytes(content: object) -> bytes | None:
    """A key or a value of a consumer without deserializers."""
    assert content is None or isinstance(content, bytes)
    return content


def _length(content: object) -> int:
    return -1 if content is None else len(_bytes(content) or b"")


def _headers(record: "ConsumerRecord") -> bytes:
    return b",".join(
        name.encode() + b"=" + (b"" if value is None else value) for name, value in record.headers
    )
