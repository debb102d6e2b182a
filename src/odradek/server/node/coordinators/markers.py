"""Writes the markers of transactions: to the partitions led here, and through the leaders of the others.

    write_markers     of this broker's coordinator: to each partition, wherever its leader is
    append_markers    to partitions led here: a part of the above, and what WriteTxnMarkers asks for

A partition's leader may change at any time. It answers for each partition, and a partition that has no marker
yet gets it from the coordinator again, by then of its next leader.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from odradek.base.clock import Clock
from odradek.base.error_codes import ErrorCode
from odradek.base.execution import Later, Slices, Steps
from odradek.base.ids import NO_BROKER, BrokerId, TopicPartition
from odradek.base.topic_names import OFFSETS_TOPIC
from odradek.metadata.image import ClusterImage
from odradek.records.control import EndTxnMarker, build_marker
from odradek.replication.append import ACKS_ALL, Batches
from odradek.replication.outcomes import AppendOutcomes
from odradek.replication.replica_manager import ReplicaManager
from odradek.server.node.coordinators.group_host import GroupHost
from odradek.server.node.peer_batches import PARTITIONS_MAX, PeerBatches
from odradek.storage import Origin

if TYPE_CHECKING:
    from odradek.coordinator.transactions import Marker
    from odradek.server.node.coordinators.marker_requests import MarkerItem

MARKER_TIMEOUT_MS: Final = 30_000
"""How long a marker may take to reach the in-sync replicas before its partition counts as unmarked."""
ROUTED_PER_STEP: Final = 200
"""How many partitions' leaders are looked up in one step."""

_log = logging.getLogger(__name__)

_Outcome: TypeAlias = Mapping[TopicPartition, ErrorCode]


