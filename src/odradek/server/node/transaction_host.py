"""The host of the transaction coordinator in its broker: writes its markers and runs its periodic work.

A marker is appended like any other batch.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import Later, Slices, Steps
from odradek.base.ids import TopicPartition
from odradek.base.settings import BrokerSettings
from odradek.base.topic_names import OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC
from odradek.records.control import EndTxnMarker, build_marker
from odradek.replication.append import ACKS_ALL, Batches
from odradek.replication.outcomes import AppendOutcomes
from odradek.replication.replica_manager import ReplicaManager
from odradek.server.node.coordinator_host import CoordinatorHost
from odradek.server.node.coordinator_log import CoordinatorLog
from odradek.server.node.group_host import GroupHost
from odradek.server.node.internal_topic import InternalTopicSpec, TopicMaking
from odradek.server.node.ports import Surroundings
from odradek.server.node.producer_ids import ProducerIds
from odradek.storage import Origin

if TYPE_CHECKING:
    from odradek.coordinator.transactions import Marker, TransactionCoordinator
    from odradek.server.node.transaction_admission import LogOf, TransactionAdmission

TRANSACTION_KEY_TYPE: Final = 1
"""FindCoordinator's number for transactional ids."""
MARKER_TIMEOUT_MS: Final = 30_000

_log = logging.getLogger(__name__)


class TransactionHost(CoordinatorHost["TransactionCoordinator"]):
    """The transaction coordinator of one broker, if it was needed, and what it uses."""

    def __init__(
        self,
        surroundings: Surroundings,
        making: TopicMaking,
        replicas: ReplicaManager,
        settings: Callable[[], BrokerSettings],
        *,
        producer_ids: ProducerIds,
        groups: GroupHost,
        slices: Slices,
        log_of: "LogOf",
    ) -> None:
        """`log_of` returns the log of a partition that is hosted here."""
        super().__init__(_topic_spec(settings()), surroundings, making, replicas, settings, slices)
        self._producer_ids = producer_ids
        # The groups own the offsets that are committed in transactions.
        self._groups = groups
        # Whether the image has had every topic of the cluster.
        self._knows_topics = False
        self._log_of = log_of
        self._admission: TransactionAdmission | None = None
        """Created when it is first needed, as the coordinator is."""

    @property
    def admission(self) -> "TransactionAdmission":
        """Decides which partitions a producer may write to in its transaction."""
        if self._admission is None:
            from odradek.server.node.transaction_admission import TransactionAdmission

            self._admission = TransactionAdmission(
                self._log_of,
                lambda: self.coordinator,
                lambda: self._settings().transaction_partition_verification_enable,
            )
        return self._admission

    def _make(self, log: CoordinatorLog) -> "TransactionCoordinator":
        from odradek.coordinator.transactions import TransactionCoordinator

        return TransactionCoordinator(
            self._settings,
            writer=log,
            reader=log,
            markers=self,
            take_producer_id=self._producer_ids.take,
            partition_count=lambda: self.topic.partition_count,
            clock=self._surroundings.clock,
            timer=self._surroundings.timer,
            run_steps=self._run_steps,
        )

    def on_topics_known(self) -> None:
        """Called when the image has every topic of the cluster."""
        self._knows_topics = True

    def describe(self) -> Iterator[dict[str, Any]]:
        """Describe every transactional id that this broker coordinates, with what it waits for."""
        if self._made is None:
            return iter(())
        from odradek.coordinator.transactions.inspection import describe_transactions

        return describe_transactions(self._made.store, self._surroundings.clock.wall_ms())

    def abort_timed_out(self) -> None:
        """Abort the transactions that have timed out."""
        if self._made is not None:
            self._made.abort_timed_out()

    def remove_expired(self) -> None:
        """Forget the transactional ids that have not been used for `transactional.id.expiration.ms`."""
        if self._made is not None:
            self._made.remove_expired()

    # --- markers

    def is_gone(self, topic_partition: TopicPartition) -> bool:
        """See `MarkerWriter.is_gone`.

        A broker that starts gets LeaderAndIsr before its first UpdateMetadata: until then a partition that it
        does not know may exist, and does not count as deleted.
        """
        is_known = self._image.partition(topic_partition) or self._replicas.partition(topic_partition)
        return self._knows_topics and not is_known

    def write_markers(
        self,
        marker: "Marker",
        partitions: Sequence[TopicPartition],
        later: Later[Mapping[TopicPartition, ErrorCode]],
    ) -> Mapping[TopicPartition, ErrorCode] | None:
        """See `MarkerWriter.write_markers`; writes to partitions led here, the others get an error.

        The marker of a `__consumer_offsets` partition must wait while that is loaded: it might be missed.
        """
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
                            timestamp_ms=self._surroundings.clock.wall_ms(),
                        ),
                    )

        def errors_of(outcomes: AppendOutcomes) -> Mapping[TopicPartition, ErrorCode]:
            for (topic, index), outcome in outcomes.items():
                if topic == OFFSETS_TOPIC and outcome.error_code is ErrorCode.NONE:
                    groups.complete_transaction(
                        index, marker.producer.producer_id, committed=marker.committed
                    )
            return {one: outcome.error_code for one, outcome in outcomes.items()}

        def steps() -> Steps[Mapping[TopicPartition, ErrorCode] | None]:
            outcomes = yield from self._replicas.append_in_steps(
                batches(),
                acks=ACKS_ALL,
                timeout_ms=MARKER_TIMEOUT_MS,
                later=lambda outcomes: later(errors_of(outcomes)),
                origin=Origin.COORDINATOR,
                internal_allowed=True,
            )
            return None if outcomes is None else errors_of(outcomes)

        def failed(error: Exception) -> None:
            """A bug of ours; the write is retried."""
            _log.error("the markers of %s were not written", marker.producer, exc_info=error)
            later(dict.fromkeys(partitions, ErrorCode.UNKNOWN_SERVER_ERROR))

        return self._slices.result_of(steps(), later, failed)


def _topic_spec(settings: BrokerSettings) -> InternalTopicSpec:
    return InternalTopicSpec(
        TRANSACTION_STATE_TOPIC,
        settings.transaction_state_log_num_partitions,
        settings.transaction_state_log_replication_factor,
        {
            "cleanup.policy": "compact",
            "compression.type": "uncompressed",
            "min.insync.replicas": str(settings.transaction_state_log_min_isr),
            "segment.bytes": str(settings.transaction_state_log_segment_bytes),
            "unclean.leader.election.enable": "false",
        },
    )
