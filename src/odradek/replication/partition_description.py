"""Describes delayed operations and partitions for a person: what each waits for, and its offsets (D7).

Invariant: nothing here changes state. Tests, the admin listener and the CLI show the same text.
"""

from collections.abc import Mapping
from typing import Any

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import NO_EPOCH
from odradek.base.uuids import render_uuid
from odradek.replication.cut_records import CutRecords
from odradek.replication.hosted_partitions import HostedPartitions
from odradek.replication.partition import Partition
from odradek.replication.produce_status import ProduceStatus
from odradek.replication.remote_replica import NEVER_MS, RemoteReplica


def last_fetch(replica: RemoteReplica, now_ms: int) -> str:
    """When a follower fetched last: "broker 3, last fetch 812 ms ago"."""
    if replica.last_fetch_ms == NEVER_MS:
        return f"broker {replica.broker_id}, no fetch yet"
    return f"broker {replica.broker_id}, last fetch {now_ms - replica.last_fetch_ms} ms ago"


def replication_gap(status: ProduceStatus, hosted: HostedPartitions, now_ms: int) -> str:
    """What a produce waits for: "acks=all: HW 41 < 42, behind: broker 3, last fetch 812 ms ago"."""
    found = hosted.replica(status.topic_partition)
    if isinstance(found, ErrorCode):
        return found.name
    open_conditions = []
    required_offset = status.required_offset
    high_watermark = found.log.high_watermark.offset
    if status.waits_for_replicas and high_watermark < required_offset:
        words = f"acks=all: HW {high_watermark} < {required_offset}"
        behind = [] if found.leadership is None else found.leadership.behind(required_offset)
        if found.leadership is not None and found.is_under_min_isr:
            words += f", in sync: {len(found.leadership.isr)} < {found.min_isr}"
        elif found.leadership is not None and found.leadership.elr:
            words += ", the ELR is to be emptied"
        if behind:
            words += ", behind: " + ", ".join(last_fetch(replica, now_ms) for replica in behind)
        open_conditions.append(words)
    flushed_offset = found.log.flushed_offset
    if status.waits_for_disk and flushed_offset < required_offset:
        open_conditions.append(f"on disk: {flushed_offset} < {required_offset}")
    return " and ".join(open_conditions) or "nothing any more"


def describe_partition(partition: Partition, now_ms: int) -> Mapping[str, Any]:
    """One partition: its role, its offsets and, for a leader, its followers."""
    log = partition.log
    described: dict[str, Any] = {
        "topic": partition.topic_partition.topic,
        "partition": partition.topic_partition.partition,
        "topic_id": render_uuid(partition.topic_id),
        "role": "follower" if partition.leadership is None else "leader",
        "leader_id": partition.leader_id,
        "leader_epoch": partition.leader_epoch,
        "replicas": list(partition.replicas),
        "log_start_offset": log.log_start_offset,
        "last_stable_offset": log.last_stable.offset,
        "high_watermark": log.high_watermark.offset,
        "log_end_offset": log.end_offset,
        "size_bytes": log.size_bytes,
        "directory": log.directory,
    }
    if partition.unclean_epoch != NO_EPOCH:
        described["last_unclean_election"] = {
            "leader_epoch": partition.unclean_epoch,
            "cut_off": None if partition.cut_off is None else _describe_cut(partition.cut_off),
        }
    leadership = partition.leadership
    if leadership is not None:
        described["isr"] = list(leadership.isr)
        described["min_isr"] = partition.min_isr
        described["elr"] = list(leadership.elr)
        described["isr_write_in_flight"] = leadership.pending is not None
        described["followers"] = [
            describe_follower(remote, log.end_offset, now_ms) for remote in leadership.remotes.values()
        ]
    return described


def _describe_cut(cut_off: CutRecords) -> Mapping[str, Any]:
    return {
        "first_offset": cut_off.first_offset,
        "end_offset": cut_off.end_offset,
        "first_epoch": cut_off.first_epoch,
        "last_epoch": cut_off.last_epoch,
        "high_watermark": cut_off.high_watermark,
        "for_leader_epoch": cut_off.leader_epoch,
    }


def describe_follower(remote: RemoteReplica, leader_end: int, now_ms: int) -> Mapping[str, Any]:
    """One follower, as its leader knows it."""
    has_fetched = remote.last_fetch_ms != NEVER_MS
    was_caught_up = remote.last_caught_up_ms != NEVER_MS
    return {
        "broker_id": remote.broker_id,
        "log_end_offset": remote.log_end.offset,
        "behind_by": leader_end - remote.log_end.offset if has_fetched else None,
        "since_last_fetch_ms": now_ms - remote.last_fetch_ms if has_fetched else None,
        "since_caught_up_ms": now_ms - remote.last_caught_up_ms if was_caught_up else None,
    }
