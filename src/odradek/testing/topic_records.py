"""Records as a test writes and reads them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeAlias

from odradek.client.core.consumer.completed_fetch import ConsumerRecord
from odradek.records.framing import NamedHeaders, Record, named

Content: TypeAlias = bytes | str | None
"""A key or a value as a test passes it; str is encoded as UTF-8."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class TestRecord:
    """One record of a topic."""

    __test__ = False  # pytest would take it for a class of tests

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: NamedHeaders
    timestamp: datetime
    """In UTC, to the millisecond."""

    @property
    def text(self) -> str:
        """The value as UTF-8. Raises ValueError for a tombstone and for other bytes."""
        if self.value is None:
            raise ValueError(f"{self.topic}-{self.partition} holds a tombstone at {self.offset}")
        return self.value.decode()

    def json(self) -> Any:  # noqa: ANN401 - whatever the value holds
        """The value read as JSON. Raises ValueError."""
        return json.loads(self.text)


def of_log(topic: str, partition: int, record: Record) -> TestRecord:
    """A record of a batch."""
    _, timestamp_ms, key, value, headers = record
    return TestRecord(topic, partition, record.offset, key, value, named(headers), _moment(timestamp_ms))


def of_consumer(record: ConsumerRecord) -> TestRecord:
    """A record that a consumer would get, without deserializers."""
    topic, partition, offset, timestamp_ms, key, value, headers, _, _ = record
    assert key is None or isinstance(key, bytes)
    assert value is None or isinstance(value, bytes)
    return TestRecord(topic, partition, offset, key, value, headers, _moment(timestamp_ms))


def _moment(timestamp_ms: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=timestamp_ms)


def as_bytes(content: Content) -> bytes | None:
    """Encode a key or a value. Raises TypeError for anything but bytes, str and None."""
    if content is None or isinstance(content, bytes):
        return content
    if isinstance(content, str):
        return content.encode()
    raise TypeError(f"a key or a value is bytes, str or None, not {content!r}")


def header_bytes(headers: Mapping[str, Content] | None) -> tuple[tuple[bytes, bytes | None], ...]:
    """Headers as they are sent."""
    return tuple((name.encode(), as_bytes(value)) for name, value in (headers or {}).items())
