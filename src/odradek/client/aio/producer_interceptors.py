"""What sees records pass from an application to its producer, and learns what becomes of them.

    record = interceptors.sent(record)                     what is added instead of what the application sent
    interceptors.acknowledged("flights", receipt, None)    it is stored
    interceptors.acknowledged("flights", None, error)      it is not, or nobody knows

Invariants: what an interceptor raises is logged and changes nothing, nor does a record that it returns and
that cannot be sent. Each record that `sent` has returned is told once.
"""

import logging
from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.client.aio.deliveries import Receipt
from odradek.client.aio.record_arguments import outgoing
from odradek.client.core.producer.outgoing import Outgoing
from odradek.records.framing import NamedHeaders, named

_log: Final = logging.getLogger("odradek.producer")


class ProducerRecord(NamedTuple):
    """A record that an application sends."""

    topic: str
    value: bytes | None
    key: bytes | None
    headers: NamedHeaders
    partition: int | None
    """None: the partitioner decides."""
    timestamp_ms: int | None
    """None: the time when it is added."""


class ProducerInterceptor(Protocol):
    """Sees what passes; what it raises is logged."""

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        """The record that is sent instead of this one; `record._replace(value=...)` makes another."""

    def on_acknowledgement(self, topic: str, receipt: Receipt | None, error: Exception | None) -> None:
        """A record is stored at `receipt`, or `error` has kept it from being acknowledged."""


class ProducerInterceptors:
    """See the module."""

    def __init__(self, interceptors: Sequence[ProducerInterceptor]) -> None:
        """They see a record one after the other."""
        self._interceptors: Final = tuple(interceptors)

    def __bool__(self) -> bool:
        """Whether there is any."""
        return bool(self._interceptors)

    def check_none(self) -> None:
        """Raise ApiError if there is any: it would not see the rows of tables and lists."""
        if self._interceptors:
            said = "interceptors see no rows: a producer that has any sends records one by one"
            raise ApiError(ErrorCode.INVALID_REQUEST, said)

    def sent(self, record: Outgoing) -> Outgoing:
        """What they make of a record."""
        for one in self._interceptors:
            try:
                record = _checked(one.on_send(record_of(record)))
            except Exception:
                _log.exception("an interceptor failed; its record is sent as it was")
        return record

    def acknowledged(self, topic: str, receipt: Receipt | None, error: Exception | None) -> None:
        """Tell what has become of a record."""
        for one in self._interceptors:
            try:
                one.on_acknowledgement(topic, receipt, error)
            except Exception:
                _log.exception("an interceptor failed")


def record_of(record: Outgoing) -> ProducerRecord:
    """A record as interceptors see it."""
    topic, value, key, headers, partition, timestamp_ms = record
    return ProducerRecord(topic, value, key, named(headers), partition, timestamp_ms)


def _checked(record: ProducerRecord) -> Outgoing:
    """What an interceptor has made of a record. Raises TypeError and ApiError, as `outgoing` does."""
    if not isinstance(record, ProducerRecord):
        raise TypeError(f"an interceptor returns a ProducerRecord, not {type(record).__name__}")
    return outgoing(*record)
