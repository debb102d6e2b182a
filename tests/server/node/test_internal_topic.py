"""Internal topics that cannot be made."""

import pytest

from odradek.base.error_codes import ErrorCode
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