class Markers:
    """The partitions of the cluster, as its transaction coordinators write to them; a `MarkerWriter`."""

    def __init__(
        self,
        broker_id: BrokerId,
        image: ClusterImage,
        replicas: ReplicaManager,
        groups: GroupHost,
        slices: Slices,
        clock: Clock,
        batches: Callable[[], "PeerBatches[MarkerItem]"],
    ) -> None:
        """`batches` returns what goes to other brokers."""
        self._broker_id = broker_id
        self._image = image
        self._replicas = replicas
        # The groups own the offsets that are committed in transactions.
        self._groups = groups
        self._slices = slices
        self._clock = clock
        self._batches = batches
        # Whether the image has had every topic of the cluster.
        self._knows_topics = False

    def on_topics_known(self) -> None:
        """Called when the image has every topic of the cluster."""
        self._knows_topics = True

    def is_gone(self, topic_partition: TopicPartition) -> bool:
        """See `MarkerWriter.is_gone`.

        A broker that starts gets LeaderAndIsr before its first UpdateMetadata: until then a partition that it
        does not know may exist, and does not count as deleted.
        """
        is_known = self._image.partition(topic_partition) or self._replicas.partition(topic_partition)
        return self._knows_topics and not is_known

    # --- for this broker's coordinator

    def write_markers(
        self,
        marker: "Marker",
        partitions: Sequence[TopicPartition],
        is_wanted: Callable[[], bool],
        written: Later[_Outcome],
    ) -> _Outcome:
        """See `MarkerWriter.write_markers`."""

        def failed(error: Exception) -> None:
            """A bug of ours; the write is retried."""
            _log.error("the markers of %s were not written", marker.producer, exc_info=error)
            written(dict.fromkeys(partitions, ErrorCode.UNKNOWN_SERVER_ERROR))

        steps = self._write(marker, partitions, is_wanted, written)
        return self._slices.result_of(steps, written, failed) or {}

    def _write(
        self,
        marker: "Marker",
        partitions: Sequence[TopicPartition],
        is_wanted: Callable[[], bool],
        written: Later[_Outcome],
    ) -> Steps[_Outcome | None]:
        here: list[TopicPartition] = []
        elsewhere: dict[BrokerId, list[TopicPartition]] = {}
        known: dict[TopicPartition, ErrorCode] = {}
        for count, topic_partition in enumerate(partitions, 1):
            leader = self._leader_of(topic_partition)
            if leader == self._broker_id:
                here.append(topic_partition)
            elif leader == NO_BROKER:
                known[topic_partition] = ErrorCode.LEADER_NOT_AVAILABLE
            else:
                elsewhere.setdefault(leader, []).append(topic_partition)
            if count % ROUTED_PER_STEP == 0:
                yield
        for leader, theirs in elsewhere.items():
            yield from self._send(leader, marker, theirs, is_wanted, written)
        if here:
            known.update((yield from self._append(marker, here, written)) or {})
        return known or None

    def _leader_of(self, topic_partition: TopicPartition) -> BrokerId:
        """The leader, or NO_BROKER while none is known that lives."""
        hosted = self._replicas.partition(topic_partition)
        if hosted is not None and hosted.leadership is not None:
            return self._broker_id
        state = self._image.partition(topic_partition)
        if state is None or state.leader == self._broker_id or not self._image.is_live(state.leader):
            return NO_BROKER
        return state.leader

    def _send(
        self,
        leader: BrokerId,
        marker: "Marker",
        partitions: Sequence[TopicPartition],
        is_wanted: Callable[[], bool],
        written: Later[_Outcome],
    ) -> Steps[None]:
        from odradek.server.node.coordinators.marker_requests import MarkerItem

        for begin in range(0, len(partitions), PARTITIONS_MAX):
            part = partitions[begin : begin + PARTITIONS_MAX]
            self._batches().send(leader, MarkerItem(marker, part, is_wanted, written))
            yield

    # --- for the partitions led here

    def append_markers(
        self, marker: "Marker", partitions: Sequence[TopicPartition], later: Later[_Outcome]
    ) -> _Outcome | None:
        """Write a marker to partitions led here; the outcome has all of them, those led elsewhere too.

        The marker of a `__consumer_offsets` partition must wait while that is loaded: it might be missed.
        """

        def failed(error: Exception) -> None:
            """A bug of ours; the coordinator sends the marker again."""
            _log.error("the markers of %s were not written", marker.producer, exc_info=error)
            later(dict.fromkeys(partitions, ErrorCode.UNKNOWN_SERVER_ERROR))

        return self._slices.result_of(self._append(marker, partitions, later), later, failed)

    def _append(
        self, marker: "Marker", partitions: Sequence[TopicPartition], later: Later[_Outcome]
    ) -> Steps[_Outcome | None]:
        groups = self._groups.coordinator

        def batches() -> Iterator[tuple[TopicPartition, Batches]]:
            """The batches to append; each partition is checked when its turn comes."""
            for one in partitions:
                if one.topic == OFFSETS_TOPIC and groups.is_loading(one.partition):
                    yield one, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
                else:
                    yield (
                        one,
                        build_marker(
                            EndTxnMarker(marker.committed, marker.coordinator_epoch),
                            producer_id=marker.producer.producer_id,
                            producer_epoch=marker.producer.epoch,
                            timestamp_ms=self._clock.wall_ms(),
                        ),
                    )

        def errors_of(outcomes: AppendOutcomes) -> _Outcome:
            for (topic, index), outcome in outcomes.items():
                if topic == OFFSETS_TOPIC and outcome.error_code is ErrorCode.NONE:
                    groups.complete_transaction(
                        index, marker.producer.producer_id, committed=marker.committed
                    )
            return {one: outcome.error_code for one, outcome in outcomes.items()}

        outcomes = yield from self._replicas.append_in_steps(
            batches(),
            acks=ACKS_ALL,
            timeout_ms=MARKER_TIMEOUT_MS,
            later=lambda outcomes: later(errors_of(outcomes)),
            origin=Origin.NEXT_EPOCH if marker.begins_next_epoch else Origin.COORDINATOR,
            internal_allowed=True,
        )
        return None if outcomes is None else errors_of(outcomes)
