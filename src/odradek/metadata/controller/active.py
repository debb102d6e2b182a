"""What the elected controller does when the cluster changes: one process per event.

A process is a generator of store operations, which the core runs; its code reads as if it waited. Its effects
are, in order: the changes of the image, the orders to brokers, the answer.
"""

from collections.abc import Sequence

from odradek.base.chance import Chance
from odradek.base.error_codes import ErrorCode
from odradek.base.ids import BrokerId, TopicPartition
from odradek.metadata import codec, paths
from odradek.metadata.codec import LogDirsDocument
from odradek.metadata.controller import election
from odradek.metadata.controller.answering import ControllerSettings, RequestAnswering
from odradek.metadata.controller.controlled_cluster import ControlledCluster
from odradek.metadata.controller.decision import Put
from odradek.metadata.controller.deletions import TopicDeletions
from odradek.metadata.controller.events import BrokerAnswered
from odradek.metadata.controller.notices import delete_notices, list_notices, read_notices
from odradek.metadata.controller.replica_moves import ReplicaMoves
from odradek.metadata.controller.requests import Answer, ControllerRequest
from odradek.metadata.image import BrokerImage, BrokerRegistered, PartitionImage
from odradek.metadata.startup import load_brokers, read_document
from odradek.metadata.store import StoreRefused, StoreSteps


