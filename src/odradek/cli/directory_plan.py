"""Which replicas of a file for `cluster reassign` are to be in other log directories (KIP-113)."""

from collections.abc import Mapping

from odradek.base.errors import OdradekError
from odradek.base.ids import TopicPartition
from odradek.base.values import value
from odradek.cli.reassignment_files import Directories
from odradek.client.administering import Admin
from odradek.client.core.admin.log_dirs import ReplicaLogDir, TopicPartitionReplica, log_directories_there
from odradek.client.replica_placement import Replicas


@value
class DirectoryMove:
    """A replica that is to be in another log directory of its broker."""

    replica: TopicPartitionReplica
    path: str
    """Where it is to be."""
    before: str | None
    """Where it is; None while its broker does not have it: it will be made in `path`."""
    replicas: Replicas
    """The replicas of its partition now."""


def plan_directories(
    admin: Admin, directories: Directories, present: Mapping[TopicPartition, Replicas]
) -> list[DirectoryMove]:
    """The moves after which each replica is in its directory; without those that are there.

    `present` are the replicas of each partition now. Raises OdradekError for a broker that does not answer,
    and for a directory that a broker does not have: then nothing was moved.
    """
    brokers = admin.carry_out(log_directories_there(directories))
    moves = []
    for replica, path in sorted(directories.items()):
        found = brokers.get(replica.broker_id)
        if found is None:
            raise OdradekError(f"broker {replica.broker_id} does not answer: its log directories are unknown")
        if path not in found.paths:
            known = " and ".join([", ".join(found.paths[:-1]), found.paths[-1]]).removeprefix(" and ")
            raise OdradekError(f"broker {replica.broker_id} has no log directory {path}: it has {known}")
        place = found.places[replica]
        if not is_in_place(place, path):
            moves.append(DirectoryMove(replica, path, place.path, present[replica.topic_partition]))
    return moves


def is_in_place(place: ReplicaLogDir, path: str) -> bool:
    """Whether a replica is in this directory, and stays there."""
    return place.path == path and place.future_path is None
