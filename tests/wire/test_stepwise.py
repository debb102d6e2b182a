"""The reader in steps and the generated ones read the same."""

from collections.abc import Generator
from random import Random
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from odradek.base.errors import MalformedRequest
from odradek.wire import stepwise
from odradek.wire.apis import APIS
from odradek.wire.decoding import ARRAY_ELEMENTS_MAX, DECODING_ERRORS, ElementBudget, elements_max_of
from odradek.wire.layout import first_versions
from odradek.wire.message import Message, Structure
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic
from odradek.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from odradek.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from odradek.wire.stepwise import ELEMENTS_PER_STEP, decode_steps
from tests.wire.random_messages import messages_of, sent

KINDS = sorted({api.request_class for api in APIS.values()}, key=lambda kind: kind.__name__)
ANY_HEALTH = list(HealthCheck)
Result = TypeVar("Result")


def walk(steps: Generator[None, None, Result]) -> tuple[Result, int]:
    """Do all steps; what they returned, and how many they were."""
    taken = 0
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value, taken
        taken += 1


def in_steps(kind: type[Message], data: bytes, version: int) -> tuple[Structure, int] | None:
    """The message and the position behind it, or None where it does not decode."""
    try:
        return walk(decode_steps(kind, data, version, 0, ElementBudget(ARRAY_ELEMENTS_MAX)))[0]
    except DECODING_ERRORS:
        return None


def generated(kind: type[Message], data: bytes, version: int) -> tuple[Structure, int] | None:
    try:
        return kind.DECODERS[version](data, 0, ElementBudget(ARRAY_ELEMENTS_MAX))
    except DECODING_ERRORS:
        return None


@pytest.mark.parametrize("kind", KINDS)
def test_both_readers_read_the_same(kind: type[Message]) -> None:
    @settings(max_examples=4, deadline=None, database=None, suppress_health_check=ANY_HEALTH)
    @given(messages_of(kind), st.randoms(use_true_random=False))
    def check(message: Message, chance: Random) -> None:
        for version in kind.VERSIONS.span():
            data = bytearray(sent(message, version).encode(version))
            assert in_steps(kind, bytes(data), version) == generated(kind, bytes(data), version)
            if data:
                data[chance.randrange(len(data))] = chance.choice((0, 1, 2, 0x7F, 0x80, 0xFF))
                assert in_steps(kind, bytes(data), version) == generated(kind, bytes(data), version)

    check()


WIDE = {
    "names": (MetadataRequest([MetadataRequestTopic(name="flights") for _ in range(20_000)]), 9),
    "partitions of one topic": (
        ListOffsetsRequest(topics=[ListOffsetsTopic("t", [ListOffsetsPartition(n) for n in range(20_000)])]),
        7,
    ),
    "topics of one partition": (
        FetchRequest(topics=[FetchTopic(topic="t", partitions=[FetchPartition(7)]) for _ in range(20_000)]),
        12,
    ),
    "numbers": (FetchRequest(forgotten_topics_data=[ForgottenTopic("t", partitions=[*range(20_000)])]), 12),
}


@pytest.mark.parametrize("name", WIDE)
def test_a_wide_request_is_decoded_in_steps(name: str) -> None:
    request, version = WIDE[name]
    steps = type(request).begin_decoding(request.encode(version), version)
    assert isinstance(steps, Generator)
    decoded, taken = walk(steps)
    assert decoded == request
    assert taken >= 20_000 // ELEMENTS_PER_STEP


def test_what_follows_from_the_schema_is_not_looked_up_for_each_array(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A request of 20,000 topics with one partition each took 20 s: a millisecond for each topic."""
    request, version = WIDE["topics of one partition"]
    looked_up = []

    def noted(*given: Any) -> dict[int, int]:
        looked_up.append(given)
        return first_versions(*given)

    monkeypatch.setattr(stepwise, "first_versions", noted)
    steps = decode_steps(
        type(request), request.encode(version), version, 0, ElementBudget(ARRAY_ELEMENTS_MAX)
    )
    (decoded, _), _ = walk(steps)
    assert decoded == request
    assert len(looked_up) <= 2


def test_a_narrow_request_is_decoded_at_once() -> None:
    request = MetadataRequest([MetadataRequestTopic(name="t") for _ in range(1_000)])
    assert MetadataRequest.begin_decoding(request.encode(9), 9) == request


def test_unknown_tagged_fields_are_skipped_in_steps() -> None:
    few = ListOffsetsTopic("t", [ListOffsetsPartition(n) for n in range(3)])
    data = ListOffsetsRequest(topics=[few]).encode(7)
    # The last four bytes: tagged fields of the last partition, of the topic, of the request.
    tags = b"\xd0\x0f" + b"".join(b"\xe4\x01\x00" for _ in range(2_000))
    steps = ListOffsetsRequest.begin_decoding(data[:-3] + tags + data[-2:], 7)
    assert isinstance(steps, Generator)
    decoded, taken = walk(steps)
    assert decoded.topics == [few]
    assert taken >= 2_000 // ELEMENTS_PER_STEP


def test_what_a_request_holds_is_bounded_by_its_size() -> None:
    """The least element has two bytes and takes more than a hundred in memory."""
    assert elements_max_of(400) == 1_100
    assert elements_max_of(10**8) == ARRAY_ELEMENTS_MAX
    request = MetadataRequest([MetadataRequestTopic(name="") for _ in range(50_000)])
    steps = MetadataRequest.begin_decoding(request.encode(9), 9)
    assert isinstance(steps, Generator)
    with pytest.raises(MalformedRequest, match="more than 26001 array elements in one message"):
        walk(steps)