class ActiveController:
    """The elected controller; a new one for every election that this broker wins."""

    def __init__(self, cluster: ControlledCluster, settings: ControllerSettings, chance: Chance) -> None:
        self._cluster = cluster
        self._deletions = TopicDeletions(cluster)
        self._moves = ReplicaMoves(cluster)
        self._answering = RequestAnswering(cluster, self._deletions, self._moves, settings, chance)

    def answer(self, request: ControllerRequest) -> StoreSteps[Answer]:
        """Decide a request and carry the decisions out. Raises ApiError to refuse it as a whole."""
        return self._answering.answer(request)

    def is_deleting(self, topic: str) -> bool:
        """See `TopicDeletions.is_under_way`."""
        return self._deletions.is_under_way(topic)

    def take_over(self) -> StoreSteps[None]:
        """Give every partition a valid leader after an election, and send every broker the whole state."""
        yield from self._admit(list(self._cluster.image.brokers.values()))
        yield from self._cluster.start_new_partitions()
        yield from self._cluster.settle_all()
        for broker_id in list(self._cluster.image.brokers):
            yield from self._cluster.tell_everything(broker_id)
        for name in list(self._cluster.image.deleting):
            yield from self._deletions.start(name)
        yield from self._moves.resume()
        yield from self._cluster.flush()

    def brokers_changed(self) -> StoreSteps[None]:
        """Compare the registrations with the image: brokers that are gone, new, or registered again."""
        registered = yield from load_brokers()
        known = dict(self._cluster.image.brokers)
        gone = [
            broker_id
            for broker_id, broker in known.items()
            if broker_id not in registered or registered[broker_id].epoch != broker.epoch
        ]
        came = [
            broker
            for broker_id, broker in registered.items()
            if broker_id not in known or known[broker_id].epoch != broker.epoch
        ]
        for broker_id in gone:
            self._cluster.forget_broker(broker_id)
            self._deletions.broker_gone(broker_id)
        if gone:
            # What they led gets new leaders and orders before the rest is decided: producers wait for it.
            yield from self._cluster.settle_abandoned()
            yield from self._cluster.flush()
            yield from self._cluster.settle_all()
        for broker in came:
            self._cluster.apply(BrokerRegistered(broker))
        yield from self._admit(came)
        if came:
            yield from self._cluster.start_new_partitions()
            yield from self._cluster.settle_all()
        for broker in came:
            yield from self._cluster.tell_everything(broker.broker_id)
        if came:
            yield from self._deletions.broker_came()
        yield from self._moves.proceed()
        if gone or came:
            self._cluster.orders.brokers_changed()
        yield from self._cluster.flush()

    def partition_written(self, named: TopicPartition) -> StoreSteps[None]:
        """The state of a partition that is being reassigned was written."""
        yield from self._moves.state_changed(named)
        yield from self._cluster.flush()

    def reconnected(self) -> StoreSteps[None]:
        """Read again what is watched: the watches may have fired unheard."""
        yield from self.brokers_changed()
        yield from self._moves.resume()
        yield from self.notices()

    def notices(self) -> StoreSteps[None]:
        """R4, R6: take all notices that brokers left for the controller, and watch for more."""
        isr_changes, log_dir_events = yield from list_notices(paths.ISR_CHANGES, paths.LOG_DIR_EVENTS)
        yield from self._take_isr_changes(isr_changes)
        yield from self._take_log_dir_events(log_dir_events)

    def isr_changes(self) -> StoreSteps[None]:
        """R4: leaders announced ISR changes."""
        (notices,) = yield from list_notices(paths.ISR_CHANGES)
        yield from self._take_isr_changes(notices)

    def log_dir_events(self) -> StoreSteps[None]:
        """R6: brokers announced that a log directory failed."""
        (notices,) = yield from list_notices(paths.LOG_DIR_EVENTS)
        yield from self._take_log_dir_events(notices)

    def _take_isr_changes(self, notices: Sequence[str]) -> StoreSteps[None]:
        """R4: read the states of the partitions, update all brokers, delete the notices."""
        named = yield from read_notices(notices, codec.decode_isr_change)
        changed = dict.fromkeys(topic_partition for notice in named for topic_partition in notice)
        yield from self._cluster.refresh(changed)
        for topic_partition in changed:
            if self._cluster.image.partition(topic_partition) is not None:
                self._cluster.orders.isr_known(self._cluster.image, topic_partition)
        yield from delete_notices(self._cluster, notices)
        yield from self._cluster.flush()

    def _take_log_dir_events(self, notices: Sequence[str]) -> StoreSteps[None]:
        """R6: ask the brokers about their partitions, delete the notices.

        A notice does not say which partitions were in the directory. The broker is ordered its present roles
        again; it answers KAFKA_STORAGE_ERROR for those whose logs have failed, and for the others
        STALE_CONTROLLER_EPOCH, which changes nothing.
        """
        named = yield from read_notices(notices, codec.decode_log_dir_event)
        for broker_id in dict.fromkeys(named):
            if self._cluster.image.is_live(broker_id):
                yield from self._cluster.order_again(broker_id)
        yield from delete_notices(self._cluster, notices)
        yield from self._cluster.flush()

    def broker_answered(self, answered: BrokerAnswered) -> StoreSteps[None]:
        """Take a broker's answer: replicas deleted, disks that failed, the ends of logs without a leader.

        A replica that failed and obeys now serves again: it has begun to copy another one (R15). One that is
        in neither ISR nor ELR may do so, and refused an order of a time when it was: it is ordered once more.
        """
        broker_id, errors = answered.broker_id, answered.errors
        yield from self._deletions.answered(answered)
        failed = [named for named, error in errors.items() if error is ErrorCode.KAFKA_STORAGE_ERROR]
        if self._cluster.image.is_live(broker_id):
            newly = self._cluster.reports.note_disks(broker_id, errors, failed)
            yield from self._cluster.rewrite(failed, self._cluster.distrusted(broker_id))
            self._cluster.order_followers_again(broker_id, newly)
            leaderless = self._cluster.note_log_ends(broker_id, answered.log_ends)
            yield from self._cluster.rewrite(leaderless, self._cluster.settled)
        yield from self._cluster.flush()

    def _admit(self, brokers: Sequence[BrokerImage]) -> StoreSteps[None]:
        """R15: before newly registered brokers count as live, remove roles where records may be lost.

        All of them at once: none may be elected before it has lost its roles. The partitions of a missing log
        directory are found one by one: when ordered to lead or follow one of them, the broker answers
        KAFKA_STORAGE_ERROR. It does so for the logs that it is needed for, so the order must name the ISR
        that the store has.
        """
        returned: dict[BrokerId, bool] = {}
        is_whole = True
        for broker in brokers:
            path = paths.known_log_dirs(broker.broker_id)
            known = yield from read_document(path, codec.decode_log_dirs)
            if known is None:
                returned[broker.broker_id] = broker.clean_stop
            elif known.value.broker_epoch != broker.epoch:
                # Killed, but its machine has not been rebooted since: the page cache is intact.
                is_same_boot = broker.boot_id != "" and known.value.boot_id == broker.boot_id
                returned[broker.broker_id] = broker.clean_stop or is_same_boot
                is_whole = is_whole and set(known.value.log_dir_ids) <= set(broker.log_dir_ids)

        def readmitted(named: TopicPartition, partition: PartitionImage) -> PartitionImage | None:
            online, min_isr = self._cluster.online(named), self._cluster.settings.min_isr(named, partition)
            held_here = {one: trusted for one, trusted in returned.items() if one in partition.replicas}
            return election.readmit(partition, held_here, online, min_isr)

        held = yield from self._cluster.partitions(
            lambda state: any(replica in returned for replica in state.replicas)
        )
        if not (is_whole and all(returned.values())):
            # Their leaders may have added them to an ISR and not announced that yet (R4).
            yield from self._cluster.refresh(held)
        yield from self._cluster.rewrite(held, readmitted)
        for broker in brokers:
            if broker.broker_id in returned:
                yield from self._note_registration(broker)

    def _note_registration(self, broker: BrokerImage) -> StoreSteps[None]:
        """Write that a registration has been dealt with."""
        document = codec.encode_log_dirs(
            LogDirsDocument(broker.epoch, broker.log_dir_ids, broker.boot_id, broker.missing_dir_ids)
        )
        failed = yield from self._cluster.writes.commit(
            (Put(paths.known_log_dirs(broker.broker_id), document),)
        )
        if failed is not None:
            raise StoreRefused(failed)
