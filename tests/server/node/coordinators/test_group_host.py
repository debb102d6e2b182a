import logging

import pytest

from odradek.server.edge.complaints import SAID_MAX, WINDOW_MS
from odradek.testing.sim import SimNode
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest
from odradek.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from odradek.wire.messages.leave_group import LeaveGroupRequest


def rebalance(node: SimNode, group_id: str) -> str:
    """Join alone, which is a generation; returns the member's id."""
    protocols = [JoinGroupRequestProtocol("range", b"m")]
    request = JoinGroupRequest(group_id, 10_000, 20_000, protocol_type="consumer", protocols=protocols)
    return str(node.ask(request, 3).member_id)


@pytest.fixture
def groups(node: SimNode) -> SimNode:
    assert node.ask(FindCoordinatorRequest(coordinator_keys=["g"])).coordinators[0].error_code == 0
    return node


def test_a_rebalance_is_logged_with_its_generation_and_members(
    groups: SimNode, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "odradek")
    member_id = rebalance(groups, "payments\n")
    assert caplog.messages == ["the group 'payments\\n' is rebalanced: generation 1, members: 1"]
    named = vars(caplog.records[0])
    assert (named["group"], named["generation"], named["members"]) == ("payments\n", 1, 1)
    groups.ask(LeaveGroupRequest("payments\n", member_id), 1)
    rebalance(groups, "payments\n")
    assert caplog.messages[1] == "the group 'payments\\n' is rebalanced: generation 3, members: 1"


def test_members_do_not_decide_how_much_is_logged(groups: SimNode, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "odradek")
    for number in range(SAID_MAX + 5):
        rebalance(groups, f"g{number}")
    assert len(caplog.messages) == SAID_MAX
    caplog.clear()
    groups.advance(WINDOW_MS)
    rebalance(groups, "late")
    assert "5 more rebalances of groups were not logged" in caplog.messages
