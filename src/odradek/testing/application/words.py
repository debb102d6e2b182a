"""Exchanges between the application and the cluster as sentences in Kafka's words.

worker: acks=all for orders-0 17..19 at broker 2
worker: group billing committed orders-0 at 20 at broker 2
worker: Produce at broker 1: orders-0 NOT_LEADER_OR_FOLLOWER
worker: Produce at broker 1: no answer, the connection has ended
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Any, Final

from odradek.base.error_codes import ErrorCode, known_code
from odradek.records.header import iter_headers
from odradek.testing.application.traffic import Exchange
from odradek.wire.message import Structure

QUIET: Final = frozenset(
    {"ApiVersions", "Metadata", "FindCoordinator", "ListOffsets", "Heartbeat", "OffsetFetch"}
)
"""Only their errors are worth a sentence."""
UNHEARD: Final = QUIET | {"Fetch"}
"""Clients leave them unanswered when they end, and lose nothing by that."""
LOST: Final = "no answer, the connection has ended"


def words_of(exchange: Exchange) -> str | None:
    """Returns what happened; None if it was nothing worth telling."""
    request, answer = exchange.request(), exchange.answer()
    if answer is None:
        is_told = exchange.api not in UNHEARD and getattr(request, "acks", -1) != 0
        return (
            f"{exchange.process}: {exchange.api} at broker {exchange.broker_id}: {LOST}" if is_told else None
        )
    errors = list(dict.fromkeys(_errors(answer, "")))
    api, broker = exchange.api, f"broker {exchange.broker_id}"
    if errors:
        return f"{exchange.process}: {api} at {broker}: {', '.join(errors)}"
    done = _DONE[api](request, answer) if api in _DONE else api
    if not done or api in QUIET:
        return None
    return f"{exchange.process}: {done} at {broker}"


def _errors(part: Structure, place: str) -> Iterator[str]:
    """The errors in an answer, each with its topic and partition."""
    values = {field.name: getattr(part, field.name) for field in fields(part)}  # type: ignore[arg-type]
    name = values.get("topic") or values.get("name") or values.get("group_id") or ""
    index = values.get("partition_index", values.get("index"))
    if name and isinstance(name, str):
        place = name
    elif place and index is not None:
        place = f"{place}-{index}"
    code = values.get("error_code", ErrorCode.NONE)
    if code != ErrorCode.NONE:
        yield f"{place} {known_code(code).name}".strip()
    for value in values.values():
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, Structure):
                yield from _errors(each, place)


def _produced(request: Any, answer: Any) -> str:  # noqa: ANN401 - of the API's classes
    if not request.acks:
        return ""
    parts = [
        (topic.name, part.index, part.base_offset)
        for topic in answer.responses
        for part in topic.partition_responses
    ]
    counts = [
        sum(header.record_count for _, header in iter_headers(part.records or b""))
        for topic in request.topic_data
        for part in topic.partition_data
    ]
    if len(parts) != len(counts):
        return "produced"
    ranges = (
        _range(topic, index, base, count) for (topic, index, base), count in zip(parts, counts, strict=True)
    )
    return f"acks={request.acks if request.acks >= 0 else 'all'} for {', '.join(ranges)}"


def _fetched(request: Any, answer: Any) -> str:  # noqa: ANN401 - of the API's classes
    read = []
    for topic in answer.responses:
        for part in topic.partitions:
            headers = [header for _, header in iter_headers(part.records or b"")]
            if headers:
                first, end = headers[0].base_offset, headers[-1].next_offset
                read.append(_range(topic.topic, part.partition_index, first, end - first))
    return f"fetched {', '.join(read)}" if read else ""


def _committed(request: Any, answer: Any) -> str:  # noqa: ANN401 - of the API's classes
    offsets = ", ".join(
        f"{topic.name}-{part.partition_index} at {part.committed_offset}"
        for topic in request.topics
        for part in topic.partitions
    )
    return f"group {request.group_id} committed {offsets}"


def _of_group(verb: str) -> Callable[[Any, Any], str]:
    return lambda request, answer: f"{verb} group {request.group_id}"


def _range(topic: str, index: int, first: int, count: int) -> str:
    last = f"..{first + count - 1}" if count > 1 else ""
    return f"{topic}-{index} {first}{last}"


_DONE: Final[dict[str, Callable[[Any, Any], str]]] = {
    "Produce": _produced,
    "Fetch": _fetched,
    "OffsetCommit": _committed,
    "JoinGroup": _of_group("joined"),
    "SyncGroup": _of_group("synced with"),
    "LeaveGroup": _of_group("left"),
}
