"""The encoder in steps and the generated ones write the same."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from odradek.base.execution import Steps
from odradek.wire import encoding_steps
from odradek.wire.apis import APIS
from odradek.wire.encoding import PAYLOAD_BYTES_MIN
from odradek.wire.encoding_steps import ELEMENTS_PER_STEP, encode_in_steps
from odradek.wire.message import Message
from odradek.wire.messages.fetch import FetchableTopicResponse, FetchResponse, NodeEndpoint, PartitionData
from odradek.wire.messages.metadata import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from tests.wire.random_messages import messages_of, sent

KINDS = sorted({api.response_class for api in APIS.values()}, key=lambda kind: kind.__name__)
ANY_HEALTH = list(HealthCheck)


def walk(steps: Steps[Any]) -> tuple[Any, int]:
    """Do all steps; what they returned, and how many they were."""
    taken = 0
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value, taken
        taken += 1


@pytest.mark.parametrize("kind", KINDS)
def test_both_encoders_write_the_same(kind: type[Message], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding_steps, "ELEMENTS_PER_STEP", 1)  # everything is wide then

    @settings(max_examples=6, deadline=None, database=None, suppress_health_check=ANY_HEALTH)
    @given(messages_of(kind))
    def check(message: Message) -> None:
        for version in kind.VERSIONS.span():
            shown = sent(message, version)
            parts, _ = walk(encode_in_steps(shown, version, b"head"))
            assert b"".join(parts) == b"head" + shown.encode(version)

    check()


def fetched(count: int, size_bytes: int = 0) -> list[PartitionData]:
    return [PartitionData(number, records=bytes([number % 251]) * size_bytes) for number in range(count)]


def fetch_response(*partitions: list[PartitionData]) -> FetchResponse:
    return FetchResponse(responses=[FetchableTopicResponse("t", partitions=some) for some in partitions])


WIDE = {
    "partitions of one topic": (
        FetchResponse(responses=[FetchableTopicResponse("t", partitions=fetched(20_000))]),
        12,
    ),
    "topics of one partition": (
        FetchResponse(
            responses=[FetchableTopicResponse(f"t{n}", partitions=fetched(1)) for n in range(20_000)]
        ),
        12,
    ),
    "large and small records": (
        FetchResponse(
            responses=[
                FetchableTopicResponse("t", partitions=fetched(300, PAYLOAD_BYTES_MIN)),
                FetchableTopicResponse("u", partitions=fetched(19_700, 1)),
            ],
            node_endpoints=[NodeEndpoint(1, "h", 9092, None)],
        ),
        17,
    ),
    "partitions with replicas": (
        MetadataResponse(
            topics=[
                MetadataResponseTopic(
                    name="t",
                    partitions=[
                        MetadataResponsePartition(0, n, 1, 0, [1, 2], [1], []) for n in range(20_000)
                    ],
                )
            ]
        ),
        9,
    ),
}


@pytest.mark.parametrize("name", WIDE)
def test_a_wide_answer_is_encoded_in_steps(name: str) -> None:
    answer, version = WIDE[name]
    parts, taken = walk(encode_in_steps(answer, version, b"head"))
    assert b"".join(parts) == b"head" + answer.encode(version)
    assert taken >= 20_000 // ELEMENTS_PER_STEP - 2
    again, _ = walk(encode_in_steps(answer, version, b"head"))
    assert again == parts, "the message is as it was"


def test_large_records_are_passed_on_uncopied() -> None:
    partitions = fetched(300, PAYLOAD_BYTES_MIN)
    answer = fetch_response(partitions)
    parts, _ = walk(encode_in_steps(answer, 12))
    assert [id(part) for part in parts[1::2]] == [id(one.records) for one in partitions]


def test_a_narrow_answer_is_encoded_at_once() -> None:
    answer = fetch_response(fetched(100))
    assert walk(encode_in_steps(answer, 12)) == (answer.encode_parts(12), 0)
