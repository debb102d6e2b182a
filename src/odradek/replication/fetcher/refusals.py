"""How long a partition waits after an answer by which its leader refused it."""

from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.replication.fetcher.followed_partition import FollowedPartition

NOT_LEADER_YET: Final = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
    }
)
"""The answers of a broker that has not received or obeyed the LeaderAndIsr that makes it the leader."""
FIRST_DELAY_MS: Final = 20
"""The delay after the first such answer in a leader epoch; each further one doubles it, up to the backoff."""


def delay_after(followed: FollowedPartition, error_code: ErrorCode, backoff_ms: int) -> int:
    """The backoff, or less while the leader's own LeaderAndIsr may be on its way; in milliseconds.

    The orders of a new leader and of its followers arrive in any order, usually within milliseconds.
    """
    if error_code not in NOT_LEADER_YET or followed.lag is not None:
        return backoff_ms
    return followed.refused_again(FIRST_DELAY_MS, backoff_ms)
