"""How the elected controller handles a request: decides it, carries the decisions out, answers."""

from dataclasses import field

from odradek.base.chance import Chance
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.execution import LISTED_PER_STEP, Pace, Steps
from odradek.base.settings import GroupBounds
from odradek.base.values import value
from odradek.metadata import codec, paths
from odradek.metadata.controller import leader_moves
from odradek.metadata.controller.carrying_out import ITEMS_PER_DECISION, CarryingOut, Outcome
from odradek.metadata.controller.config_changes import decide_configs
from odradek.metadata.controller.controlled_cluster import ControlledCluster
from odradek.metadata.controller.decision import Decisions
from odradek.metadata.controller.deletions import TopicDeletions
from odradek.metadata.controller.partition_creation import decide_more_partitions
from odradek.metadata.controller.producer_ids import decide_producer_ids
from odradek.metadata.controller.replica_moves import ReplicaMoves
from odradek.metadata.controller.requests import (
    AllocateProducerIds,
    AlterConfigs,
    AlterReassignments,
    Answer,
    ControlledShutdown,
    ControllerRequest,
    CreatePartitions,
    CreateTopics,
    DeleteTopics,
    ElectLeaders,
    ListReassignments,
    ProducerIdBlock,
    RebalanceLeaders,
    ResourceOutcomes,
    TopicOutcomes,
)
from odradek.metadata.controller.settings_of_topics import UNCLEAN_ELECTION
from odradek.metadata.controller.topic_creation import decide_creation
from odradek.metadata.controller.topic_deletion import decide_deletion
from odradek.metadata.startup import read_document
from odradek.metadata.store import ATTEMPTS_MAX, StoreSteps


def _names_unclean_elections(request: AlterConfigs) -> Steps[bool]:
    """Whether partitions without a leader may get one by this change, at once as in Kafka."""
    pace = Pace(LISTED_PER_STEP)
    for asked in request.resources:
        for entry in asked.configs:
            if entry[0] == UNCLEAN_ELECTION:
                return True
            if pace.is_over():
                yield
    return False


@value
class ControllerSettings:
    """What the controller needs of the broker's settings."""

    num_partitions: int = 1
    default_replication_factor: int = 1
    delete_topic_enable: bool = True
    unclean_leader_election_enable: bool = False
    min_insync_replicas: int = 1
    group_bounds: GroupBounds = field(default_factory=GroupBounds)


class RequestAnswering:
    """The processes that answer requests."""

    def __init__(
        self,
        cluster: ControlledCluster,
        deletions: TopicDeletions,
        moves: ReplicaMoves,
        settings: ControllerSettings,
        chance: Chance,
    ) -> None:
        self._cluster = cluster
        self._moves = moves
        self._carrying_out = CarryingOut(cluster, deletions)
        self._settings = settings
        self._chance = chance

    def answer(self, request: ControllerRequest) -> StoreSteps[Answer]:
        """Decide a request and carry the decisions out. Raises ApiError to refuse it as a whole."""
        answer: Answer
        match request:
            case CreateTopics():
                answer = yield from self._create_topics(request)
            case DeleteTopics():
                answer = yield from self._delete_topics(request)
            case CreatePartitions():
                answer = yield from self._create_partitions(request)
            case AlterConfigs():
                answer = yield from self._alter_configs(request)
            case AllocateProducerIds():
                answer = yield from self._allocate_producer_ids(request)
            case ElectLeaders():
                answer = yield from leader_moves.elect(self._cluster, request)
            case AlterReassignments():
                answer = yield from self._moves.alter(request)
            case ListReassignments():
                answer = yield from self._moves.list(request)
            case ControlledShutdown():
                answer = yield from leader_moves.shut_down(self._cluster, request)
            case RebalanceLeaders():
                answer = yield from leader_moves.rebalance(self._cluster, request)
        yield from self._cluster.flush()
        return answer

    def _create_topics(self, request: CreateTopics) -> StoreSteps[TopicOutcomes]:
        decisions = decide_creation(
            self._cluster.image,
            request,
            self._chance,
            num_partitions=self._settings.num_partitions,
            default_replication_factor=self._settings.default_replication_factor,
        )
        if request.validate_only:
            return TopicOutcomes((yield from _outcomes(decisions)))
        outcomes = yield from self._carrying_out.carry_out(decisions, ErrorCode.TOPIC_ALREADY_EXISTS)
        return TopicOutcomes(outcomes)

    def _create_partitions(self, request: CreatePartitions) -> StoreSteps[TopicOutcomes]:
        decisions = decide_more_partitions(self._cluster.image, request)
        if request.validate_only:
            return TopicOutcomes((yield from _outcomes(decisions)))
        outcomes = yield from self._carrying_out.carry_out(decisions, ErrorCode.UNKNOWN_SERVER_ERROR)
        return TopicOutcomes(outcomes)

    def _delete_topics(self, request: DeleteTopics) -> StoreSteps[TopicOutcomes]:
        enabled = self._settings.delete_topic_enable
        decisions = decide_deletion(self._cluster.image, request, deletion_enabled=enabled)
        outcomes = yield from self._carrying_out.carry_out(decisions, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return TopicOutcomes(outcomes)

    def _alter_configs(self, request: AlterConfigs) -> StoreSteps[ResourceOutcomes]:
        decisions = decide_configs(self._cluster.image, request, self._settings.group_bounds)
        if request.validate_only:
            return ResourceOutcomes((yield from _outcomes(decisions)))
        outcomes = yield from self._carrying_out.carry_out(decisions, ErrorCode.UNKNOWN_SERVER_ERROR)
        if (yield from _names_unclean_elections(request)):
            yield from self._cluster.settle_leaderless()
        return ResourceOutcomes(outcomes)

    def _allocate_producer_ids(self, request: AllocateProducerIds) -> StoreSteps[ProducerIdBlock]:
        broker = self._cluster.image.brokers.get(request.broker_id)
        if broker is None:
            said = f"broker {request.broker_id} is not registered"
            raise ApiError(ErrorCode.BROKER_ID_NOT_REGISTERED, said)
        if broker.epoch != request.broker_epoch:
            said = f"broker {request.broker_id} is registered with another epoch"
            raise ApiError(ErrorCode.STALE_BROKER_EPOCH, said)
        for _ in range(ATTEMPTS_MAX):
            last = yield from read_document(paths.PRODUCER_ID_BLOCK, codec.decode_producer_id_block)
            if last is None:
                decision = decide_producer_ids(request.broker_id, None, 0)
            else:
                decision = decide_producer_ids(request.broker_id, last.value, last.stat.version)
            failed = yield from self._cluster.writes.commit(decision.writes)
            if failed is None:
                return decision.outcome
        raise ApiError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "others keep taking producer ids; try again")


def _outcomes(decisions: Decisions[Outcome]) -> StoreSteps[tuple[Outcome, ...]]:
    """The outcomes of the decisions if none is carried out."""
    outcomes: list[Outcome] = []
    pace = Pace()
    for decision in decisions:
        if decision is None:
            yield None
            continue
        outcomes.append(decision.outcome)
        if pace.is_over(ITEMS_PER_DECISION):
            yield None
    return tuple(outcomes)
