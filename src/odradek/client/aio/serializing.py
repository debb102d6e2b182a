"""Makes records to send of what an application gives a producer: keys and values may be its own objects.

    make = record_maker(str.encode, json_bytes)
    make("orders", {"lamps": 2}, "k", (), None, None)       checked, as `outgoing` does it

None stays None: a record without a key, or without a value.
"""

from collections.abc import Callable
from typing import Any, Protocol

from odradek.client.aio.record_arguments import Headers, outgoing
from odradek.client.core.producer.outgoing import Outgoing

Serializer = Callable[[Any], bytes | None]
"""Makes bytes of a key or a value; it does not get None."""


class RecordMaker(Protocol):
    """Raises what a serializer raises, and as `outgoing`."""

    def __call__(
        self,
        topic: str,
        value: Any,  # noqa: ANN401  # whatever the serializers take
        key: Any,  # noqa: ANN401
        headers: Headers,
        partition: int | None,
        timestamp_ms: int | None,
        /,
    ) -> Outgoing:
        """The record."""


def record_maker(key_serializer: Serializer | None, value_serializer: Serializer | None) -> RecordMaker:
    """`outgoing`, behind the serializers if there are any. Raises TypeError for what is no function."""
    _check("key_serializer", key_serializer)
    _check("value_serializer", value_serializer)
    if key_serializer is None and value_serializer is None:
        return outgoing

    def make(
        topic: str,
        value: object,
        key: object,
        headers: Headers,
        partition: int | None,
        timestamp_ms: int | None,
        /,
    ) -> Outgoing:
        return outgoing(
            topic,
            _serialized("value_serializer", value_serializer, value),
            _serialized("key_serializer", key_serializer, key),
            headers,
            partition,
            timestamp_ms,
        )

    return make


def _check(name: str, serializer: object) -> None:
    if serializer is not None and not callable(serializer):
        raise TypeError(f"{name} is a function that returns bytes, not {serializer!r}")


def _serialized(name: str, serializer: Serializer | None, given: Any) -> bytes | None:  # noqa: ANN401
    if serializer is None or given is None:
        found: bytes | None = given  # checked by `outgoing`
        return found
    found = serializer(given)
    if found is not None and not isinstance(found, bytes):
        raise TypeError(f"{name} returns bytes or None, not {type(found).__name__}")
    return found
