"""Moves replicas to other log directories of their brokers, for `cluster reassign --file`.

As Kafka's tool does: the directories are asked for before any replica moves to another broker, so that a new
replica is made where it is to be, and once more when the controller has decided, for replicas that are made
meanwhile.
"""

import time
from collections.abc import Iterable, Mapping
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.cli.directory_plan import DirectoryMove, is_in_place
from odradek.cli.move_plan import numbered
from odradek.cli.progress_lines import ProgressLines
from odradek.client.administering import Admin
from odradek.client.core.admin.log_dirs import (
    ReplicaLogDir,
    TopicPartitionReplica,
    log_directories_there,
    move_directories_there,
)

BEGIN_S: Final = 10.0
"""How long a new replica may take to appear on its broker; as long as Kafka's tool waits."""
AGAIN_S: Final = 0.1
LOOK_S: Final = 1.0
_ABSENT: Final = frozenset({ErrorCode.REPLICA_NOT_AVAILABLE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION})
"""The broker does not have the replica yet, and makes it in that directory."""
_WORDS: Final = {
    ErrorCode.LOG_DIR_NOT_FOUND: "the broker has no such log directory",
    ErrorCode.KAFKA_STORAGE_ERROR: "the log directory is offline",
    ErrorCode.BROKER_NOT_AVAILABLE: "the broker does not answer",
}


def ask_for(admin: Admin, moves: Iterable[DirectoryMove]) -> list[TopicPartitionReplica]:
    """Let the brokers begin; returns the replicas that they do not have yet. Raises ApiError."""
    absent = []
    wanted = {one.replica: one.path for one in moves}
    for replica, code in admin.carry_out(move_directories_there(wanted)).items():
        if code in _ABSENT:
            absent.append(replica)
        elif code is not ErrorCode.NONE:
            raise ApiError(code, f"{replica} does not change its directory: {_WORDS.get(code, code.name)}")
    return absent


def ask_until_begun(admin: Admin, moves: Iterable[DirectoryMove]) -> None:
    """`ask_for` until the brokers have all replicas. Raises ApiError, also after 10 s."""
    left = {one.replica: one for one in moves}
    deadline_s = time.monotonic() + BEGIN_S
    while left:
        absent = ask_for(admin, left.values())
        left = {one: left[one] for one in absent}
        if left and time.monotonic() >= deadline_s:
            code, path = ErrorCode.REPLICA_NOT_AVAILABLE, left[absent[0]].path
            raise ApiError(code, f"{absent[0]} is not there after {BEGIN_S:g} s; it will be made in {path}")
        if left:
            time.sleep(AGAIN_S)


def follow_directories(admin: Admin, moves: Iterable[DirectoryMove]) -> dict[TopicPartitionReplica, str]:
    """Returns when no replica is on its way any more: those that are not in their directories, and why."""
    planned = {one.replica: one.path for one in moves}
    left, otherwise = dict(planned), dict[TopicPartitionReplica, str]()
    lines = ProgressLines()
    try:
        while True:
            places = _places(admin, left)
            for replica, place in places.items():
                if is_in_place(place, left[replica]):
                    del left[replica]
                elif place.future_path != left[replica]:
                    otherwise[replica] = _elsewhere(place)
                    del left[replica]
            if not left:
                return otherwise
            lines.print(_progress(len(planned), left, places))
            time.sleep(LOOK_S)
    finally:
        lines.end()


def give_up(
    admin: Admin, replicas: Iterable[TopicPartitionReplica]
) -> dict[TopicPartitionReplica, ErrorCode]:
    """Let replicas that are on their way stay where they are; returns what the brokers answer of each."""
    back = {}
    for replica, place in _places(admin, dict.fromkeys(replicas, "")).items():
        if place.path is not None and place.future_path is not None:
            back[replica] = place.path
    return admin.carry_out(move_directories_there(back))


def directory_states(
    admin: Admin, wanted: Mapping[TopicPartitionReplica, str]
) -> dict[TopicPartitionReplica, str]:
    """What is to be said of each replica that is not in its directory."""
    places = _places(admin, wanted)
    found = {}
    for replica, path in wanted.items():
        place = places.get(replica)
        if place is None:
            found[replica] = f"broker {replica.broker_id} does not answer"
        elif place.future_path == path:
            found[replica] = f"broker {replica.broker_id}: moves to {path}, {_records(place.future_lag)} left"
        elif not is_in_place(place, path):
            found[replica] = f"broker {replica.broker_id}: {_elsewhere(place)}"
    return found


def _places(
    admin: Admin, wanted: Mapping[TopicPartitionReplica, str]
) -> dict[TopicPartitionReplica, ReplicaLogDir]:
    """Without the replicas of brokers that do not answer."""
    found: dict[TopicPartitionReplica, ReplicaLogDir] = {}
    for broker in admin.carry_out(log_directories_there(wanted)).values():
        found |= broker.places
    return found


def _progress(
    count: int,
    left: Mapping[TopicPartitionReplica, str],
    places: Mapping[TopicPartitionReplica, ReplicaLogDir],
) -> str:
    lag = sum(max(0, places[one].future_lag) for one in left if one in places)
    line = f"{count - len(left):,} of {numbered(count, 'replica')} in their log directories"
    silent = sorted({one.broker_id for one in left if one not in places})
    waiting = [f"waiting for broker {one}, which does not answer" for one in silent]
    return "; ".join([f"{line}, {_records(lag)} left", *waiting])


def _records(lag: int) -> str:
    return numbered(max(0, lag), "record")


def _elsewhere(place: ReplicaLogDir) -> str:
    if place.path is None:
        return "it has no such replica"
    if place.future_path is not None:
        return f"moves to {place.future_path}"
    return f"stays in {place.path}"
