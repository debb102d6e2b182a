"""Deletes the records of partitions below given offsets (DeleteRecords, KIP-107)."""

from collections.abc import Mapping, Sequence

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.ids import Offset, TopicPartition
from odradek.client.configuration import ClientConfig
from odradek.client.core.admin.offsets import deletion_request
from odradek.client.leader_connections import LeaderConnections
from odradek.client.refusal import raise_for
from odradek.wire.messages.delete_records import DeleteRecordsResponse


def partitions_of(config: ClientConfig, topic: str, number: int | None) -> list[TopicPartition]:
    """The partitions of a topic, or the one with that number. Raises ApiError for unknown ones."""
    with LeaderConnections(config, [topic]) as leaders:
        found = leaders.partitions_of(topic)
    wanted = [one for one in found if number in (None, one.partition)]
    if not wanted:
        raise ApiError(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            f"there is no partition {number} of topic {topic}: it has {len(found)}",
        )
    return wanted


def delete_records(
    config: ClientConfig, offsets: Mapping[TopicPartition, Offset]
) -> dict[TopicPartition, Offset]:
    """Delete the records below each offset; returns the first offset that each log then has.

    Raises ApiError for the first partition that refuses, and says in which others records were deleted.
    """
    starts: dict[TopicPartition, Offset] = {}
    refused: list[ApiError] = []
    with LeaderConnections(config, sorted({one.topic for one in offsets})) as leaders:
        missing = [one for one in offsets if one not in leaders.leaders.addresses]
        if missing:
            raise ApiError(ErrorCode.LEADER_NOT_AVAILABLE, f"{missing[0]} has no leader")
        for connection, led in leaders.by_broker(offsets):
            request = deletion_request({one: offsets[one] for one in led})
            for topic in connection.ask(request, DeleteRecordsResponse).topics:
                for part in topic.partitions:
                    named = TopicPartition(topic.name, part.partition_index)
                    try:
                        if part.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
                            raise beyond_the_end([named], offsets[named])
                        raise_for(part.error_code, about=str(named))
                    except ApiError as error:
                        refused.append(error)
                    else:
                        starts[named] = part.low_watermark
    if refused:
        deleted = f"deleted in {', '.join(map(str, sorted(starts)))}" if starts else "nothing was deleted"
        raise ApiError(refused[0].code, f"{refused[0]}; {deleted}")
    return starts


def beyond_the_end(partitions: Sequence[TopicPartition], offset: Offset) -> ApiError:
    """The error for partitions that do not reach the offset below which records are to be deleted."""
    named = ", ".join(map(str, partitions))
    ends = "ends" if len(partitions) == 1 else "end"
    return ApiError(ErrorCode.OFFSET_OUT_OF_RANGE, f"{named} {ends} before offset {offset:,}")
