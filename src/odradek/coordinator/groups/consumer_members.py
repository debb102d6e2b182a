"""Members of the consumer protocol at the front door: which group takes a heartbeat, or why none does.

no such group, epoch 0     a group begins to exist
no such group, else        GROUP_ID_NOT_FOUND
a classic group, epoch 0   it changes its protocol, if it may (`migrating`)
a classic group, else      GROUP_ID_NOT_FOUND
"""

from collections.abc import Callable

from odradek.base.error_codes import ErrorCode
from odradek.coordinator.classic.terms import Caller
from odradek.coordinator.consumer.heartbeats import RespondToHeartbeat
from odradek.coordinator.consumer.member import JOINING_EPOCH
from odradek.coordinator.groups.shard import Shard
from odradek.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest


def hear(
    shard: Shard,
    request: ConsumerGroupHeartbeatRequest,
    caller: Caller,
    respond: RespondToHeartbeat,
    refused: Callable[[ErrorCode, str], None],
) -> None:
    """Give a valid heartbeat to its group."""
    group_id = request.group_id
    is_joining = request.member_epoch == JOINING_EPOCH
    group = shard.groups.get(group_id)
    if group is None and not is_joining:
        whose = "Consumer group" if request.member_epoch > JOINING_EPOCH else "Group"
        refused(ErrorCode.GROUP_ID_NOT_FOUND, f"{whose} {group_id} not found.")
        return
    if group is None:
        group = shard.group(group_id)
    if group.consumer is None and not is_joining:
        refused(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a consumer group.")
        return
    consumer = group.consumer or shard.make_consumer(group)

    def refused_here(code: ErrorCode, words: str) -> None:
        shard.forget_if_void(group)
        refused(code, words)

    consumer.take(lambda draft: consumer.heard(draft, request, caller, respond), refused_here)
