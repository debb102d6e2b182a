"""What is said of a topic that was asked for and is not made."""

from typing import cast

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.client.configuration import ClientConfig
from odradek.client.leader_connections import LeaderConnections
from odradek.testing import Broker
from odradek.wire.messages.metadata import MetadataResponse, MetadataResponseTopic


class Answers:
    """A broker, as configuration and as connection, that answers about the topic with these codes in turn."""

    def __init__(self, *codes: ErrorCode) -> None:
        self.codes = list(codes)

    def connect(self) -> "Answers":
        return self

    def __enter__(self) -> "Answers":
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to close."""

    def version_of(self, request: type, most: int) -> int:
        return most

    def call(self, *_: object) -> MetadataResponse:
        return MetadataResponse(topics=[MetadataResponseTopic(self.codes.pop(0), "t")])


def refusal(answers: Answers, *, unknown_may_come: bool = True) -> ApiError:
    """What is raised when all answers have been given."""
    connections = LeaderConnections(cast(ClientConfig, answers), ["t"], may_create=True)
    with pytest.raises(ApiError) as refused:
        connections.wait_for_topic("t", lambda: not answers.codes, unknown_may_come=unknown_may_come)
    return refused.value


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "there is no topic t: the brokers do not create topics"),
        (ErrorCode.LEADER_NOT_AVAILABLE, "topic t is not created yet: the controller does not answer"),
        (ErrorCode.INVALID_REPLICATION_FACTOR, "default.replication.factor needs as many brokers"),
        (ErrorCode.POLICY_VIOLATION, "topic t cannot be created: policy violation"),
    ],
)
def test_the_last_answer_says_why_a_topic_is_not_there(code: ErrorCode, words: str) -> None:
    refused = refusal(Answers(ErrorCode.LEADER_NOT_AVAILABLE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, code))
    assert refused.code is code
    assert words in str(refused)


def test_where_an_unknown_topic_does_not_come_it_is_not_waited_for() -> None:
    answers = Answers(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NONE)
    refused = refusal(answers, unknown_may_come=False)
    assert answers.codes == [ErrorCode.NONE]
    assert str(refused) == "there is no topic t, and the broker does not create topics by itself"


@pytest.mark.integration
@pytest.mark.parametrize(
    ("setting", "code"),
    [
        ({"default.replication.factor": "3"}, ErrorCode.INVALID_REPLICATION_FACTOR),
        ({"auto.create.topics.enable": "false"}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
def test_a_broker_says_why_it_makes_no_topic(setting: dict[str, str], code: ErrorCode) -> None:
    with Broker(settings=setting) as broker:
        config = ClientConfig(broker.bootstrap_servers)
        with (
            LeaderConnections(config, ["t"], may_create=True) as connections,
            pytest.raises(ApiError) as refused,
        ):
            connections.wait_for_topic("t", lambda: True)
    assert refused.value.code is code
