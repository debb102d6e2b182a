"""What a consumer needs of its membership, in either protocol.

A member says which partitions it must have (`target`). The consumer revokes and takes over partitions,
telling the application, and reports when it has them (`has_now`). Invariant: a member reports only what the
application has been told.
"""

from dataclasses import dataclass
from typing import Protocol

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError, OdradekError
from odradek.base.ids import TopicPartition
from odradek.client.core.cluster_view import BACKOFF_MAX_MS, BACKOFF_MS
from odradek.client.core.requests import Core
from odradek.client.core.waiting import Cause, Why


@dataclass(frozen=True, slots=True)
class Target:
    """The partitions that a member must have from now on, all of them."""

    partitions: frozenset[TopicPartition]
    is_lost: bool = False
    """Whether those that it had are gone already."""


@dataclass(frozen=True, slots=True)
class MemberOptions:
    """A member's settings, under Kafka's names."""

    group: str
    instance: str | None = None
    rack: str = ""
    remote_assignor: str | None = None
    strategies: tuple[str, ...] = ("range", "cooperative-sticky")
    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 3_000
    max_poll_interval_ms: int = 300_000
    request_timeout_ms: int = 30_000
    retry_backoff_ms: int = BACKOFF_MS
    retry_backoff_max_ms: int = BACKOFF_MAX_MS


def kept_out(group: str, instance: str | None, error: ApiError) -> Why:
    """That the group does not take a member: another one has its instance id, or it is refused."""
    if error.code in (ErrorCode.FENCED_INSTANCE_ID, ErrorCode.UNRELEASED_INSTANCE_ID):
        text = f"another member of group {group} has the group.instance.id {instance}: {error}"
        return Why(Cause.FENCED, text, {"group": group, "instance": instance, "code": error.code.name})
    text = f"group {group} does not take this member: {error}"
    return Why(Cause.REFUSED, text, {"group": group, "code": error.code.name})


class Member(Core, Protocol):
    """See the module; `due`, `outcome` and `next_deadline_ms` are those of a `Core`."""

    group: str
    member: str
    epoch: int
    instance: str | None
    checks_epoch: bool
    error: OdradekError | None
    """What the application must be told; the consumer takes it."""
    failed: ApiError | None
    """Why it is kept out of the group, also when the application was told; None while it is not."""

    @property
    def is_joined(self) -> bool:
        """Whether commits may name this member."""

    @property
    def has_left(self) -> bool:
        """Whether leaving is over."""

    def subscribe(self, topics: frozenset[str]) -> None:
        """These topics from now on; joins if it is not in the group."""

    def target(self) -> Target | None:
        """What it must have and has not reported yet; None while nothing changes."""

    def has_now(self, partitions: frozenset[TopicPartition]) -> None:
        """It has these partitions, and the application knows."""

    def leave(self) -> None:
        """Leave the group; `has_left` says when that is over. What it has is lost (`target`)."""

    def why(self, now_ms: int) -> list[Why]:
        """What it waits for."""
