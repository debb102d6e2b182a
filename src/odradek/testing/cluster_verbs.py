"""What a test asks of a cluster as its administrator: who leads, who coordinates, what is in sync."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, TypeVar

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError, OdradekError
from odradek.base.ids import BrokerId, TopicPartition
from odradek.client.core.requests import CoordinatorKind, Destination, ToAny, ToNode
from odradek.net.request_pipeline import ConnectionFailed
from odradek.testing.client_verbs import ClientVerbs
from odradek.testing.deadline import Deadline, WaitTimeout
from odradek.testing.own_client import own_client
from odradek.testing.tested_group import WAIT_S
from odradek.testing.tracebacks import ends_at_caller

if TYPE_CHECKING:
    from odradek.client.administering import Admin
    from odradek.client.cluster_state import ClusterPartition, ClusterState
    from odradek.client.configuration import ClientConfig

T = TypeVar("T")

Coordinated: TypeAlias = Literal["group", "transaction"]
"""What a coordinator is of: a consumer group, or a transactional id."""

_LOOK_S: Final = 0.02
"""How often the brokers are asked while something is waited for."""
_COMING: Final = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_CONTROLLER,
        ErrorCode.BROKER_NOT_AVAILABLE,
    }
)
"""Errors that go away by themselves while a broker has just been lost or has just come."""
_UNKNOWN_S: Final = 3.0
"""How long a topic may be unknown to the controller: one that is being created is known to it much sooner."""
_KEYS: Final = {"group": CoordinatorKind.GROUP, "transaction": CoordinatorKind.TRANSACTION}


def _key_kind(kind: str) -> CoordinatorKind:
    """Raises OdradekError for a kind that has no coordinators."""
    if kind not in _KEYS:
        raise OdradekError(f"kind is one of {', '.join(_KEYS)}, not {kind!r}")
    return _KEYS[kind]


class ClusterVerbs(ClientVerbs):
    """Base of `LocalCluster`."""

    broker_ids: tuple[BrokerId, ...]
    """The ids of the brokers, also of those that are not running."""

    # --- who does what

    @ends_at_caller
    def leader_of(self, topic: str, partition: int = 0, *, timeout: float = WAIT_S) -> BrokerId:
        """Returns the leader of a partition as soon as it has one that answers. Raises WaitTimeout.

        Raises ApiError for a partition that the controller does not know within 3 s.
        """

        def leader(admin: Admin) -> BrokerId | None:
            found = self._partition(admin, topic, partition).leader
            return found if found in self._answering_ids() else None

        return self._wait(leader, f"no broker that answers leads {topic}-{partition}", timeout)

    @ends_at_caller
    def controller(self, *, timeout: float = WAIT_S) -> BrokerId:
        """Returns the controller as soon as it is a broker that answers. Raises WaitTimeout."""

        from odradek.client.core.admin.cluster import describe_cluster

        def controller(admin: Admin) -> BrokerId | None:
            found = admin.carry_out(describe_cluster()).controller
            return found if found in self._answering_ids() else None

        return self._wait(controller, "no broker that answers is the controller", timeout)

    @ends_at_caller
    def coordinator_of(self, key: str, *, kind: Coordinated = "group", timeout: float = WAIT_S) -> BrokerId:
        """Returns the coordinator of a group or transactional id as soon as it is a broker that answers.

        Raises WaitTimeout.
        """

        return self._coordinator(_key_kind(kind), key, timeout)

    # --- moving them

    @ends_at_caller
    def move_leader(
        self, topic: str, partition: int = 0, *, to: BrokerId | None = None, timeout: float = WAIT_S
    ) -> BrokerId:
        """Let a replica lead a partition, by default the preferred one; returns it when it leads.

        `to` becomes the preferred leader, the first of the replicas. Raises ApiError if it has no replica or
        is not in sync, WaitTimeout if it does not lead in time.
        """
        from odradek.server.admin.leader_moves import move_leader

        wanted = TopicPartition(topic, partition)
        return self._move(lambda client: move_leader(client, wanted, to, timeout), timeout)

    @ends_at_caller
    def move_coordinator(
        self, key: str, *, to: BrokerId | None = None, kind: Coordinated = "group", timeout: float = WAIT_S
    ) -> BrokerId:
        """Let a broker coordinate a group or transactional id, by default another one than now.

        All groups that share its partition of `__consumer_offsets` move with it. Returns the broker when it
        coordinates. Raises ApiError if it is not in sync, WaitTimeout if it does not coordinate in time.
        """
        from odradek.server.admin.leader_moves import move_coordinator

        key_kind = _key_kind(kind)
        return self._move(lambda client: move_coordinator(client, key_kind, key, to, timeout), timeout)

    def _move(self, move: Callable[[ClientConfig], BrokerId], timeout: float) -> BrokerId:
        """Raises WaitTimeout instead of REQUEST_TIMED_OUT."""
        try:
            return move(own_client(self._servers()))
        except ApiError as error:
            if error.code is not ErrorCode.REQUEST_TIMED_OUT:
                raise
            raise WaitTimeout(f"{error}: after {timeout:g} s") from None

    @ends_at_caller
    def wait_in_sync(self, topic: str | None = None, *, timeout: float = WAIT_S) -> None:
        """Returns when all replicas of a topic, or of all topics, are in sync as every broker knows it.

        Every broker must run. Raises WaitTimeout, which names the partitions that are not in sync.
        """
        deadline, behind = Deadline(timeout), ["nothing is known yet"]
        while not deadline.is_over():
            states = [self._state_of(one) for one in self.broker_ids]
            behind = [
                f"broker {one} does not answer"
                for one, state in zip(self.broker_ids, states, strict=True)
                if state is None
            ]
            known = [state for state in states if state is not None]
            behind += sorted(
                {text for state in known for text in _behind(state, topic, len(self.broker_ids))}
            )
            if not behind:
                return
            time.sleep(_LOOK_S)
        raise WaitTimeout(f"not in sync after {timeout:g} s: {'; '.join(behind)}")

    # --- within

    @abstractmethod
    def address_of(self, broker_id: BrokerId) -> str:
        """host:port of one broker."""

    @abstractmethod
    def _answering_ids(self) -> Sequence[BrokerId]:
        """The brokers that run, and are neither paused nor isolated from the metadata store."""

    def _coordinator(self, kind: CoordinatorKind, key: str, timeout: float) -> BrokerId:
        from odradek.client.core.admin.cluster import coordinator_of

        def coordinator(admin: Admin) -> BrokerId | None:
            found = admin.carry_out(coordinator_of(kind, key))
            return found if found in self._answering_ids() else None

        otherwise = f"no broker that answers coordinates the {kind.name.lower()} {key!r}"
        return self._wait(coordinator, otherwise, timeout)

    def _state_of(self, broker_id: BrokerId) -> ClusterState | None:
        """What one broker knows; None if it does not answer."""
        from odradek.client.administering import administering
        from odradek.client.core.admin.cluster_states import cluster_state

        if broker_id not in self._answering_ids():
            return None
        try:
            with administering(own_client(self.address_of(broker_id)), tries_again=False) as admin:
                return admin.carry_out(cluster_state(ToNode(broker_id)))
        except (ConnectionFailed, ApiError):
            return None

    def _partition(self, admin: Admin, topic: str, partition: int) -> ClusterPartition:
        """What a broker knows, or else the controller. Raises ApiError, for `_wait`, if it is not known."""
        from odradek.client.core.admin.cluster import describe_cluster

        try:
            return _found(admin, TopicPartition(topic, partition), ToAny())
        except ApiError as refused:
            if refused.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise
        controller = admin.carry_out(describe_cluster()).controller
        if controller not in self._answering_ids():
            raise ApiError(ErrorCode.NOT_CONTROLLER, "no broker that answers is the controller")
        return _found(admin, TopicPartition(topic, partition), ToNode(controller))

    def _wait(self, ask: Callable[[Admin], T | None], otherwise: str, timeout: float) -> T:
        """Returns the first answer that is not None. Raises WaitTimeout, and ApiError for what stays."""
        from odradek.client.administering import administering

        deadline, last = Deadline(timeout), ""
        unknown: Deadline | None = None
        while not deadline.is_over():
            try:
                with administering(own_client(self._servers()), tries_again=False) as admin:
                    found = ask(admin)
                if found is not None:
                    return found
            except ConnectionFailed as failed:
                last = f": {failed}"
            except ApiError as refused:
                if refused.code not in _COMING:
                    raise
                last = f": {refused}"
                if refused.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                    unknown = None
                elif unknown is None:
                    unknown = Deadline(_UNKNOWN_S)
                elif unknown.is_over():
                    raise
            time.sleep(_LOOK_S)
        raise WaitTimeout(f"{otherwise} after {timeout:g} s{last}")


def _found(admin: Admin, wanted: TopicPartition, at: Destination) -> ClusterPartition:
    from odradek.client.core.admin.cluster_states import partition_states

    for one in admin.carry_out(partition_states([wanted.topic], at=at))[0]:
        if one.topic_partition == wanted:
            return one
    raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no partition {wanted}")


def _behind(state: ClusterState, topic: str | None, brokers: int) -> list[str]:
    """What is still missing in the state that a broker knows, each in a few words."""
    partitions = [one for one in state.partitions if topic in (None, one.topic_partition.topic)]
    found = [
        f"{one.topic_partition} has replicas {one.replicas}, of which {one.isr} are in sync"
        for one in partitions
        if one.missing or one.leader not in one.isr
    ]
    if topic is not None and not partitions:
        found.append(f"there is no topic {topic}")
    if len(state.brokers) < brokers:
        found.append(f"{len(state.brokers)} of {brokers} brokers are known")
    return found
