"""Moves the leadership of a partition, or a coordinator, to a broker that a test chooses.

A leader is chosen as a person would: the broker becomes the first of the partition's replicas, which is the
preferred leader, and that one is elected. So it stays there when leaders are rebalanced.
"""

import time
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.ids import BrokerId, TopicPartition
from odradek.base.topic_names import OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC
from odradek.client.administering import Admin, administering
from odradek.client.cluster_state import ClusterPartition
from odradek.client.configuration import ClientConfig
from odradek.client.core.admin.cluster import Election, coordinator_of, elect_leaders
from odradek.client.core.admin.cluster_states import partition_states
from odradek.client.core.admin.reassignments import alter_partition_reassignments
from odradek.client.core.operation import Operation
from odradek.client.core.requests import CoordinatorKind
from odradek.coordinator.placement import partition_for
from odradek.net.request_pipeline import ConnectionFailed

T = TypeVar("T")

_LOOK_S: Final = 0.02
_AWAY: Final = {ErrorCode.NOT_CONTROLLER, ErrorCode.NETWORK_EXCEPTION}


def move_leader(
    config: ClientConfig, partition: TopicPartition, to: BrokerId | None, timeout_s: float
) -> BrokerId:
    """Let a replica lead a partition, by default the preferred leader; returns it when it leads.

    Raises ApiError if it has no replica or is not in sync, and with REQUEST_TIMED_OUT if it does not lead in
    time.
    """
    with administering(config, tries_again=False) as admin:
        return _moved(admin, partition, to, time.monotonic() + timeout_s)


def move_coordinator(
    config: ClientConfig, kind: CoordinatorKind, key: str, to: BrokerId | None, timeout_s: float
) -> BrokerId:
    """Let a broker coordinate a group or transactional id, by default another one that is in sync.

    All that share its partition move with it. Returns the broker. Raises as `move_leader`.
    """
    deadline_s = time.monotonic() + timeout_s
    with administering(config, tries_again=False) as admin:
        topic = OFFSETS_TOPIC if kind is CoordinatorKind.GROUP else TRANSACTION_STATE_TOPIC
        while _coordinator(admin, kind, key) is None:  # asking makes the topic, where it is missing
            _wait(deadline_s, f"nobody coordinates {kind.name.lower()} {key!r} in time")
        partitions, _ = admin.carry_out(partition_states([topic]))
        named = TopicPartition(topic, partition_for(key, len(partitions)))
        state = _state_of(admin, named)
        if to is None:
            to = next((one for one in state.isr if one != state.leader), state.leader)
        _moved(admin, named, to, deadline_s)
        while _coordinator(admin, kind, key) != to:
            _wait(deadline_s, f"broker {to} does not coordinate {kind.name.lower()} {key!r} in time")
        return to


def _moved(admin: Admin, partition: TopicPartition, to: BrokerId | None, deadline_s: float) -> BrokerId:
    state = _state_of(admin, partition)
    wanted = state.replicas[0] if to is None else to
    if wanted not in state.replicas:
        raise ApiError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"broker {wanted} has no replica of {partition}: its replicas are on {_listed(state.replicas)}",
        )
    if wanted not in state.isr:
        raise ApiError(
            ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
            f"broker {wanted} is not in sync for {partition}: in sync are {_listed(state.isr)}",
        )
    if state.replicas[0] != wanted:
        others = [one for one in state.replicas if one != wanted]
        _decided(admin, lambda: alter_partition_reassignments({partition: (wanted, *others)}), deadline_s)
        while _state_of(admin, partition).replicas[0] != wanted:
            _wait(deadline_s, f"broker {wanted} is not the preferred leader of {partition} in time")
    for result in _decided(admin, lambda: elect_leaders(Election.PREFERRED, [partition]), deadline_s):
        if result.code not in (ErrorCode.NONE, ErrorCode.ELECTION_NOT_NEEDED):
            raise ApiError(result.code, f"{partition}: {result.message}")
    while _state_of(admin, partition).leader != wanted:
        _wait(deadline_s, f"broker {wanted} does not lead {partition} in time")
    return wanted


def _decided(admin: Admin, ask: Callable[[], Operation[T]], deadline_s: float) -> T:
    """What the controller says, also where the last one has just ended and another one is to be found."""
    while True:
        try:
            return admin.carry_out(ask())
        except ApiError as error:
            # Of elements that are refused together only the code says that the controller is away.
            is_away = isinstance(error, ConnectionFailed) or error.code in _AWAY
            if not is_away or time.monotonic() > deadline_s:
                raise
        time.sleep(_LOOK_S)


def _state_of(admin: Admin, partition: TopicPartition) -> ClusterPartition:
    for one in admin.carry_out(partition_states([partition.topic]))[0]:
        if one.topic_partition == partition:
            return one
    raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no partition {partition}")


def _coordinator(admin: Admin, kind: CoordinatorKind, key: str) -> BrokerId | None:
    """None while there is none."""
    try:
        return admin.carry_out(coordinator_of(kind, key))
    except ApiError as error:
        if error.code is not ErrorCode.COORDINATOR_NOT_AVAILABLE:
            raise
        return None


def _wait(deadline_s: float, otherwise: str) -> None:
    if time.monotonic() > deadline_s:
        raise ApiError(ErrorCode.REQUEST_TIMED_OUT, otherwise)
    time.sleep(_LOOK_S)


def _listed(broker_ids: Sequence[BrokerId]) -> str:
    return ", ".join(map(str, broker_ids))
