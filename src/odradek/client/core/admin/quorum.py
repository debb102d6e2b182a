"""Who decides on the cluster's metadata (KIP-595, KIP-836)."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from odradek.base.ids import BrokerId, Offset
from odradek.client.core.operation import Operation, ask, only
from odradek.client.core.requests import Send, ToAny
from odradek.client.refusal import raise_for
from odradek.wire.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    PartitionData,
    ReplicaState,
    TopicData,
)

_METADATA_TOPIC: Final = "__cluster_metadata"


@dataclass(frozen=True, slots=True)
class QuorumReplica:
    """One replica of the metadata log."""

    replica_id: BrokerId
    log_end_offset: Offset
    last_fetch_ms: int | None
    """When it last fetched, in ms since the epoch; None where that is not known."""
    last_caught_up_ms: int | None
    """When it last had all that the leader has; None where that is not known."""


@dataclass(frozen=True, slots=True)
class QuorumDescription:
    """The replicas of the metadata log. Odradek's brokers have no such log: its offsets are 0 then."""

    leader: BrokerId
    """The active controller."""
    leader_epoch: int
    high_watermark: Offset
    voters: list[QuorumReplica]
    observers: list[QuorumReplica]


def describe_metadata_quorum() -> Operation[QuorumDescription]:
    """The leader of the metadata log, those who vote for it, and those who only read it."""
    request = DescribeQuorumRequest([TopicData(_METADATA_TOPIC, [PartitionData(0)])])
    answer = yield from ask(
        Send(ToAny(), request),
        DescribeQuorumResponse,
        lambda answer: [
            answer.error_code,
            *(one.error_code for topic in answer.topics for one in topic.partitions),
        ],
    )
    raise_for(answer.error_code, answer.error_message, about="the metadata quorum")
    found = only([one for topic in answer.topics for one in topic.partitions], "the metadata quorum")
    raise_for(found.error_code, found.error_message, about="the metadata quorum")
    return QuorumDescription(
        found.leader_id,
        found.leader_epoch,
        found.high_watermark,
        _replicas(found.current_voters),
        _replicas(found.observers),
    )


def _replicas(states: Iterable[ReplicaState]) -> list[QuorumReplica]:
    return [
        QuorumReplica(
            one.replica_id,
            one.log_end_offset,
            None if one.last_fetch_timestamp < 0 else one.last_fetch_timestamp,
            None if one.last_caught_up_timestamp < 0 else one.last_caught_up_timestamp,
        )
        for one in states
    ]
