"""Describes a log for a person, the same in tests, the admin listener and the CLI."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from odradek.base.uuids import render_uuid

if TYPE_CHECKING:
    from odradek.storage.log import Log


def describe_log(log: "Log") -> Mapping[str, Any]:
    """Returns the description of `log`; see `Log.describe`."""
    return {
        "partition": str(log.topic_partition),
        "topic_id": None if log.topic_id is None else render_uuid(log.topic_id),
        "directory": log.directory,
        "log_start_offset": log.log_start_offset,
        "last_stable_offset": log.last_stable.offset,
        "high_watermark": log.high_watermark.offset,
        "end_offset": log.end_offset,
        "flushed_offset": log.flushed_offset,
        "leader_epoch": log.latest_epoch,
        "segments": sum(1 for _ in log.segments),
        "size_bytes": log.size_bytes,
        "producers": len(log.producers),
        "offline": log.place.failure,
    }
