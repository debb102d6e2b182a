"""What sees records and commits pass between a consumer and its application.

Invariant: what an interceptor raises is logged and changes nothing.
"""

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

from odradek.base.ids import TopicPartition
from odradek.client.core.consumer.completed_fetch import ConsumerRecord
from odradek.client.core.offset_and_metadata import OffsetAndMetadata

_log: Final = logging.getLogger("odradek.consumer")


class ConsumerInterceptor(Protocol):
    """Sees what passes; what it raises is logged."""

    def on_consume(self, records: list[ConsumerRecord[Any, Any]]) -> list[ConsumerRecord[Any, Any]]:
        """The records that the application gets instead of these."""

    def on_commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """These were committed."""


def intercepted(
    interceptors: Sequence[ConsumerInterceptor], records: list[ConsumerRecord[Any, Any]]
) -> list[ConsumerRecord[Any, Any]]:
    """What the interceptors, one after the other, make of these records; they are not called for none."""
    for one in interceptors if records else ():
        try:
            records = one.on_consume(records)
        except Exception:
            _log.exception("an interceptor failed; its records are passed on as they were")
    return records


def tell_committed(
    interceptors: Sequence[ConsumerInterceptor], offsets: Mapping[TopicPartition, OffsetAndMetadata]
) -> None:
    """Tell every interceptor that these were committed."""
    for one in interceptors:
        try:
            one.on_commit(offsets)
        except Exception:
            _log.exception("an interceptor failed")
