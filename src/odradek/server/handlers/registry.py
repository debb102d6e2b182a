"""The APIs that this broker serves: names of the wire's, each with a module of the same name in this folder.

Law: what stands here is what ApiVersions tells, and nothing else is told. A module is imported when the first
request for it comes, or by `load_next` when there is time, so that a start does not wait for all of them.
"""

from collections.abc import Callable
from dataclasses import fields
from importlib import import_module
from typing import Any, Final

from odradek.base.error_codes import ErrorCode
from odradek.server.edge.context import Response
from odradek.server.edge.dispatch import Handler
from odradek.wire.apis import APIS, Api
from odradek.wire.message import Message

SERVED: Final = frozenset(
    {
        "AddOffsetsToTxn",
        "AddPartitionsToTxn",
        "AlterConfigs",
        "ApiVersions",
        "ConsumerGroupDescribe",
        "ConsumerGroupHeartbeat",
        "CreateAcls",
        "CreatePartitions",
        "CreateTopics",
        "DeleteAcls",
        "DeleteGroups",
        "DeleteRecords",
        "DeleteTopics",
        "DescribeAcls",
        "DescribeClientQuotas",
        "DescribeCluster",
        "DescribeConfigs",
        "DescribeGroups",
        "DescribeLogDirs",
        "DescribeProducers",
        "DescribeTopicPartitions",
        "DescribeTransactions",
        "DescribeUserScramCredentials",
        "EndTxn",
        "Fetch",
        "FindCoordinator",
        "Heartbeat",
        "IncrementalAlterConfigs",
        "InitProducerId",
        "JoinGroup",
        "LeaveGroup",
        "ListConfigResources",
        "ListGroups",
        "ListOffsets",
        "ListPartitionReassignments",
        "ListTransactions",
        "Metadata",
        "OffsetCommit",
        "OffsetDelete",
        "OffsetFetch",
        "OffsetForLeaderEpoch",
        "Produce",
        "SaslAuthenticate",
        "SaslHandshake",
        "SyncGroup",
        "TxnOffsetCommit",
        "WriteTxnMarkers",
    }
)


class Handlers:
    """The handlers by API key."""

    def __init__(self) -> None:
        self.api_keys = tuple(key for key, api in APIS.items() if api.name in SERVED)
        """Everything that is served, loaded or not."""
        # In the order in which `load_next` takes them.
        self._unloaded: dict[int, None] = dict.fromkeys(self.api_keys)
        self._loaded: dict[int, Handler] = {}

    def get(self, api_key: int) -> Handler | None:
        """The handler of an API, or None when it is not served."""
        handler = self._loaded.get(api_key)
        if handler is None and api_key in self._unloaded:
            del self._unloaded[api_key]
            handler = self._loaded[api_key] = _load(APIS[api_key])
        return handler

    def load_next(self) -> bool:
        """Load one more; whether there was one."""
        api_key = next(iter(self._unloaded), None)
        return api_key is not None and self.get(api_key) is not None


def _load(api: Api) -> Handler:
    module = import_module(f"odradek.server.handlers.{api.snake_name}")
    assert api.key == module.API_KEY, f"{module.__name__} serves another API than its name says"
    response_class = api.response_class
    return Handler(
        api.name,
        api.versions.lowest,
        api.versions.highest,
        api.request_class,
        module.handle,
        getattr(module, "refuse", None) or _refusal_of(response_class),
    )


def _refusal_of(response_class: type[Message]) -> Callable[[Any, ErrorCode], Response] | None:
    """Answer with the response's own error code, where it has one for the request as a whole."""
    if not any(field.name == "error_code" for field in fields(response_class)):  # type: ignore[arg-type]
        return None

    def refuse(request: Any, code: ErrorCode) -> Response:  # noqa: ANN401 - any API's request
        response = response_class()
        setattr(response, "error_code", int(code))  # noqa: B010 - not every message has one
        return response

    return refuse
