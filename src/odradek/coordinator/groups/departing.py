"""LeaveGroup of one member or of many: in each step of the coordinator LEAVING_AT_ONCE members leave.

Each member leaves as if the request named no other. Between two steps the group is consistent, and other
requests are served. The answer waits until all records are replicated.

    3 leave      one step
    2,000 leave  125 steps; a member that joins meanwhile is in the group, and gets freed partitions
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, TypeAlias

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import Steps
from odradek.coordinator.consumer.consumer_protocol import ConsumerProtocol
from odradek.coordinator.groups.consumer_members import handle_leave
from odradek.coordinator.groups.group import Group
from odradek.coordinator.groups.shard import Shard
from odradek.coordinator.runtime.answers import HeldAnswer, final
from odradek.coordinator.runtime.log_errors import GROUP_ERRORS, client_error
from odradek.coordinator.runtime.trampoline import Trampoline
from odradek.wire.messages.leave_group import MemberIdentity

LEAVING_AT_ONCE: Final = 16
"""Of up to a hundred microseconds each."""

RespondToLeave: TypeAlias = Callable[[ErrorCode, list[ErrorCode]], None]
"""Called with an error of the whole request, or with NONE and a code for each member."""


class Departure:
    """One LeaveGroup on its way."""

    def __init__(
        self,
        trampoline: Trampoline,
        find: Callable[[], tuple[Shard, Group] | ErrorCode],
        leaving: Sequence[MemberIdentity],
        respond: RespondToLeave,
    ) -> None:
        """`find` finds the group that the request names."""
        self._trampoline = trampoline
        self._find = find
        self._leaving = leaving
        self._respond = respond
        self._shard: Shard | None = None
        """The shard of the group at the first step; a new leadership since then is another shard."""
        self._codes: list[ErrorCode] = []
        """The codes of the members handled so far, in the order of the request."""
        self._gone: set[tuple[str, str | None]] = set()
        """The members that have left a group of the consumer protocol, as the request names them."""
        self._is_answered = False

    def in_steps(self) -> Steps[None]:
        """Remove the members, and answer."""
        for begin in range(0, max(1, len(self._leaving)), LEAVING_AT_ONCE):
            if begin:
                yield
            some = self._leaving[begin : begin + LEAVING_AT_ONCE]
            self._trampoline.run(partial(self._leave, some, is_last=begin + len(some) >= len(self._leaving)))

    def _leave(self, some: Sequence[MemberIdentity], *, is_last: bool) -> None:
        if self._is_answered:
            return
        found = self._find()
        if not isinstance(found, ErrorCode) and found[0] is not (self._shard or found[0]):
            found = ErrorCode.NOT_COORDINATOR
        if isinstance(found, ErrorCode):
            self._on_not_found(found, some)
        else:
            self._shard, group = found
            codes = self._leave_group(group, some)
            if isinstance(codes, ErrorCode):
                self._answer(codes)
                return
            self._codes += codes
        if is_last and not self._is_answered:
            self._answer(ErrorCode.NONE)

    def _on_not_found(self, error: ErrorCode, some: Sequence[MemberIdentity]) -> None:
        if error is ErrorCode.UNKNOWN_MEMBER_ID:  # there is no such group
            self._codes += [ErrorCode.NONE if _named(one) in self._gone else error for one in some]
        else:
            self._answer(error)

    def _leave_group(self, group: Group, some: Sequence[MemberIdentity]) -> list[ErrorCode] | ErrorCode:
        if group.consumer is None:
            return group.classic.leave(some)
        return self._leave_consumer(group.consumer, some)

    def _leave_consumer(
        self, consumer: ConsumerProtocol, some: Sequence[MemberIdentity]
    ) -> list[ErrorCode] | ErrorCode:
        """A member that is named twice leaves once and is answered twice, as in Kafka's groups of it."""
        codes = handle_leave(consumer, [one for one in some if _named(one) not in self._gone])
        if isinstance(codes, ErrorCode):
            return codes
        left = iter(codes)
        answered = [ErrorCode.NONE if _named(one) in self._gone else next(left) for one in some]
        self._gone |= {
            _named(one) for one, code in zip(some, answered, strict=True) if code is ErrorCode.NONE
        }
        return answered

    def _answer(self, error: ErrorCode) -> None:
        """Answer when the records are replicated; an error at once."""
        self._is_answered = True
        if self._shard is None or error is not ErrorCode.NONE:
            self._trampoline.answer(final(self._tell, error))
        else:
            self._shard.answer(HeldAnswer(self._tell, error, lambda error: client_error(GROUP_ERRORS, error)))

    def _tell(self, error: ErrorCode) -> None:
        self._respond(error, self._codes if error is ErrorCode.NONE else [])


def _named(leaving: MemberIdentity) -> tuple[str, str | None]:
    return leaving.member_id, leaving.group_instance_id
