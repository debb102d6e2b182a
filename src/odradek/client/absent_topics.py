"""Says why a topic that the brokers may create is not there."""

from odradek.base.error_codes import ErrorCode
from odradek.client.refusal import words_of


def why_absent(topic: str, code: ErrorCode, *, unknown_may_come: bool = True) -> str:
    """A sentence; `code` is what a broker says of the topic.

    Apache Kafka calls a topic unknown also while it makes it, a broker of Odradek does not: without
    `unknown_may_come` an unknown topic is not being made.
    """
    match code:
        case ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if unknown_may_come:
            return (
                f"there is no topic {topic}: the brokers do not create topics by themselves"
                " (auto.create.topics.enable), or the controller does not answer"
            )
        case ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            return f"there is no topic {topic}, and the broker does not create topics by itself"
        case ErrorCode.LEADER_NOT_AVAILABLE:
            return f"topic {topic} is not created yet: the controller does not answer, or is not done with it"
        case ErrorCode.INVALID_REPLICATION_FACTOR:
            return (
                f"topic {topic} cannot be created: default.replication.factor needs as many brokers,"
                " and there are fewer"
            )
    return f"topic {topic} cannot be created: {words_of(code)}"
