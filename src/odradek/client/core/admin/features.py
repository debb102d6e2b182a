"""Features of the cluster and their levels (KIP-584, KIP-778, KIP-1022)."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

from odradek.client.core.operation import Operation, ask
from odradek.client.core.requests import REQUEST_TIMEOUT_MS, Send, ToAny, ToController
from odradek.client.refusal import raise_for
from odradek.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from odradek.wire.messages.update_features import (
    FeatureUpdateKey,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)

_FIRST_WITH_FEATURES = 3
_FIRST_WITH_KINDS = 1


class FeatureChange(IntEnum):
    """What an update of a feature's level may be."""

    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    """To a lower level, if nothing is lost by it."""
    UNSAFE_DOWNGRADE = 3
    """To a lower level in any case."""


@dataclass(frozen=True, slots=True)
class Feature:
    """One feature, as the broker that was asked knows it."""

    name: str
    level: int
    """The level in force; 0 if the feature is off."""
    lowest: int
    """The levels that the broker supports; both 0 if it supports none."""
    highest: int


def describe_features() -> Operation[list[Feature]]:
    """The features of the cluster, by name."""
    request = ApiVersionsRequest(client_software_name="odradek", client_software_version="1")
    answer = yield from ask(
        Send(ToAny(), request, lowest=_FIRST_WITH_FEATURES),
        ApiVersionsResponse,
        lambda answer: [answer.error_code],
    )
    raise_for(answer.error_code, about="the features")
    levels = {one.name: one.max_version_level for one in answer.finalized_features}
    bounds = {one.name: (one.min_version, one.max_version) for one in answer.supported_features}
    names = sorted(levels.keys() | bounds.keys())
    return [Feature(one, levels.get(one, 0), *bounds.get(one, (0, 0))) for one in names]


def update_features(
    levels: Mapping[str, int],
    *,
    change: FeatureChange = FeatureChange.UPGRADE,
    validate_only: bool = False,
) -> Operation[None]:
    """Let features have these levels (0: off), or only find out whether they could; all of them, or none.

    Raises ApiError, with INVALID_UPDATE_VERSION for a level that cannot be.
    """
    request = UpdateFeaturesRequest(
        REQUEST_TIMEOUT_MS,
        [FeatureUpdateKey(name, level, upgrade_type=change) for name, level in levels.items()],
        validate_only,
    )
    answer = yield from ask(
        Send(ToController(), request, lowest=_FIRST_WITH_KINDS),
        UpdateFeaturesResponse,
        lambda answer: [answer.error_code, *(one.error_code for one in answer.results)],
    )
    raise_for(answer.error_code, answer.error_message, about="the features")
    for one in answer.results:
        raise_for(one.error_code, one.error_message, about=f"feature {one.feature}")
