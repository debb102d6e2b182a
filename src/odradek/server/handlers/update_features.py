"""UpdateFeatures: other levels of features (KIP-584, KIP-778, KIP-1022); they are fixed here.

What Kafka refuses is refused with its error, the first fault for all. An update to the level in force is
accepted, and changes nothing. A downgrade that Kafka would carry out is refused, too.
"""

from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import Pace, Steps
from odradek.server.edge.context import RequestContext, Respond, Response
from odradek.server.edge.serving import Serves
from odradek.server.handlers.api_versions import FEATURES
from odradek.server.node.core import BrokerCore
from odradek.wire.messages.update_features import (
    FeatureUpdateKey,
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)

SERVES: Final = Serves(57, 0, 2, kips={0: 584, 1: 778, 2: 1022})

_FIRST_WITH_TYPES: Final = 1
_UPGRADE: Final = 1
_SAFE_DOWNGRADE: Final = 2
_UNSAFE_DOWNGRADE: Final = 3


def handle(
    core: BrokerCore, context: RequestContext, request: UpdateFeaturesRequest, respond: Respond
) -> None:
    """Answer whether all features have these levels."""
    respond(_checked(request, has_types=context.api_version >= _FIRST_WITH_TYPES))


def _checked(request: UpdateFeaturesRequest, *, has_types: bool) -> Steps[Response]:
    response = UpdateFeaturesResponse(error_message=None)
    pace = Pace()
    for update in request.feature_updates:
        fault = _fault_in(update, has_types=has_types)
        if fault is not None:
            message = f"no feature was changed: {fault}"
            return UpdateFeaturesResponse(error_code=ErrorCode.INVALID_UPDATE_VERSION, error_message=message)
        response.results.append(UpdatableFeatureResult(update.feature, ErrorCode.NONE, None))
        if pace.is_over():
            yield
    return response


def _fault_in(update: FeatureUpdateKey, *, has_types: bool) -> str | None:
    """What is wrong with an update, or None if the feature has this level."""
    name, level = update.feature, update.max_version_level
    kind = update.upgrade_type
    if not has_types:
        kind = _SAFE_DOWNGRADE if update.allow_downgrade else _UPGRADE
    if kind not in (_UPGRADE, _SAFE_DOWNGRADE, _UNSAFE_DOWNGRADE):
        return f"there is no upgrade type {kind}"
    if name not in FEATURES:
        return f"feature {name} is not supported"
    in_force = FEATURES[name]
    if not 0 <= level <= in_force:
        return f"feature {name} has levels 0 to {in_force}, not {level}"
    if level < in_force:
        wish = "" if kind != _UPGRADE else ", and no downgrade was asked for"
        return f"feature {name} stays at level {in_force}: levels are fixed{wish}"
    return None
