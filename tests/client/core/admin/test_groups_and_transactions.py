"""Members that are removed from a group, and lists of groups and transactions with filters."""

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError, ElementsRefused
from odradek.client.core.admin.groups import list_groups, remove_members_from_group
from odradek.client.core.admin.transactions import list_transactions
from odradek.client.core.operation import Operation
from odradek.client.core.requests import ToCoordinator, ToNode
from odradek.wire.messages.consumer_group_describe import ConsumerGroupDescribeResponse
from odradek.wire.messages.consumer_group_describe import DescribedGroup as DescribedConsumerGroup
from odradek.wire.messages.describe_cluster import DescribeClusterBroker, DescribeClusterResponse
from odradek.wire.messages.describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsResponse,
)
from odradek.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberResponse
from odradek.wire.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from odradek.wire.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from tests.client.core.running import Running

NOT_CONSUMER = ConsumerGroupDescribeResponse(
    groups=[DescribedConsumerGroup(group_id="billing", error_code=ErrorCode.GROUP_ID_NOT_FOUND)]
)
TWO_BROKERS = DescribeClusterResponse(
    brokers=[DescribeClusterBroker(2, "b", 1), DescribeClusterBroker(1, "a", 1)]
)


def leaving(running: Running[None]) -> list[tuple[str, str | None, str | None]]:
    (send,) = running.sends
    assert (send.to, send.lowest) == (ToCoordinator("billing"), 3)
    assert isinstance(send.request, LeaveGroupRequest)
    return [(one.member_id, one.group_instance_id, one.reason) for one in send.request.members]


def test_static_members_are_named_by_their_instance_ids() -> None:
    running = Running(remove_members_from_group("billing", ["desk-1", "desk-2"], reason="moving"))
    reason = "member was removed by an admin: moving"
    assert leaving(running) == [("", "desk-1", reason), ("", "desk-2", reason)]
    running.answer(LeaveGroupResponse(error_code=ErrorCode.NOT_COORDINATOR))
    running.resume()
    with pytest.raises(ElementsRefused, match="desk-2: unknown member id; removed: desk-1"):
        running.answer(
            LeaveGroupResponse(
                members=[
                    MemberResponse("", "desk-1", ErrorCode.NONE),
                    MemberResponse("", "desk-2", ErrorCode.UNKNOWN_MEMBER_ID),
                ]
            )
        )


def test_all_members_are_those_that_the_group_has() -> None:
    running = Running(remove_members_from_group("billing"))
    running.answer(NOT_CONSUMER)
    members = [DescribedGroupMember("m-1", None), DescribedGroupMember("m-2", "desk-2")]
    group = DescribedGroup(0, group_id="billing", group_state="PreparingRebalance", members=members)
    running.answer(DescribeGroupsResponse(groups=[group]))
    reason = "member was removed by an admin"
    assert leaving(running) == [("m-1", None, reason), ("", "desk-2", reason)]
    running.answer(LeaveGroupResponse(members=[MemberResponse("m-1", None), MemberResponse("m-2", "desk-2")]))
    assert running.result is None


def test_a_group_without_members_has_none_to_remove() -> None:
    running = Running(remove_members_from_group("billing"))
    running.answer(NOT_CONSUMER)
    running.answer(
        DescribeGroupsResponse(groups=[DescribedGroup(0, group_id="billing", group_state="Empty")])
    )
    assert running.result is None


def test_the_reason_is_cut_to_what_brokers_accept() -> None:
    running = Running(remove_members_from_group("billing", ["desk-1"], reason="x" * 300))
    ((_, _, reason),) = leaving(running)
    assert len(reason or "") == 255


def test_groups_are_filtered_by_each_broker() -> None:
    running = Running(list_groups(states=["Stable"], kinds=["classic"]))
    running.answer(TWO_BROKERS)
    assert [send.to for send in running.sends] == [ToNode(1), ToNode(2)]
    for send in running.sends:
        assert isinstance(send.request, ListGroupsRequest)
        assert (send.request.states_filter, send.request.types_filter) == (["Stable"], ["classic"])
        assert send.lowest == 5  # an older broker would list all groups
    running.answer(
        ListGroupsResponse(groups=[ListedGroup("b", "consumer", "Stable", "classic")]),
        ListGroupsResponse(groups=[ListedGroup("a", "consumer", "Stable", "classic")]),
    )
    assert [one.group for one in running.result] == ["a", "b"]


@pytest.mark.parametrize(
    ("operation", "lowest"),
    [
        (list_groups(), 0),
        (list_groups(states=["Empty"]), 4),
        (list_transactions(), 0),
        (list_transactions(7, states=["Ongoing"]), 0),
        (list_transactions(open_for_ms=0), 1),
        (list_transactions(pattern="pay-.*"), 2),
    ],
)
def test_a_filter_is_only_sent_to_brokers_that_understand_it(
    operation: Operation[object], lowest: int
) -> None:
    running = Running(operation)
    running.answer(TWO_BROKERS)
    assert {send.lowest for send in running.sends} == {lowest}


def test_transactions_are_filtered_by_each_broker() -> None:
    running = Running(list_transactions(7, states=["Ongoing", "Lost"], open_for_ms=60_000, pattern="p.*"))
    running.answer(TWO_BROKERS)
    request = running.sends[0].request
    assert isinstance(request, ListTransactionsRequest)
    assert (request.producer_id_filters, request.state_filters) == ([7], ["Ongoing", "Lost"])
    assert (request.duration_filter, request.transactional_id_pattern) == (60_000, "p.*")
    with pytest.raises(ApiError, match="transactions have no state 'Lost'") as refused:
        running.answer(
            ListTransactionsResponse(unknown_state_filters=["Lost"]),
            ListTransactionsResponse(unknown_state_filters=["Lost"]),
        )
    assert refused.value.code is ErrorCode.INVALID_REQUEST
