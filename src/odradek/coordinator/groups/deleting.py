"""DeleteGroups: deletes groups without members, with all their offsets; each is decided by itself.

    a group of 20 offsets       one step of the coordinator: it is empty; tombstones, appended; it is gone
    a group of 20,000           steps: tombstones of its offsets, in batches
                                one step: it is still empty; the batches and later commits' are appended

The next group is deleted in a later step. The answer waits until all tombstones are replicated.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Final, TypeAlias

from odradek.base.buffers import Buffer
from odradek.base.clock import Clock
from odradek.base.error_codes import ErrorCode
from odradek.base.execution import Steps
from odradek.base.ids import TopicPartition
from odradek.coordinator.groups.group import Group
from odradek.coordinator.groups.log_records import batch_builder, offset_tombstone
from odradek.coordinator.groups.shard import GroupLog, Shard
from odradek.coordinator.runtime.answers import HeldAnswer
from odradek.coordinator.runtime.log_errors import CONSUMER_ERRORS, client_error
from odradek.coordinator.runtime.trampoline import Trampoline

FEW_OFFSETS_MAX: Final = 256
"""A group with more of them is deleted in steps."""
TOMBSTONES_PER_STEP: Final = 64
"""Of up to ten microseconds each."""
TOMBSTONES_PER_BATCH: Final = 4_096
"""Keeps each batch below the topic's maximum, however long the names are."""

FindExisting: TypeAlias = Callable[[str], tuple[Shard, Group] | ErrorCode]
RespondToDelete: TypeAlias = Callable[[Mapping[str, ErrorCode]], None]
"""Called with one code for each group."""


class GroupDeletion:
    """One DeleteGroups on its way."""

    def __init__(
        self,
        trampoline: Trampoline,
        clock: Clock,
        find: FindExisting,
        group_ids: Iterable[str],
        respond: RespondToDelete,
    ) -> None:
        self._trampoline = trampoline
        self._clock = clock
        self._find = find
        self._group_ids = dict.fromkeys(group_ids)
        self._respond = respond
        self._codes: dict[str, ErrorCode] = {}
        """The codes of the groups whose tombstones are replicated, or that were refused."""

    def in_steps(self) -> Steps[None]:
        """Delete one group after another, and answer."""
        if not self._group_ids:
            self._respond(self._codes)
        for group_id in self._group_ids:
            found = self._find(group_id)
            if not isinstance(found, ErrorCode) and len(found[1].offsets) > FEW_OFFSETS_MAX:
                yield from self._delete_wide(*found)
            else:
                self._trampoline.run(partial(self._delete, group_id))
            yield

    def _delete(self, group_id: str) -> None:
        found = self._find(group_id)
        if isinstance(found, ErrorCode):
            self._answer(group_id, found, None)
            return
        shard, group = found
        code = (
            client_error(CONSUMER_ERRORS, shard.delete(group))
            if group.is_empty
            else ErrorCode.NON_EMPTY_GROUP
        )
        self._answer(group_id, code, shard.log)

    def _delete_wide(self, shard: Shard, group: Group) -> Steps[None]:
        """Prepare the tombstones of many offsets, and delete the group with them in one step."""
        keys = list(group.offsets.known()) if group.is_empty else []
        prepared: list[tuple[list[TopicPartition], Buffer]] = []
        for begin in range(0, len(keys), TOMBSTONES_PER_BATCH):
            some = keys[begin : begin + TOMBSTONES_PER_BATCH]
            prepared.append((some, (yield from self._tombstones(group.group_id, some))))
        self._trampoline.run(partial(self._delete_prepared, shard, group, prepared))

    def _tombstones(self, group_id: str, keys: list[TopicPartition]) -> Steps[Buffer]:
        builder = batch_builder()
        now_ms = self._clock.wall_ms()
        for number, key in enumerate(keys, 1):
            builder.append(now_ms, *offset_tombstone(group_id, key))
            if number % TOMBSTONES_PER_STEP == 0:
                yield
        return builder.build()

    def _delete_prepared(
        self, shard: Shard, group: Group, prepared: list[tuple[list[TopicPartition], Buffer]]
    ) -> None:
        group_id = group.group_id
        found = self._find(group_id)
        if isinstance(found, ErrorCode) or found != (shard, group) or not group.is_empty:
            self._delete(group_id)  # meanwhile it is gone or in use, or another group has its name
            return
        for keys, batch in prepared:
            appended = shard.append_batch(batch)
            if appended.error is not ErrorCode.NONE:
                self._answer(group_id, client_error(CONSUMER_ERRORS, appended.error), shard.log)
                return
            group.offsets.forget_some(keys, appended.base_offset)
        self._delete(group_id)

    def _answer(self, group_id: str, code: ErrorCode, log: GroupLog | None) -> None:
        """Report a group's code when everything appended to its partition's log is replicated."""
        answer = HeldAnswer(
            partial(self._tell, group_id), code, lambda error: client_error(CONSUMER_ERRORS, error)
        )
        if log is None:
            self._trampoline.answer(answer)
        else:
            log.answer(answer)

    def _tell(self, group_id: str, code: ErrorCode) -> None:
        self._codes[group_id] = code
        if len(self._codes) == len(self._group_ids):
            self._respond(self._codes)
