"""Questions of an application about offsets, asked again until they are answered or the time is over."""

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

from odradek.base.error_codes import ErrorCode, known_code
from odradek.base.errors import ApiError
from odradek.base.ids import BrokerId, LeaderEpoch, Offset, TopicPartition
from odradek.client.aio.driver import Driver
from odradek.client.aio.topic_look import partition_count
from odradek.client.core.backoff import Backoff
from odradek.client.core.cluster_view import ClusterView
from odradek.client.core.consumer.commits import (
    Commit,
    may_ask_again,
)
from odradek.client.core.consumer.positions import (
    LIST_OFFSETS_VERSION_MAX,
    OFFSET_FETCH_VERSION_MAX,
    Identity,
    fetched_offsets,
    left_out,
    list_offsets,
    offset_fetch,
)
from odradek.client.core.consumer.subscription import Subscription
from odradek.client.core.offset_and_metadata import OffsetAndMetadata
from odradek.client.core.requests import Send, ToCoordinator, ToNode
from odradek.client.refusal import name_of
from odradek.wire.messages.list_offsets import ListOffsetsResponse
from odradek.wire.messages.offset_commit import OffsetCommitResponse
from odradek.wire.messages.offset_fetch import OffsetFetchResponse


@dataclass(frozen=True, slots=True)
class OffsetAndTimestamp:
    """A record's offset and its timestamp in milliseconds."""

    offset: Offset
    timestamp: int


