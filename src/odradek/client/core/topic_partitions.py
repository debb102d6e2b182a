"""How many partitions a topic has, as any broker says; the question creates no topic."""

from collections.abc import Sequence
from typing import Final

from odradek.base.error_codes import ErrorCode, known_code
from odradek.base.errors import ApiError
from odradek.base.topic_names import fault_in_name
from odradek.client.core.operation import Operation, ask
from odradek.client.core.requests import REQUEST_TIMEOUT_MS, Send, ToAny
from odradek.client.refusal import raise_for
from odradek.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse

# The first version in which a request can say that no topic is to be created.
_VERSION_MIN: Final = 4
# The last version that names topics by name alone.
_VERSION_MAX: Final = 12


def count_request(topic: str, timeout_ms: int = REQUEST_TIMEOUT_MS) -> Send:
    """Asks any broker about a topic."""
    request = MetadataRequest(topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False)
    return Send(ToAny(), request, timeout_ms=timeout_ms, lowest=_VERSION_MIN, highest=_VERSION_MAX)


def counted(topic: str, answer: MetadataResponse) -> int | None:
    """How many partitions the topic has; None if there is no such topic yet.

    Raises ApiError for a topic that may not be seen, and for a name that no topic may have.
    """
    for found in answer.topics:
        code = known_code(found.error_code)
        if code is ErrorCode.INVALID_TOPIC_EXCEPTION:
            raise ApiError(code, fault_in_name(topic) or f"topic {topic} is refused")
        if code is ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            raise_for(code, about=f"topic {topic}")
        if code is ErrorCode.NONE:
            return len(found.partitions)
    return None


def partition_numbers(topic: str) -> Operation[Sequence[int]]:
    """The numbers of the topic's partitions. Raises ApiError if there is no such topic."""
    answer = yield from ask(count_request(topic), MetadataResponse, lambda _: [])
    count = counted(topic, answer)
    if count is None:
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {topic}")
    return range(count)
