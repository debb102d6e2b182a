"""What keeps a producer's records from being acknowledged: its causes, the worst first."""

from collections.abc import Mapping
from typing import Final

from odradek.base.errors import ApiError
from odradek.base.ids import NO_BROKER, TopicPartition
from odradek.client.core.answers import Answers
from odradek.client.core.cluster_view import ClusterView
from odradek.client.core.producer.accumulator import Accumulator
from odradek.client.core.producer.settings import ProducerSettings
from odradek.client.core.waiting import Cause, Why

_ORDER: Final = (
    Cause.NO_LEADER,
    Cause.NO_CONNECTION,
    Cause.RETRY,
    Cause.MEMORY,
    Cause.REQUEST,
    Cause.LINGER,
)
_RANKS: Final[Mapping[Cause, int]] = {cause: rank for rank, cause in enumerate(_ORDER)}


class Reasons:
    """See the module; it reads the parts of one producer's core."""

    def __init__(self, settings: ProducerSettings, view: ClusterView, batches: Accumulator) -> None:
        self._settings = settings
        self._view = view
        self._batches = batches

    def why(self, ask_error: ApiError | None, answers: Answers | None, now_ms: int) -> list[Why]:
        """`ask_error`: why there is no producer id; `answers`: which brokers answer, if that is known."""
        causes = []
        if self._batches.is_memory_wanted:
            limit, used = self._settings.buffer_memory, self._batches.memory_used
            text = f"buffer.memory is used up: {used} of {limit} bytes wait for their acknowledgement"
            causes.append(Why(Cause.MEMORY, text, {"used": used, "limit": limit}))
        if ask_error is not None and self._batches.busy:
            text = f"the producer has no producer id: {ask_error}"
            causes.append(Why(Cause.REQUEST, text, {"error": str(ask_error), "code": ask_error.code.name}))
        causes += [self._why_partition(partition, answers, now_ms) for partition in self._batches.busy]
        return sorted(causes, key=lambda one: _RANKS[one.cause])

    def _why_partition(self, partition: TopicPartition, answers: Answers | None, now_ms: int) -> Why:
        name = str(partition)
        leader = self._view.leader(partition)
        if leader is None or leader.node == NO_BROKER:
            return Why(Cause.NO_LEADER, f"{name} has no leader", {"partition": name})
        away = None if answers is None else answers.unreachable(leader.node, now_ms)
        if away is not None:
            return Why(away.cause, f"{away}; it leads {name}", {**away.data, "partition": name})
        queue = self._batches.queue(partition)
        failed = [one for one in [*queue.in_flight, *queue.waiting] if one.last_error is not None]
        if failed:
            oldest = failed[0]
            assert oldest.last_error is not None
            text = f"{name} was sent {oldest.attempts} times and is not acknowledged: {oldest.last_error}"
            code = oldest.last_error.code.name
            return Why(Cause.RETRY, text, {"partition": name, "attempts": oldest.attempts, "code": code})
        if queue.in_flight:
            waited_ms = now_ms - queue.in_flight[0].opened_ms
            broker = leader.node if answers is None else answers.name_of(leader.node)
            said = f"the leader of {name}, broker {broker}, has not answered yet"
            text = f"{said}; its oldest batch is {waited_ms} ms old"
            return Why(Cause.REQUEST, text, {"partition": name, "node": leader.node, "ms": waited_ms})
        text = f"{name} waits up to {self._settings.linger_ms} ms for more records, as linger.ms says"
        return Why(Cause.LINGER, text, {"partition": name, "ms": self._settings.linger_ms})
