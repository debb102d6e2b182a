"""WriteTxnMarkers to the leaders of partitions, with the markers of several transactions in one request."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from odradek.base.error_codes import ErrorCode, known_code
from odradek.base.execution import Steps, stepwise
from odradek.base.ids import TopicPartition, by_topic
from odradek.coordinator.transactions import Marker
from odradek.wire.message import Message

Written: TypeAlias = Callable[[Mapping[TopicPartition, ErrorCode]], None]
"""Called with the outcome of some of a marker's partitions."""


class MarkerItem:
    """A marker for partitions that one broker leads; an `Item` of `PeerBatches`."""

    __slots__ = ("_is_over", "_is_wanted", "_written", "marker", "partitions")

    def __init__(
        self,
        marker: Marker,
        partitions: Sequence[TopicPartition],
        is_wanted: Callable[[], bool],
        written: Written,
    ) -> None:
        self.marker = marker
        self.partitions = partitions
        self._is_wanted = is_wanted
        self._written = written
        # Whether `written` was called.
        self._is_over = False

    @property
    def key(self) -> int:
        """See `Item.key`: the answer names producers."""
        return self.marker.producer.producer_id

    @property
    def size(self) -> int:
        """See `Item.size`."""
        return len(self.partitions)

    @property
    def is_wanted(self) -> bool:
        """See `Item.is_wanted`: another coordinator may have taken over."""
        return self._is_wanted()

    def refuse(self, code: ErrorCode) -> None:
        """See `Item.refuse`."""
        self.end(dict.fromkeys(self.partitions, code))

    def end(self, outcome: Mapping[TopicPartition, ErrorCode]) -> None:
        """Report the outcome, if none was reported yet."""
        if not self._is_over:
            self._is_over = True
            self._written(outcome)


class MarkerRequests:
    """The API WriteTxnMarkers; a `Kind` of `PeerBatches`."""

    def to_message(self, items: Sequence[MarkerItem]) -> Steps[Message]:
        """See `Kind.to_message`."""
        from odradek.wire.messages.write_txn_markers import (
            WritableTxnMarker,
            WritableTxnMarkerTopic,
            WriteTxnMarkersRequest,
        )

        request = WriteTxnMarkersRequest()
        for item in items:
            marker = item.marker
            topics = by_topic(item.partitions)
            yield
            request.markers.append(
                WritableTxnMarker(
                    *marker.producer,
                    marker.committed,
                    [WritableTxnMarkerTopic(name, numbers) for name, numbers in topics.items()],
                    marker.coordinator_epoch,
                    marker.version,
                )
            )
        return request

    def read(self, items: Sequence[MarkerItem], answer: Message) -> Steps[None]:
        """See `Kind.read`."""
        return _read(items, answer)


def _read(items: Sequence[MarkerItem], answer: Any) -> Steps[None]:  # noqa: ANN401 - WriteTxnMarkersResponse
    results = {marker.producer_id: marker for marker in answer.markers}
    yield
    for item in items:
        outcome = dict.fromkeys(item.partitions, ErrorCode.UNKNOWN_SERVER_ERROR)
        result = results.get(item.key)
        for topic in () if result is None else result.topics:
            codes = yield from stepwise(
                topic.partitions,
                lambda row, name=topic.name: (  # type: ignore[misc]
                    TopicPartition(name, row.partition_index),
                    known_code(row.error_code),
                ),
            )
            outcome.update(codes)
        item.end(outcome)
        yield
