"""Looks once at a topic that an application names, before it waits for anything of it."""

from odradek.base.error_codes import ErrorCode, known_code
from odradek.base.errors import ApiError
from odradek.base.topic_names import fault_in_name
from odradek.client.aio.driver import Driver
from odradek.client.aio.reaching import first_answer
from odradek.client.core.requests import Send, ToAny
from odradek.client.refusal import raise_for
from odradek.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse

# The first version in which a request can say that no topic is to be created.
_VERSION_MIN = 4
# The last version that names topics by name alone.
_VERSION_MAX = 12


async def partition_count(driver: Driver, topic: str, timeout_ms: int) -> int | None:
    """How many partitions a topic has, as one broker says; None if there is no such topic yet.

    Raises ConnectionFailed, with all reasons, if no bootstrap server answers; ApiError for a topic that may
    not be seen, and for a name that no topic may have.
    """
    outcome = await first_answer(driver, lambda: _send(topic, timeout_ms))
    for found in outcome.answer(MetadataResponse).topics:
        code = known_code(found.error_code)
        if code is ErrorCode.INVALID_TOPIC_EXCEPTION:
            raise ApiError(code, fault_in_name(topic) or f"topic {topic} is refused")
        if code is ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            raise_for(code, about=f"topic {topic}")
        if code is ErrorCode.NONE:
            return len(found.partitions)
    return None


def _send(topic: str, timeout_ms: int) -> Send:
    request = MetadataRequest(topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False)
    return Send(ToAny(), request, timeout_ms=timeout_ms, lowest=_VERSION_MIN, highest=_VERSION_MAX)
