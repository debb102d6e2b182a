"""The host of the transaction coordinator in its broker: its periodic work, and the way to the other brokers.

Coordinators and the leaders of partitions ask each other:

    markers      a coordinator's, to the leaders of a transaction's partitions (`markers`)
    admission    a leader's question to the coordinator of a transactional id (`any_transaction_coordinator`)
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from odradek.base.execution import Slices
from odradek.base.ids import BrokerId
from odradek.base.settings import BrokerSettings
from odradek.base.topic_names import TRANSACTION_STATE_TOPIC
from odradek.replication.replica_manager import ReplicaManager
from odradek.server.node.coordinators.coordinator_host import CoordinatorHost
from odradek.server.node.coordinators.coordinator_log import CoordinatorLog
from odradek.server.node.coordinators.group_host import GroupHost
from odradek.server.node.coordinators.internal_topic import InternalTopicSpec, TopicMaking
from odradek.server.node.coordinators.markers import Markers
from odradek.server.node.coordinators.producer_ids import ProducerIds
from odradek.server.node.peer_batches import I, Kind, PeerBatches
from odradek.server.node.ports import Surroundings

if TYPE_CHECKING:
    from odradek.coordinator.transactions import TransactionCoordinator
    from odradek.server.node.coordinators.any_transaction_coordinator import Question
    from odradek.server.node.coordinators.marker_requests import MarkerItem
    from odradek.server.node.coordinators.transaction_admission import LogOf, TransactionAdmission

TRANSACTION_KEY_TYPE: Final = 1
"""FindCoordinator's number for transactional ids."""


class TransactionHost(CoordinatorHost["TransactionCoordinator"]):
    """The transaction coordinator of one broker, if it was needed, and what it uses."""

    def __init__(
        self,
        broker_id: BrokerId,
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
        super().__init__(
            _topic_spec(settings()),
            surroundings,
            making,
            replicas,
            settings,
            slices,
            last_module="odradek.coordinator.transactions.transaction_coordinator",
        )
        self._producer_ids = producer_ids
        self.markers = Markers(
            broker_id,
            self._image,
            replicas,
            groups,
            slices,
            surroundings.clock,
            lambda: self._markers_out,
        )
        """Writes markers to the partitions of the cluster."""
        self._log_of = log_of
        self._broker_id = broker_id
        self._sent_markers: PeerBatches[MarkerItem] | None = None
        """Markers for partitions led elsewhere; created with the first."""
        self._admission: TransactionAdmission | None = None
        """Created when it is first needed, as the coordinator is."""
        self._questions: PeerBatches[Question] | None = None
        """What other coordinators are asked; created when a broker asks its first one."""

    @property
    def admission(self) -> "TransactionAdmission":
        """Decides which partitions a producer may write to in its transaction."""
        if self._admission is None:
            from odradek.server.node.coordinators.any_transaction_coordinator import AnyTransactionCoordinator
            from odradek.server.node.coordinators.transaction_admission import TransactionAdmission

            asked = AnyTransactionCoordinator(
                self._broker_id, self.topic, lambda: self.coordinator, lambda: self._questions_out
            )
            self._admission = TransactionAdmission(
                self._log_of,
                asked,
                lambda: self._settings().transaction_partition_verification_enable,
            )
        return self._admission

    @property
    def _questions_out(self) -> "PeerBatches[Question]":
        if self._questions is None:
            from odradek.server.node.coordinators.any_transaction_coordinator import Questions

            self._questions = self._batches(Questions())
        return self._questions

    @property
    def _markers_out(self) -> "PeerBatches[MarkerItem]":
        if self._sent_markers is None:
            from odradek.server.node.coordinators.marker_requests import MarkerRequests

            self._sent_markers = self._batches(MarkerRequests())
        return self._sent_markers

    def _batches(self, kind: Kind[I]) -> PeerBatches[I]:
        return PeerBatches(
            kind,
            self._surroundings.connect_peers,
            self._image.is_live,
            self._slices,
            lambda: self._settings().request_timeout_ms,
        )

    def on_order_obeyed(self) -> None:
        """See `commanded_broker.OrderObserver`."""
        for batches in (self._questions, self._sent_markers):
            if batches is not None:
                batches.refuse_gone()

    def close(self) -> None:
        """The broker stops: producers that wait for a coordinator elsewhere are to ask again."""
        if self._questions is not None:
            self._questions.close()

    def _make(self, log: CoordinatorLog) -> "TransactionCoordinator":
        from odradek.coordinator.transactions import TransactionCoordinator

        return TransactionCoordinator(
            self._settings,
            writer=log,
            reader=log,
            markers=self.markers,
            take_producer_id=self._producer_ids.take,
            partition_count=lambda: self.topic.partition_count,
            clock=self._surroundings.clock,
            timer=self._surroundings.timer,
            run_steps=self._run_steps,
        )

    def on_topics_known(self) -> None:
        """Called when the image has every topic of the cluster."""
        self.markers.on_topics_known()

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


def _topic_spec(settings: BrokerSettings) -> InternalTopicSpec:
    return InternalTopicSpec(
        TRANSACTION_STATE_TOPIC,
        settings.transaction_state_log_num_partitions,
        settings.transaction_state_log_replication_factor,
        "transaction.state.log.replication.factor",
        {
            "cleanup.policy": "compact",
            "compression.type": "uncompressed",
            "min.insync.replicas": str(settings.transaction_state_log_min_isr),
            "segment.bytes": str(settings.transaction_state_log_segment_bytes),
            "unclean.leader.election.enable": "false",
        },
    )
