"""Questions to brokers of which some are away."""

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.client.core.admin.answering import ask_those_there, missing_of
from odradek.client.core.requests import Send, ToNode
from odradek.net.request_pipeline import ConnectionFailed
from odradek.wire.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from tests.client.core.running import Running

Asked = Running[tuple[dict[int, ListGroupsResponse], dict[int, ApiError]]]


def asked(*brokers: int) -> Asked:
    sends = {one: Send(ToNode(one), ListGroupsRequest()) for one in brokers}
    return Running(ask_those_there(sends, ListGroupsResponse, lambda answer: [answer.error_code]))


@pytest.mark.parametrize(
    "error",
    [
        ConnectionFailed("no connection to b2:9092"),
        ConnectionFailed("it was not answered in time", ErrorCode.REQUEST_TIMED_OUT),
        ApiError(ErrorCode.BROKER_NOT_AVAILABLE, "the cluster has no broker 2"),
    ],
)
def test_who_does_not_answer_is_named_and_not_asked_again(error: ApiError) -> None:
    running = asked(1, 2)
    answer = ListGroupsResponse()
    running.answer(answer, error)
    assert running.result == ({1: answer}, {2: error})
    assert missing_of(running.result[1]) == {2: f"broker 2 does not answer: {error}"}


def test_who_refuses_for_a_while_is_asked_again_without_the_others() -> None:
    running = asked(1, 2, 3)
    lost = ConnectionFailed("it hung up")
    loading = ListGroupsResponse(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    running.answer(loading, ListGroupsResponse(), lost)
    assert running.pause.error.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert [(send.to, code) for send, code in running.pause.refused] == [(ToNode(1), loading.error_code)]
    running.resume()
    assert [send.to for send in running.sends] == [ToNode(1)]
    running.answer(loading)
    assert running.pause.number == 1
    running.resume()
    running.answer(ListGroupsResponse())
    answers, silent = running.result
    assert sorted(answers) == [1, 2]
    assert silent == {3: lost}


def test_another_failure_ends_it() -> None:
    running = asked(1)
    with pytest.raises(ApiError, match="a value does not fit"):
        running.answer(ApiError(ErrorCode.INVALID_REQUEST, "a value does not fit"))