class OffsetQueries:
    """See the module; each method raises ApiError when it is refused or the time is over."""

    def __init__(
        self,
        driver: Driver,
        identity: Identity,
        subscription: Subscription,
        *,
        is_committed_only: bool,
        request_timeout_ms: int,
        backoff: Backoff,
    ) -> None:
        self._driver = driver
        self._subscription = subscription
        self._identity = identity
        self._is_committed_only = is_committed_only
        self._timeout_ms = request_timeout_ms
        self._backoff = backoff

    async def commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata], timeout_s: float) -> None:
        """Commit these offsets."""
        attempts = self._attempts(timeout_s)
        commit = Commit(self._identity, self._subscription.states, offsets)
        while commit.left:
            send = commit.request(self._left_ms(attempts))
            outcome = await self._driver.ask(send)
            if outcome.error is not None:
                await self._pause(outcome.error, attempts)
                continue
            problem = commit.answered(outcome.answer(OffsetCommitResponse), self._subscription.states)
            if problem is not None:
                self._driver.routing.refused(send, problem.code)
                await self._pause(problem, attempts, is_retriable=True)

    async def committed(
        self, partitions: Iterable[TopicPartition], timeout_s: float
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """The group's committed offsets; None where there is none."""
        asked = sorted(partitions)
        attempts = self._attempts(timeout_s)
        while True:
            send = Send(
                ToCoordinator(self._identity.group),
                offset_fetch(self._identity, asked),
                timeout_ms=self._left_ms(attempts),
                highest=OFFSET_FETCH_VERSION_MAX,
            )
            outcome = await self._driver.ask(send)
            if outcome.error is not None:
                await self._pause(outcome.error, attempts)
                continue
            code, found = fetched_offsets(outcome.answer(OffsetFetchResponse))
            codes = {code, *(known_code(one.error_code) for one in found.values())} - {ErrorCode.NONE}
            if codes:
                code = codes.pop()
                self._driver.routing.refused(send, code)
                said = f"group {self._identity.group}: {name_of(code)}"
                await self._pause(ApiError(code, said), attempts, is_retriable=may_ask_again(code))
                continue
            for one in asked:
                if one not in found:
                    raise left_out(one)
            return {
                one: OffsetAndMetadata(
                    entry.committed_offset, entry.metadata or "", entry.committed_leader_epoch
                )
                if (entry := found[one]).committed_offset >= 0
                else None
                for one in asked
            }

    async def find(
        self, timestamps: Mapping[TopicPartition, int], timeout_s: float
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """The offset for each timestamp (LATEST and EARLIEST among them); None where no record is as late."""
        attempts = self._attempts(timeout_s)
        view = self._driver.view
        view.want({one.topic for one in timestamps})
        found: dict[TopicPartition, OffsetAndTimestamp | None] = {}
        while len(found) < len(timestamps):
            by_node: dict[BrokerId, list[tuple[TopicPartition, int, LeaderEpoch]]] = {}
            problem = ApiError(ErrorCode.LEADER_NOT_AVAILABLE, "no broker has answered")
            for one, timestamp in timestamps.items():
                leader = view.leader(one)
                if one in found:
                    continue
                if leader is not None and leader.node in view.nodes:
                    by_node.setdefault(leader.node, []).append((one, timestamp, leader.epoch))
                else:
                    problem = _without_leader(one, view)
            sends = [self._list_of(node, asked, self._left_ms(attempts)) for node, asked in by_node.items()]
            for outcome in await asyncio.gather(*map(self._driver.ask, sends)):
                if outcome.error is not None:
                    problem = outcome.error
                else:
                    answer = outcome.answer(ListOffsetsResponse)
                    problem = self._take_list(answer, timestamps, found) or problem
            if len(found) < len(timestamps):
                view.refresh_soon(self._driver.now_ms)
                self._driver.pump()
                await self._pause(problem, attempts, is_retriable=_is_stale(problem.code))
        return found

    def _list_of(
        self, node: BrokerId, asked: list[tuple[TopicPartition, int, LeaderEpoch]], left_ms: int
    ) -> Send:
        request = list_offsets(asked, is_committed_only=self._is_committed_only, timeout_ms=left_ms)
        return Send(ToNode(node), request, timeout_ms=left_ms, highest=LIST_OFFSETS_VERSION_MAX)

    @staticmethod
    def _take_list(
        answer: ListOffsetsResponse,
        asked: Collection[TopicPartition],
        found: dict[TopicPartition, OffsetAndTimestamp | None],
    ) -> ApiError | None:
        problem = None
        for topic in answer.topics:
            for one in topic.partitions:
                partition = TopicPartition(topic.name, one.partition_index)
                if partition not in asked:
                    continue
                code = known_code(one.error_code)
                if code is ErrorCode.NONE:
                    has_one = one.offset >= 0
                    found[partition] = OffsetAndTimestamp(one.offset, one.timestamp) if has_one else None
                else:
                    problem = _refused(partition, code)
        return problem

    async def partition_count(self, topic: str) -> int | None:
        """See `topic_look`."""
        return await partition_count(self._driver, topic, self._timeout_ms)

    async def partitions_for(self, topic: str, timeout_s: float) -> list[int]:
        """The partitions of a topic, which is not created."""
        attempts = self._attempts(timeout_s)
        while True:
            try:
                count = await partition_count(self._driver, topic, self._left_ms(attempts))
            except ApiError as error:
                await self._pause(error, attempts)
                continue
            if count is None:
                raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {topic}")
            return list(range(count))

    async def until(self, condition: Callable[[], bool], timeout_s: float, what: str) -> None:
        """Wait for a condition that an event makes true. Raises ApiError when the time is over."""
        if not await self._driver.until(condition, int(timeout_s * 1000)):
            raise ApiError(ErrorCode.REQUEST_TIMED_OUT, f"{what} within {timeout_s:g} s")

    def _attempts(self, timeout_s: float) -> "_Attempts":
        return _Attempts(self._driver.now_ms + int(timeout_s * 1000))

    def _left_ms(self, attempts: "_Attempts") -> int:
        return max(1, min(self._timeout_ms, attempts.end_ms - self._driver.now_ms))

    async def _pause(
        self, error: ApiError, attempts: "_Attempts", *, is_retriable: bool | None = None
    ) -> None:
        """Wait before the next attempt, longer each time. Raises `error` if there is to be none."""
        again = error.code.is_retriable if is_retriable is None else is_retriable
        left_ms = attempts.end_ms - self._driver.now_ms
        if not again or self._driver.is_closed or left_ms <= 0:
            raise error
        wait_ms = min(left_ms, self._backoff.after(attempts.failed))
        attempts.failed += 1
        await asyncio.sleep(wait_ms / 1000)


@dataclass(slots=True)
class _Attempts:
    """Those of one question."""

    end_ms: int
    """When there is no other attempt any more."""
    failed: int = 0


def _without_leader(one: TopicPartition, view: ClusterView) -> ApiError:
    """Why no broker can be asked about a partition."""
    code = view.errors.get(one.topic)
    if code is not None:
        return _refused(one, code)
    if view.last_error is not None:
        return view.last_error
    known = view.topics.get(one.topic)
    if known is not None and one.partition >= len(known.leaders):
        said = f"there is no partition {one.partition} of topic {one.topic}: it has {len(known.leaders)}"
        return ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, said)
    return ApiError(ErrorCode.LEADER_NOT_AVAILABLE, f"{one} has no leader")


def _refused(one: TopicPartition, code: ErrorCode) -> ApiError:
    return ApiError(code, f"no offsets of {one}: {name_of(code)}")


def _is_stale(code: ErrorCode) -> bool:
    return code.is_retriable or code in (ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.UNKNOWN_LEADER_EPOCH)
