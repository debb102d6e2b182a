"""The handlers of a broker, by API key.

What the controller decides (`Serves.by_controller`) is served to clients by every broker: `forwarded_request`
stands in front of its handler, which then runs at the controller.

The generated `index` lists the served APIs. A handler's module is imported with its first request, or by
`load_by_and_by` when the loop has time, so that a start does not wait for all modules.
"""

from collections.abc import Callable
from dataclasses import fields, replace
from importlib import import_module
from typing import Any

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import Steps
from odradek.server.edge.context import RequestContext, Respond, Response
from odradek.server.edge.dispatch import Handler
from odradek.server.edge.serving import Serves
from odradek.server.handlers.index import INDEX, Row
from odradek.server.node.code_loading import LoadCode, load_modules
from odradek.server.node.core import BrokerCore
from odradek.server.node.forwarded_request import forward
from odradek.wire.apis import APIS
from odradek.wire.message import Message


def _now(call: Callable[[], Any]) -> Any:  # noqa: ANN401 - whatever the call returns
    return call()


class Handlers:
    """The handlers by API key: for clients, or, with `for_brokers`, for the other brokers.

    Clients that send a request which only brokers may send get CLUSTER_AUTHORIZATION_FAILED. A module whose
    API serves followers, too, has a `handle_client`, which serves no client as a follower.

    Brokers get the APIs that brokers send and no others (`Row.between_brokers`): a client that finds their
    listener learns so from ApiVersions, and does not work with addresses and limits that are not for clients.
    """

    def __init__(self, *, for_brokers: bool = False, load_code: LoadCode = _now) -> None:
        self._for_brokers = for_brokers
        self._load_code = load_code
        served = [row for row in INDEX if row.between_brokers or not for_brokers]
        self.api_keys = tuple(row.key for row in served)
        """All APIs that are served, loaded or not."""
        self._unloaded: dict[int, Row] = {row.key: row for row in served}
        self._loaded: dict[int, Handler[BrokerCore]] = {}

    def get(self, api_key: int) -> Handler[BrokerCore] | None:
        """The handler of an API, or None when it is not served."""
        handler = self._loaded.get(api_key)
        if handler is None and api_key in self._unloaded:
            row = self._unloaded.pop(api_key)
            handler = self._load_code(lambda: _load(row, for_brokers=self._for_brokers))
            if APIS[api_key].inter_broker_only and not self._for_brokers:
                handler = replace(handler, handle=_refused_to_clients(handler.refuse))
            elif not self._for_brokers and _is_by_controller(row):
                handler = replace(handler, handle=_forwarded(handler))
            self._loaded[api_key] = handler
        return handler

    def between_brokers(self) -> "Handlers":
        """The handlers for the other brokers."""
        return Handlers(for_brokers=True, load_code=self._load_code)

    def unsupported_api_versions(self) -> Response:
        """The answer to a version of ApiVersions itself that is not served, to be encoded as version 0."""
        from odradek.server.handlers.api_versions import unsupported_version

        return unsupported_version()

    def load_by_and_by(self) -> Steps[None]:
        """Load all handlers, one module per step; the modules that they import are loaded first."""
        yield from load_modules(self._load_code)
        for api_key in self.api_keys:
            self.get(api_key)
            yield


def decided_by_controller(api_key: int) -> Handler[BrokerCore] | None:
    """The handler of an API that the controller decides, to be used there; None for any other API."""
    for row in INDEX:
        if row.key == api_key and _is_by_controller(row):
            return _load(row, for_brokers=True)
    return None


def _is_by_controller(row: Row) -> bool:
    serves: Serves = import_module(f"odradek.server.handlers.{row.module}").SERVES
    return serves.by_controller


def _forwarded(
    handler: Handler[BrokerCore],
) -> Callable[[BrokerCore, RequestContext, Any, Respond], None]:
    def handle(core: BrokerCore, context: RequestContext, request: Any, respond: Respond) -> None:  # noqa: ANN401
        forward(core, handler, context, request, respond)

    return handle


def _load(row: Row, *, for_brokers: bool) -> Handler[BrokerCore]:
    module = import_module(f"odradek.server.handlers.{row.module}")
    api = APIS[row.key]
    response_class = api.response_class
    return Handler(
        api.name,
        row.lowest,
        row.highest,
        api.request_class,
        module.handle if for_brokers else getattr(module, "handle_client", module.handle),
        getattr(module, "refuse", None) or _refusal_of(response_class),
    )


def _refused_to_clients(
    refuse: Callable[[Any, ErrorCode], Response | Steps[Response]] | None,
) -> Callable[[BrokerCore, RequestContext, Any, Respond], None]:
    assert refuse is not None, "what is for brokers alone has an answer that refuses it"

    def handle(core: BrokerCore, context: RequestContext, request: Any, respond: Respond) -> None:  # noqa: ANN401
        respond(refuse(request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED))

    return handle


def _refusal_of(response_class: type[Message]) -> Callable[[Any, ErrorCode], Response] | None:
    """Returns a `refuse` that sets the response's own `error_code`; None if the response has none."""
    if not any(field.name == "error_code" for field in fields(response_class)):  # type: ignore[arg-type]
        return None

    def refuse(request: Any, code: ErrorCode) -> Response:  # noqa: ANN401 - any API's request
        response = response_class()
        setattr(response, "error_code", int(code))  # noqa: B010 - not every message has one
        return response

    return refuse
