"""What a consumer needs of its membership, in either protocol.

A member says which partitions it must have (`target`). The consumer revokes and takes over partitions,
telling the application, and reports when it has them (`has_now`). Invariant: a member reports only what the
application has been told.
"""

from dataclasses import dataclass
from typing import Final, Protocol

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError, OdradekError
from odradek.base.ids import TopicPartition
from odradek.client.core.cluster_view import BACKOFF_MAX_MS, BACKOFF_MS
from odradek.client.core.requests import Core
from odradek.client.core.routing import COORDINATOR_MOVED
from odradek.client.core.waiting import Cause, Why
from odradek.client.refusal import name_of

PUT_OUT: Final = frozenset(
    {ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION, ErrorCode.FENCED_MEMBER_EPOCH}
)
"""What a group answers that a member is not of, or not any more."""


CLASSIC: Final = "classic"
CONSUMER: Final = "consumer"


@dataclass(frozen=True, slots=True)
class Membership:
    """As what a consumer is in its group."""

    protocol: str
    """CLASSIC or CONSUMER."""
    strategy: str
    """How the members of a classic group share out partitions; "" where the broker does."""
    epoch: int
    """The member's epoch, or the generation of a classic group; -1 outside of the group."""


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


class Refusals:
    """How a group refuses its member again and again: since when, how often, and the last code.

    A member that is put out joins again at once; only the second time in a row is a cause to tell.
    """

    def __init__(self, group: str) -> None:
        self._group = group
        self._code = ErrorCode.NONE
        self._count = 0
        self._since_ms = 0

    def note(self, code: ErrorCode, now_ms: int) -> None:
        """The group has refused a request with this code, which passes, or has put the member out."""
        if code in COORDINATOR_MOVED or code is ErrorCode.REBALANCE_IN_PROGRESS:
            return  # told by the routing, and as a rebalance
        if (code in PUT_OUT) is not (self._code in PUT_OUT):
            self._count = 0
        if not self._count:
            self._since_ms = now_ms
        self._code = code
        self._count += 1

    def clear(self, *, has_stayed: bool) -> None:
        """A request was accepted; `has_stayed`: by a group of which it was a member already."""
        if has_stayed or self._code not in PUT_OUT:
            self._code, self._count = ErrorCode.NONE, 0

    def why(self, now_ms: int) -> Why | None:
        """The cause to tell; None if there is none."""
        is_put_out = self._code in PUT_OUT
        if self._count < (2 if is_put_out else 1):
            return None
        waited_ms = now_ms - self._since_ms
        words = name_of(self._code)
        seconds = f"{waited_ms / 1000:.0f} s"
        if is_put_out:
            text = f"group {self._group} has put this member out {self._count} times in {seconds}: {words}"
        else:
            text = f"group {self._group} has been refusing this member for {seconds}: {words}"
        data = {"group": self._group, "code": self._code.name, "attempts": self._count, "ms": waited_ms}
        return Why(Cause.RETRY, text, data)


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

    protocol: str
    """CLASSIC or CONSUMER."""

    @property
    def strategy(self) -> str:
        """How the classic group shares out partitions; "" where the broker does, or nobody has yet."""

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
