"""Internal topics that cannot be made."""

from collections.abc import Callable

import pytest

from odradek.base.clock import ManualClock
from odradek.base.error_codes import ErrorCode
from odradek.metadata.controller.requests import Answer, Refused
from odradek.metadata.image import ClusterImage
from odradek.server.node.internal_topic import InternalTopic, InternalTopicSpec, TopicMaking
from odradek.timer import Purgatory, Timer
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest
from tests.server.nodes import NewNode


def test_a_refused_internal_topic_is_logged_once(new_node: NewNode, caplog: pytest.LogCaptureFixture) -> None:
    node = new_node(offsets_topic_segment_bytes="1000")  # less than segment.bytes allows
    for _ in range(3):
        (found,) = node.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=["g"])).coordinators
        assert found.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    (said,) = [record.getMessage() for record in caplog.records if "cannot be made" in record.getMessage()]
    assert said.startswith("__consumer_offsets cannot be made: "), said
    assert "segment.bytes" in said, "the setting that is to be changed"


class Controller:
    """It answers at once, or not at all."""

    def __init__(self, answer: Refused | None) -> None:
        self.answer = answer
        self.asked = 0

    def submit(self, request: object, answered: Callable[[Answer], None]) -> None:
        self.asked += 1
        if self.answer is not None:
            answered(self.answer)


@pytest.mark.parametrize("answer", [Refused(ErrorCode.NOT_CONTROLLER, "no"), None])
def test_a_refusal_at_once_is_returned_and_the_topic_is_asked_for_once(answer: Refused | None) -> None:
    """The result is returned, or given to `later` after the call: never before it returns."""
    controller, clock = Controller(answer), ManualClock()
    making = TopicMaking(ClusterImage(), controller, Purgatory("Topic", Timer(clock)), clock)
    topic = InternalTopic(making, InternalTopicSpec("__consumer_offsets", 3, 1, {}))
    events: list[object] = []
    found = [topic.find(key, events.append) for key in ("a", "b")]
    assert events == []
    if answer is None:
        assert (found, controller.asked) == ([None, None], 1)
    else:
        assert (found, controller.asked) == ([ErrorCode.COORDINATOR_NOT_AVAILABLE] * 2, 2)
