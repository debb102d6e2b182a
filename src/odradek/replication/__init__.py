"""Partitions and their replicas: leadership, ISR, HW, delayed produce and fetch, fetch sessions."""

from odradek.replication.fetch_request import (
    CONSUMER_ID,
    DEBUGGING_CONSUMER_ID,
    ClientMetadata,
    FetchParams,
    Isolation,
    PartitionFetch,
    params_for_follower,
)
from odradek.replication.isr import IsrChange, StoredState
from odradek.replication.outcomes import (
    AppendOutcome,
    DeleteRecordsOutcome,
    EpochEndOutcome,
    FetchOutcome,
    ListedOffset,
)
from odradek.replication.partition import Partition
from odradek.replication.replica_manager import ReplicaManager
from odradek.replication.replication_ports import ClusterView, Effects, Logs, ReplicatedLog, ReplicationQuota
from odradek.replication.role_changes import RoleChanges

__all__ = [
    "CONSUMER_ID",
    "DEBUGGING_CONSUMER_ID",
    "AppendOutcome",
    "ClientMetadata",
    "ClusterView",
    "DeleteRecordsOutcome",
    "Effects",
    "EpochEndOutcome",
    "FetchOutcome",
    "FetchParams",
    "Isolation",
    "IsrChange",
    "ListedOffset",
    "Logs",
    "Partition",
    "PartitionFetch",
    "ReplicaManager",
    "ReplicatedLog",
    "ReplicationQuota",
    "RoleChanges",
    "StoredState",
    "params_for_follower",
]
