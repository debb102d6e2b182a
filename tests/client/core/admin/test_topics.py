"""Topics: by name and by id, and what is asked again of a controller that moved."""

from collections.abc import Callable
from typing import Any, cast
from uuid import UUID

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError, ElementsRefused
from odradek.base.uuids import render_uuid
from odradek.client.core.admin.topics import (
    NewTopic,
    await_leaders,
    create_partitions,
    create_topics,
    delete_topics,
    describe_topics,
)
from odradek.client.core.operation import Operation
from odradek.client.core.requests import ToController
from odradek.wire.messages.create_partitions import CreatePartitionsRequest
from odradek.wire.messages.create_topics import (
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from odradek.wire.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from odradek.wire.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from tests.client.core.running import Running

FLIGHTS, PLANES = UUID(int=1), UUID(int=2)


def test_topics_are_described_by_id() -> None:
    running = Running(describe_topics(ids=[render_uuid(FLIGHTS)]))
    (send,) = running.sends
    assert isinstance(send.request, MetadataRequest)
    assert [(one.topic_id, one.name) for one in send.request.topics or []] == [(FLIGHTS, None)]
    assert send.lowest == send.highest == 12
    running.answer(MetadataResponse(topics=[MetadataResponseTopic(0, "flights", FLIGHTS)]))
    assert [(one.name, one.topic_id) for one in running.result] == [("flights", render_uuid(FLIGHTS))]


def test_an_unknown_id_is_an_error_at_once() -> None:
    running = Running(describe_topics(ids=[render_uuid(FLIGHTS)]))
    with pytest.raises(ApiError, match=f"there is no topic with the id {render_uuid(FLIGHTS)}"):
        running.answer(
            MetadataResponse(topics=[MetadataResponseTopic(ErrorCode.UNKNOWN_TOPIC_ID, None, FLIGHTS)])
        )


@pytest.mark.parametrize(
    ("operation", "said"),
    [
        (lambda: describe_topics(ids=["flights"]), "'flights' is no id of a topic"),
        (lambda: delete_topics(ids=["flights"]), "'flights' is no id of a topic"),
        (lambda: describe_topics(["flights"], ids=[]), "by name or by id, not by both"),
        (lambda: create_topics([NewTopic("a"), NewTopic("a")]), "a topic is named more than once"),
        (lambda: create_partitions({"a": 2}, assignments={"b": [[1]]}), "without a total: "),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_sent(operation: object, said: str) -> None:
    assert callable(operation)
    with pytest.raises(ValueError, match=said):
        Running(operation())


def test_topics_are_deleted_by_name_and_by_id() -> None:
    running = Running(delete_topics(["planes"], ids=[render_uuid(FLIGHTS), render_uuid(UUID(int=3))]))
    (send,) = running.sends
    assert isinstance(send.request, DeleteTopicsRequest)
    asked = [(one.name, one.topic_id.int) for one in send.request.topics]
    assert asked == [("planes", 0), (None, 1), (None, 3)]
    assert send.lowest == 6
    with pytest.raises(ElementsRefused) as refused:
        running.answer(
            DeleteTopicsResponse(
                responses=[
                    DeletableTopicResult("planes", PLANES),
                    DeletableTopicResult("flights", FLIGHTS),
                    DeletableTopicResult(None, UUID(int=3), ErrorCode.UNKNOWN_TOPIC_ID),
                ]
            )
        )
    assert refused.value.done == ["planes", render_uuid(FLIGHTS)]
    assert list(refused.value.refused) == [render_uuid(UUID(int=3))]


def test_topics_by_name_need_no_late_version() -> None:
    running = Running(delete_topics(["planes"]))
    assert running.sends[0].lowest == 0
    running.answer(DeleteTopicsResponse(responses=[DeletableTopicResult("planes")]))
    assert running.result is None


def test_only_topics_that_the_controller_did_not_decide_on_are_asked_for_again() -> None:
    running = Running(create_topics([NewTopic("flights"), NewTopic("planes")]))
    running.answer(
        CreateTopicsResponse(
            topics=[
                CreatableTopicResult("flights"),
                CreatableTopicResult("planes", error_code=ErrorCode.NOT_CONTROLLER),
            ]
        )
    )
    running.resume()
    (send,) = running.sends
    assert send.to == ToController()
    assert isinstance(send.request, CreateTopicsRequest)
    assert [one.name for one in send.request.topics] == ["planes"]


def test_the_brokers_of_new_partitions_can_be_named() -> None:
    running = Running(create_partitions({"a": 3, "b": 2}, assignments={"a": [[1, 2], [2, 3]]}))
    request = running.sends[0].request
    assert isinstance(request, CreatePartitionsRequest)
    first, second = request.topics
    assert [one.broker_ids for one in first.assignments or []] == [[1, 2], [2, 3]]
    assert (second.count, second.assignments) == (2, None)


@pytest.mark.parametrize(
    ("operation", "said"),
    [
        (lambda: delete_topics("ab"), r"in a list, also a single one: \['ab'\]"),
        (lambda: delete_topics(ids="ab"), r"in a list, also a single one: \['ab'\]"),
        (lambda: describe_topics("ab"), r"in a list, also a single one: \['ab'\]"),
        (lambda: create_topics(cast(Any, ["a"])), "a list of NewTopic, also a single one"),
        (lambda: create_topics(cast(Any, NewTopic("a"))), "a list of NewTopic, also a single one"),
    ],
)
def test_topics_are_named_in_a_list(operation: Callable[[], Operation[Any]], said: str) -> None:
    """Else `delete_topics("ab")` would delete the topics a and b."""
    with pytest.raises(TypeError, match=said):
        Running(operation())


def test_settings_of_a_new_topic_are_texts() -> None:
    with pytest.raises(TypeError, match=r"the value of retention\.ms is a text, not int"):
        Running(create_topics([NewTopic("a", configs={"retention.ms": 1000})]))  # type: ignore[dict-item]


def known(*leaders: int) -> MetadataResponse:
    parts = [MetadataResponsePartition(0, number, leader) for number, leader in enumerate(leaders)]
    return MetadataResponse(topics=[MetadataResponseTopic(0, "flights", partitions=parts)])


def test_a_topic_is_known_when_each_of_its_partitions_has_a_leader() -> None:
    running = Running(await_leaders("flights", 2))
    unknown = MetadataResponseTopic(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "flights")
    running.answer(MetadataResponse(topics=[unknown]))
    for answer in (known(1), known(1, -1)):
        running.resume()
        running.answer(answer)
        assert running.pause.error.message == "topic flights has no leaders yet"
    assert running.pause.number == 2
    running.resume()
    running.answer(known(1, 2))
    assert running.result


def test_whoever_waits_for_leaders_looks_only_so_often() -> None:
    running = Running(await_leaders("flights", -1, looks=2))
    running.answer(known())
    running.resume()
    running.answer(known())
    assert not running.result


def test_a_topic_that_may_not_be_seen_is_not_waited_for() -> None:
    running = Running(await_leaders("flights", 1))
    refused = MetadataResponseTopic(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "flights")
    with pytest.raises(ApiError, match="topic flights: topic authorization failed"):
        running.answer(MetadataResponse(topics=[refused]))
