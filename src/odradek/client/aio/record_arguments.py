"""The records that applications give producers, checked before anything is done with them."""

from collections.abc import Iterable, Mapping

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.topic_names import NAME_CHARACTERS_MAX
from odradek.client.aio.arguments import check_topic, whole_of
from odradek.client.core.producer.outgoing import Outgoing
from odradek.records.framing import LONG_MAX, RecordHeaders

Headers = Mapping[str, bytes | None] | Iterable[tuple[str, bytes | None]] | None
"""None, as other clients have it by default, means none."""


def outgoing(
    topic: str,
    value: bytes | None,
    key: bytes | None,
    headers: Headers,
    partition: int | None,
    timestamp_ms: int | None,
) -> Outgoing:
    """A record to send. Raises ApiError for numbers that cannot be, TypeError for what is of another type."""
    if not isinstance(topic, str) or not topic.isascii() or not topic or len(topic) > NAME_CHARACTERS_MAX:
        check_record_topic(topic)
    encoded = _encoded(headers) if headers is not None and headers != () else ()
    if key is not None and not isinstance(key, bytes):
        raise _not_bytes("key", key)
    if value is not None and not isinstance(value, bytes):
        raise _not_bytes("value", value)
    if partition is not None:
        partition = whole_of("the partition of a record", partition)
        if partition < 0:
            raise ApiError(ErrorCode.INVALID_PARTITIONS, f"partition {partition} is below 0")
    if timestamp_ms is not None:
        timestamp_ms = whole_of("the timestamp of a record", timestamp_ms)
        if not 0 <= timestamp_ms <= LONG_MAX:
            said = f"timestamp {timestamp_ms} is not from 0 to {LONG_MAX}"
            raise ApiError(ErrorCode.INVALID_TIMESTAMP, said)
    # Without the call of the class, which takes as long as all the checks above.
    return tuple.__new__(Outgoing, (topic, value, key, encoded, partition, timestamp_ms))


def interrupted() -> ApiError:
    """The error of a record whose call was cancelled before it was added."""
    return ApiError(ErrorCode.REQUEST_TIMED_OUT, "not sent: the call was interrupted")


def check_record_topic(topic: str) -> None:
    """Refuse what no request can carry: metadata of it would be asked for, in vain, with that of others."""
    if not isinstance(topic, str):
        raise TypeError(f"the topic of a record is a str, not {type(topic).__name__}")
    try:
        check_topic(topic)
    except ValueError as fault:
        raise ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, str(fault)) from None


def _encoded(headers: Mapping[str, bytes | None] | Iterable[tuple[str, bytes | None]]) -> RecordHeaders:
    try:
        pairs = tuple(headers.items() if isinstance(headers, Mapping) else headers)
    except TypeError:
        raise _no_headers(headers) from None
    for pair in pairs:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise _no_headers(pair)
        name, content = pair
        if not isinstance(name, str):
            raise TypeError(f"the name of a header is a str, not {type(name).__name__}")
        if content is not None and not isinstance(content, bytes):
            raise _not_bytes(f"header {name}", content)
    return tuple((name.encode(), content) for name, content in pairs)


def _no_headers(given: object) -> TypeError:
    return TypeError(f"headers are a dict, or a list of pairs of a name and a value, not {given!r}")


def _not_bytes(name: str, content: object) -> TypeError:
    return TypeError(f"the {name} of a record is bytes or None, not {type(content).__name__}")
