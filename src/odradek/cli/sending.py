"""Sends the records of `odradek produce` with a producer, and knows at any time how many were acknowledged.

    with Sending(settings, "flights") as sending:
        sending.open()              returns when the topic is there
        sending.send(records)       returns when they are on their way; waits where many are already
        sending.flush()             returns when all are acknowledged
    sending.acknowledged            how many the brokers have; also after an error

Each call of `send` makes batches of its own, which are sent at once.
"""

import time
from collections import deque
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Final, Self

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.client.aio.record_lists import ListDelivery
from odradek.client.blocking.producer import Producer
from odradek.client.core.producer.outgoing import Outgoing

_LISTS_MAX: Final = 4
"""How many lists are on their way at once, so that the next one is made while the last one is sent."""


class Sending:
    """Raises ApiError if a broker refuses records, or is not reached in time.

    A `with` block closes it. What it waits for may be read by another thread meanwhile.
    """

    def __init__(self, settings: Mapping[str, object], topic: str) -> None:
        """`settings` are those of a producer. Raises SettingError."""
        self._topic = topic
        self._producer = Producer(settings=settings)
        # The lists with records that have no outcome, the oldest first, and when each was begun.
        self._pending: deque[tuple[ListDelivery, float]] = deque()
        # The acknowledged records of lists that have ended, and the first error.
        self._acknowledged = 0
        self._error: ApiError | None = None
        # Since when the topic is waited for; None while it is not.
        self._opening_since_s: float | None = None
        self.partition_count = 0
        """The number of the topic's partitions."""
        self.has_made_topic = False
        """Whether the broker created the topic for these records."""

    # --- what it waits for: any thread

    @property
    def acknowledged(self) -> int:
        """How many records were acknowledged (with acks=0: sent)."""
        return self._acknowledged + sum(one.acknowledged for one, _ in list(self._pending))

    @property
    def unanswered(self) -> int:
        """How many were sent and have no outcome; each may be stored or not."""
        return sum(one.unanswered for one, _ in list(self._pending))

    @property
    def waiting_since_s(self) -> float | None:
        """Since when the oldest records are unacknowledged, or the topic is waited for; None: nothing is."""
        begun = [begun_s for one, begun_s in list(self._pending) if one.unanswered]
        return min(begun, default=self._opening_since_s)

    @property
    def subject(self) -> str:
        """What has lasted since then, in words; see `odradek.cli.waiting`."""
        if self._opening_since_s is not None:
            return f"records have waited for topic {self._topic}"
        count = self.unanswered
        return f"{'1 record has' if count == 1 else f'{count:,} records have'} not been acknowledged"

    @property
    def obstacle(self) -> str:
        """Why what it waits for does not come; "" if nothing is known to keep it."""
        causes = self._producer.why()
        return str(causes[0]) if causes else ""

    # --- sending

    def open(self) -> None:
        """Wait until the topic is known, which the brokers may make now.

        Raises ConnectionFailed at once if no broker answers, ApiError after `max.block.ms`.
        """
        known = self._producer.partition_count(self._topic)
        self._opening_since_s = time.monotonic()
        self.partition_count = len(self._producer.partitions_for(self._topic))
        self._opening_since_s = None
        self.has_made_topic = known is None

    def send(self, records: Sequence[Outgoing]) -> None:
        """Send these, together. Raises the first error of those before, when all of them have an outcome."""
        for record in records:
            if record.partition is not None and not 0 <= record.partition < self.partition_count:
                raise self._no_partition(record.partition)
        while len(self._pending) >= _LISTS_MAX:
            self._wait_for_oldest()
        self._raise_error()
        delivery = ListDelivery(len(records))
        self._pending.append((delivery, time.monotonic()))
        self._producer.append_all(records, delivery)

    def flush(self) -> None:
        """Return when all are acknowledged. Raises the first error, when all have an outcome."""
        while self._pending:
            self._wait_for_oldest()
        self._raise_error()

    def settle(self) -> None:
        """Return when all have an outcome, of which one may be an error."""
        while self._pending:
            self._wait_for_oldest()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it; after an error at once, what has no outcome then is dropped."""
        self._producer.close(None if error is None else 0)

    # --- helpers

    def _wait_for_oldest(self) -> None:
        delivery, _ = self._pending[0]
        delivery.ended.result()
        self._pending.popleft()
        self._acknowledged += delivery.acknowledged
        self._error = self._error or delivery.error

    def _raise_error(self) -> None:
        if self._error is not None:
            self.settle()
            raise self._error

    def _no_partition(self, number: int) -> ApiError:
        count = self.partition_count
        existing = "partition 0 only" if count == 1 else f"partitions 0 to {count - 1}"
        return ApiError(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            f"there is no partition {number} of topic {self._topic}: it has {existing}",
        )
