"""Records as a test writes and reads them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeAlias

from odradek.client.record_reader import FetchedRecord
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


def of_log(topic: str, partition: int, record: Record | FetchedRecord) -> TestRecord:
    """Returns a record that was read from a batch."""
    return TestRecord(
        topic,
        partition,
        record.offset,
        record.key,
        record.value,
        named(record.headers),
        _EPOCH + timedelta(milliseconds=record.timestamp_ms),
    )


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
