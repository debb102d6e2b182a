"""Requests that write offsets: OffsetCommit, TxnOffsetCommit, OffsetDelete.

Each is decided in one step of the coordinator, in which it finds the group and checks who asks. A request
that names many partitions is prepared in steps before that, or is done in parts, each by itself:

    commit of 20 offsets        one step: refusals, records, append
    commit of 2,000             steps: refusals, one batch of records
                                one step: finds the group, checks the member, appends the batch, and it counts
    deletion of 2,000           one step for each DELETED_AT_ONCE: each partition is deleted by itself
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from typing import Final, TypeAlias

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import Steps
from odradek.base.ids import TopicPartition
from odradek.coordinator.classic import Terms
from odradek.coordinator.consumer.epochs import FIRST_WITH_EPOCHS
from odradek.coordinator.consumer.topics import Topics
from odradek.coordinator.groups.committing import (
    Codes,
    Prepared,
    RespondWithCodes,
    check_committer,
    commit,
    commit_prepared,
    delete_offsets,
    may_delete_offsets,
    offsets_of,
    prepare,
)
from odradek.coordinator.groups.group import Group
from odradek.coordinator.groups.offsets import CommittedOffset, TransactionalProducer
from odradek.coordinator.groups.room import Room
from odradek.coordinator.groups.shard import Shard
from odradek.coordinator.runtime.answers import HeldAnswer, final
from odradek.coordinator.runtime.log_errors import OFFSET_ERRORS, client_error
from odradek.coordinator.runtime.trampoline import Trampoline
from odradek.wire.messages.offset_commit import OffsetCommitRequest

COMMITTED_AT_ONCE: Final = 64
"""How many offsets are committed in one step, of up to ten microseconds each."""
DELETED_AT_ONCE: Final = 64

Found: TypeAlias = tuple[Shard, Group | None] | ErrorCode
Offers: TypeAlias = Iterator[tuple[TopicPartition, CommittedOffset]]
"""Offsets that are to be committed."""
Commit: TypeAlias = Callable[[Shard, Group], None]
"""Commits what was asked for in a group in which that is allowed."""


class OffsetWrites:
    """The requests of one coordinator that write offsets.

    Where a request names much, a method returns the rest of its work.
    """

    def __init__(
        self,
        terms: Terms,
        trampoline: Trampoline,
        room: Room,
        find: Callable[[str], Found],
        shard_of: Callable[[str], Shard | ErrorCode],
        topics: Topics,
    ) -> None:
        self._terms = terms
        self._trampoline = trampoline
        self._room = room
        self._find = find
        self._shard_of = shard_of
        self._topics = topics

    def commit(
        self, request: OffsetCommitRequest, respond: RespondWithCodes, version: int = 8
    ) -> Steps[None] | None:
        """OffsetCommit: answered when the offsets are replicated."""
        generation = request.generation_id_or_member_epoch
        offers = offsets_of(request, self._terms.clock.wall_ms())
        first = list(islice(offers, COMMITTED_AT_ONCE))
        few = dict(first)

        def commit_few(shard: Shard, group: Group) -> None:
            commit(shard, group, self._terms, few, self._topics.has_partition, respond)

        def decide(partitions: Iterable[TopicPartition], commit: Commit) -> None:
            # Version 1 and older could not be answered with errors here; those that are served can.
            found = self._group_to_commit_to(request.group_id, generation, version)
            if isinstance(found, ErrorCode):
                self._trampoline.answer(final(respond, dict.fromkeys(partitions, found)))
                return
            shard, group = found
            code = check_committer(
                group,
                request.member_id,
                request.group_instance_id,
                generation,
                partitions,
                self._topics,
                version=version,
            )
            if code is ErrorCode.NONE:
                commit(shard, group)
            else:
                _refuse(shard, group, code, partitions, respond)

        def rest() -> Steps[None]:
            prepared = yield from self.prepare(request.group_id, chain(first, offers))

            def commit_many(shard: Shard, group: Group) -> None:
                commit_prepared(shard, group, prepared, respond)

            self._trampoline.run(lambda: decide(prepared.codes, commit_many))

        if len(first) == COMMITTED_AT_ONCE:
            return rest()
        self._trampoline.run(lambda: decide(few, commit_few))
        return None

    def commit_in_transaction(
        self,
        group_id: str,
        producer: TransactionalProducer,
        prepared: Prepared,
        *,
        member_id: str,
        instance_id: str | None,
        generation: int,
        respond: RespondWithCodes,
    ) -> None:
        """TxnOffsetCommit: write offsets as the producer's, to count when its transaction commits.

        A request without member id and generation is not checked for membership (KIP-447).
        """

        def decide() -> None:
            found: tuple[Shard, Group] | ErrorCode = ErrorCode.INVALID_GROUP_ID
            if group_id:
                found = self._group_to_commit_to(group_id, generation)
            if isinstance(found, ErrorCode):
                self._trampoline.answer(final(respond, dict.fromkeys(prepared.codes, found)))
                return
            shard, group = found
            code = ErrorCode.NONE
            if generation >= 0 or member_id or instance_id is not None:
                code = check_committer(
                    group,
                    member_id,
                    instance_id,
                    generation,
                    prepared.codes,
                    self._topics,
                    is_transactional=True,
                )
            if code is ErrorCode.NONE:
                commit_prepared(shard, group, prepared, respond, producer)
            else:
                _refuse(shard, group, code, prepared.codes, respond)

        self._trampoline.run(decide)

    def prepare(
        self, group_id: str, offers: Offers, producer: TransactionalProducer | None = None
    ) -> Steps[Prepared]:
        """See `committing.prepare`."""
        return prepare(group_id, offers, self._terms, self._topics, producer)

    def _group_to_commit_to(
        self, group_id: str, generation: int, version: int = 0
    ) -> tuple[Shard, Group] | ErrorCode:
        shard = self._shard_of(group_id)
        if isinstance(shard, ErrorCode):
            return shard
        if group_id not in shard.groups and generation >= 0:
            is_told = version >= FIRST_WITH_EPOCHS
            return ErrorCode.GROUP_ID_NOT_FOUND if is_told else ErrorCode.ILLEGAL_GENERATION
        if self._room.refusal(shard, group_id) is not None:
            return ErrorCode.POLICY_VIOLATION
        return shard, shard.group(group_id)

    def delete(
        self,
        group_id: str,
        partitions: Sequence[TopicPartition],
        respond: Callable[[ErrorCode, Codes], None],
    ) -> Steps[None] | None:
        """OffsetDelete: an error of the whole, or a code for each partition."""
        first, *others = [
            partitions[begin : begin + DELETED_AT_ONCE]
            for begin in range(0, max(1, len(partitions)), DELETED_AT_ONCE)
        ]
        codes: dict[TopicPartition, ErrorCode] = {}
        led: list[Shard] = []  # the group's, unless the whole is refused

        def answer(answered: tuple[ErrorCode, Codes]) -> None:
            respond(*answered)

        def refusal(error: ErrorCode) -> tuple[ErrorCode, Codes]:
            return client_error(OFFSET_ERRORS, error), {}

        def begin() -> None:
            found = self._find(group_id) if group_id else ErrorCode.INVALID_GROUP_ID
            code = found if isinstance(found, ErrorCode) else may_delete_offsets(found[1])
            if isinstance(found, ErrorCode) or code is not ErrorCode.NONE:
                self._trampoline.answer(final(answer, (code, {})))
            else:
                led.append(found[0])
                delete_some(first)

        def delete_some(some: Sequence[TopicPartition]) -> None:
            for shard in led:
                group = shard.groups.get(group_id)  # gone with its last offset, or in use since a while
                code = ErrorCode.NONE if group is None else may_delete_offsets(group)
                if code is ErrorCode.NONE:
                    codes.update(delete_offsets(shard, group, some, self._topics.has_partition))
                else:
                    codes.update(dict.fromkeys(some, code))
                if some is (others[-1] if others else first):
                    shard.answer(HeldAnswer(answer, (ErrorCode.NONE, codes), refusal))

        def rest() -> Steps[None]:
            for some in others:
                self._trampoline.run(partial(delete_some, some))
                yield

        self._trampoline.run(begin)
        return rest() if others else None


def _refuse(
    shard: Shard,
    group: Group,
    code: ErrorCode,
    partitions: Iterable[TopicPartition],
    respond: RespondWithCodes,
) -> None:
    """Answer an error for each partition."""
    shard.forget_if_void(group)
    shard.answer(
        HeldAnswer(
            respond,
            dict.fromkeys(partitions, code),
            lambda error: dict.fromkeys(partitions, client_error(OFFSET_ERRORS, error)),
        )
    )
