"""What operations do with an answer that says nothing of what was asked, or too much: a typed error."""

from collections.abc import Callable

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.client.core.admin.configs import alter_configs, describe_configs
from odradek.client.core.admin.groups import delete_group, describe_group
from odradek.client.core.admin.transactions import describe_transaction
from odradek.client.core.operation import Operation, Pause
from odradek.client.core.requests import Outcome
from odradek.wire.message import Message
from odradek.wire.messages.consumer_group_describe import (
    ConsumerGroupDescribeResponse,
)
from odradek.wire.messages.consumer_group_describe import (
    DescribedGroup as DescribedConsumerGroup,
)
from odradek.wire.messages.delete_groups import DeletableGroupResult, DeleteGroupsResponse
from odradek.wire.messages.describe_configs import DescribeConfigsResponse, DescribeConfigsResult
from odradek.wire.messages.describe_groups import DescribedGroup, DescribeGroupsResponse
from odradek.wire.messages.describe_transactions import DescribeTransactionsResponse, TransactionState
from odradek.wire.messages.incremental_alter_configs import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)

NO_GROUP = ConsumerGroupDescribeResponse(
    groups=[DescribedConsumerGroup(group_id="g", error_code=ErrorCode.GROUP_ID_NOT_FOUND)]
)
"""So the classic description is asked for."""


def run(operation: Operation[object], *answers: Message) -> object:
    """Answer one request after another."""
    asked = next(operation)
    for answer in answers:
        assert not isinstance(asked, Pause)
        (send,) = asked
        try:
            asked = operation.send([Outcome(send, answer)])
        except StopIteration as end:
            return end.value
    raise AssertionError("it asks for more")


@pytest.mark.parametrize("count", [0, 2])
@pytest.mark.parametrize(
    ("operation", "answers"),
    [
        (
            lambda: describe_group("g"),
            lambda count: [ConsumerGroupDescribeResponse(groups=[DescribedConsumerGroup()] * count)],
        ),
        (
            lambda: describe_group("g"),
            lambda count: [NO_GROUP, DescribeGroupsResponse(groups=[DescribedGroup()] * count)],
        ),
        (
            lambda: delete_group("g"),
            lambda count: [DeleteGroupsResponse(results=[DeletableGroupResult()] * count)],
        ),
        (
            lambda: describe_configs("topic", "t"),
            lambda count: [DescribeConfigsResponse(results=[DescribeConfigsResult()] * count)],
        ),
        (
            lambda: alter_configs("topic", "t", {"retention.ms": "1"}),
            lambda count: [
                IncrementalAlterConfigsResponse(responses=[AlterConfigsResourceResponse()] * count)
            ],
        ),
        (
            lambda: describe_transaction("x"),
            lambda count: [DescribeTransactionsResponse(transaction_states=[TransactionState()] * count)],
        ),
    ],
    ids=["consumer group", "classic group", "deletion", "settings", "alteration", "transaction"],
)
def test_an_answer_without_one_entry_is_an_error(
    operation: Callable[[], Operation[object]], answers: Callable[[int], list[Message]], count: int
) -> None:
    """Else a deletion that never happened would be taken for one."""
    with pytest.raises(ApiError, match=f"the broker's answer has {count} entries instead of one") as raised:
        run(operation(), *answers(count))
    assert raised.value.code is ErrorCode.UNKNOWN_SERVER_ERROR


def test_one_entry_is_the_answer() -> None:
    assert run(delete_group("g"), DeleteGroupsResponse(results=[DeletableGroupResult(group_id="g")])) is None
