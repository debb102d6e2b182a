"""Commits that got no answer.

A broker may carry one out long after its consumer has given the connection up and has committed again: it
read the request before it was paused, or it serves an earlier request of that connection first. Apache Kafka
does the same, and nothing in OffsetCommit prevents it. So the group may go back to such a commit, and to no
other one.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, TypeAlias

from campaigns.clients.ledger import Ledger
from campaigns.sim.planted.planting import replaced
from odradek.base.ids import TopicPartition
from odradek.client.aio.link import Link
from odradek.client.core.requests import Send
from odradek.net.request_pipeline import Answer
from odradek.wire.messages.offset_commit import OffsetCommitRequest

_Finish: TypeAlias = Callable[[Link, Send, int, Any], None]


def noted(ledger: Ledger) -> AbstractContextManager[object]:
    """Call `ledger.unanswered` with each commit that no broker answers."""

    def noting(original: _Finish) -> _Finish:
        def finish(self: Link, send: Send, version: int, outcome: Any) -> None:
            if isinstance(send.request, OffsetCommitRequest) and not isinstance(outcome, Answer):
                ledger.unanswered(send.request.group_id, _offsets(send.request))
            original(self, send, version, outcome)

        return finish

    return replaced(Link, "_finish", noting)()


def _offsets(request: OffsetCommitRequest) -> dict[TopicPartition, int]:
    return {
        TopicPartition(topic.name, part.partition_index): part.committed_offset
        for topic in request.topics
        for part in topic.partitions
    }
