"""ApiVersions: the APIs that are served, in which versions (KIP-35), and the client's software (KIP-511)."""

import re
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.server.edge.context import RequestContext, Respond
from odradek.server.edge.serving import Serves
from odradek.server.handlers.index import INDEX
from odradek.server.node.core import BrokerCore
from odradek.wire.apis import APIS
from odradek.wire.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)

SERVES: Final = Serves(18, 0, 5, kips={0: 35, 3: 511, 5: 1242}, by_brokers=True)

_SOFTWARE: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
_FIRST_WITH_SOFTWARE: Final = 3
_FIRST_WITH_FEATURES_FROM_0: Final = 4
"""In earlier versions, clients fail at a feature whose lowest level is 0."""

_ANY_NODE: Final = -1

FEATURES: Final = {"group.version": 1, "transaction.version": 2}
"""Levels in force by feature; all levels from 0 up to it are supported. Clients use transactions v2 and the
consumer group protocol only if this answer lists them."""
_FEATURES_EPOCH: Final = 0
"""The epoch of the features, which never change; -1 would mean unknown."""


def handle_client(
    core: BrokerCore, context: RequestContext, request: ApiVersionsRequest, respond: Respond
) -> None:
    """Answer with the APIs that clients may use."""
    respond(_response(core, context, request, _served()))


def handle(core: BrokerCore, context: RequestContext, request: ApiVersionsRequest, respond: Respond) -> None:
    """Answer with the APIs that brokers use among themselves."""
    respond(_response(core, context, request, _served_to_brokers()))


def _response(
    core: BrokerCore, context: RequestContext, request: ApiVersionsRequest, served: list[ApiVersion]
) -> ApiVersionsResponse:
    response = ApiVersionsResponse()
    if context.api_version >= _FIRST_WITH_SOFTWARE and not (
        _SOFTWARE.fullmatch(request.client_software_name)
        and _SOFTWARE.fullmatch(request.client_software_version)
    ):
        response.error_code = ErrorCode.INVALID_REQUEST
    elif not _is_meant_here(core, request):
        response.error_code = ErrorCode.REBOOTSTRAP_REQUIRED
    else:
        software = f"{request.client_software_name} {request.client_software_version}".strip()
        context.client.identify(context.client_id or "", software)
        response.api_keys = served
        if context.api_version >= _FIRST_WITH_FEATURES_FROM_0:
            response.supported_features = [
                SupportedFeatureKey(name, 0, level) for name, level in FEATURES.items()
            ]
        response.finalized_features_epoch = _FEATURES_EPOCH
        response.finalized_features = [
            FinalizedFeatureKey(name, max_version_level=level, min_version_level=level)
            for name, level in FEATURES.items()
        ]
    return response


def _is_meant_here(core: BrokerCore, request: ApiVersionsRequest) -> bool:
    """Whether this is the cluster and the broker that the request names, if it names them (KIP-1242)."""
    is_cluster = request.cluster_id is None or request.cluster_id == core.image.cluster_id
    return is_cluster and request.node_id in (_ANY_NODE, core.broker_id)


def unsupported_version() -> ApiVersionsResponse:
    """The answer to an unsupported version of ApiVersions itself, to be encoded as version 0."""
    return ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=_served())


def _served() -> list[ApiVersion]:
    """The APIs that clients may use."""
    return [
        ApiVersion(row.key, row.listed_from, row.highest)
        for row in INDEX
        if not APIS[row.key].inter_broker_only
    ]


def _served_to_brokers() -> list[ApiVersion]:
    return [ApiVersion(row.key, row.lowest, row.highest) for row in INDEX if row.between_brokers]
