"""UpdateFeatures: refused as Apache Kafka 4.3 refuses it; levels are fixed (compat compares the two)."""

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.testing.sim import SimNode
from odradek.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest

UPGRADE, SAFE, UNSAFE = 1, 2, 3


@pytest.mark.parametrize("version", [0, 1, 2])
@pytest.mark.parametrize("validate_only", [False, True])
def test_the_levels_in_force_are_accepted(node: SimNode, version: int, validate_only: bool) -> None:
    updates = [FeatureUpdateKey("group.version", 1), FeatureUpdateKey("transaction.version", 2)]
    if version == 0:
        validate_only = False
    answer = node.ask(UpdateFeaturesRequest(1_000, updates, validate_only), version)
    assert (answer.error_code, answer.error_message) == (ErrorCode.NONE, None)
    named = [] if version > 1 else ["group.version", "transaction.version"]
    assert [(one.feature, one.error_code) for one in answer.results] == [(one, 0) for one in named]


@pytest.mark.parametrize(
    ("feature", "level", "kind", "sentence"),
    [
        ("nonsense", 1, UPGRADE, "feature nonsense is not supported"),
        ("metadata.version", 30, UPGRADE, "feature metadata.version is not supported"),
        ("transaction.version", 3, UPGRADE, "has levels 0 to 2, not 3"),
        ("transaction.version", -1, UNSAFE, "has levels 0 to 2, not -1"),
        ("transaction.version", 1, UPGRADE, "levels are fixed, and no downgrade was asked for"),
        ("transaction.version", 1, SAFE, "stays at level 2: levels are fixed"),
        ("group.version", 0, UNSAFE, "stays at level 1: levels are fixed"),
        ("transaction.version", 2, 0, "there is no upgrade type 0"),
        ("transaction.version", 2, 4, "there is no upgrade type 4"),
    ],
)
def test_what_cannot_be_is_refused_for_all(
    node: SimNode, feature: str, level: int, kind: int, sentence: str
) -> None:
    updates = [FeatureUpdateKey("group.version", 1), FeatureUpdateKey(feature, level, upgrade_type=kind)]
    answer = node.ask(UpdateFeaturesRequest(1_000, updates), 2)
    assert answer.error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert answer.error_message is not None
    assert answer.error_message.startswith("no feature was changed: ")
    assert sentence in answer.error_message


@pytest.mark.parametrize("allow_downgrade", [False, True])
def test_the_first_version_has_a_flag_for_downgrades(node: SimNode, allow_downgrade: bool) -> None:
    """KIP-584."""
    update = FeatureUpdateKey("transaction.version", 1, allow_downgrade)
    answer = node.ask(UpdateFeaturesRequest(1_000, [update]), 0)
    assert answer.error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert answer.results == []
    assert (answer.error_message or "").endswith("no downgrade was asked for") is not allow_downgrade
