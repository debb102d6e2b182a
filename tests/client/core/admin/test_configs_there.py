"""Settings of several brokers at once."""

from odradek.base.error_codes import ErrorCode
from odradek.client.core.admin.configs import configs_of_brokers_there
from odradek.client.core.requests import ToNode
from odradek.net.request_pipeline import ConnectionFailed
from odradek.wire.messages.describe_configs import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from tests.client.core.running import Running


def test_the_settings_are_those_of_the_brokers_that_tell_them() -> None:
    running = Running(configs_of_brokers_there([1, 2, 3]))
    assert [send.to for send in running.sends] == [ToNode(1), ToNode(2), ToNode(3)]
    entry = DescribeConfigsResourceResult("log.dirs", "/d")
    running.answer(
        DescribeConfigsResponse(results=[DescribeConfigsResult(configs=[entry])]),
        ConnectionFailed("gone"),
        DescribeConfigsResponse(
            results=[DescribeConfigsResult(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)]
        ),
    )
    told = running.result
    assert [(broker, [one.name for one in entries]) for broker, entries in told.items()] == [
        (1, ["log.dirs"])
    ]
