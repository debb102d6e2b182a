"""Makes an application's objects of the keys and values of records."""

from collections.abc import Callable
from typing import Any

from odradek.client.core.consumer.completed_fetch import ConsumerRecord, Convert

Deserializer = Callable[[bytes], Any]
"""Makes an object of a key or a value; it does not get null."""


def converter(key: Deserializer | None, value: Deserializer | None) -> Convert | None:
    """What applies these to a record; None if there is nothing to apply."""
    if key is None and value is None:
        return None

    def convert(record: ConsumerRecord) -> ConsumerRecord[Any, Any]:
        try:
            return record._replace(key=_apply(key, record.key), value=_apply(value, record.value))
        except Exception as error:
            place = f"{record.topic}-{record.partition} at offset {record.offset}"
            note = f"It was raised for {place}; the consumer goes on behind a seek."
            if note not in getattr(error, "__notes__", ()):
                error.add_note(note)
            raise

    return convert


def _apply(deserializer: Deserializer | None, given: bytes | None) -> Any:  # noqa: ANN401  # whatever it makes
    return given if deserializer is None or not isinstance(given, bytes) else deserializer(given)
