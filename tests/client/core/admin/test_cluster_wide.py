"""What a cluster is asked about itself: features, quorum, quotas, credentials, what has settings."""

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError, ElementsRefused
from odradek.client.core.admin.configs import (
    Append,
    ConfigResource,
    Subtract,
    alter_configs,
    list_config_resources,
)
from odradek.client.core.admin.features import (
    Feature,
    FeatureChange,
    describe_features,
    update_features,
)
from odradek.client.core.admin.quorum import QuorumReplica, describe_metadata_quorum
from odradek.client.core.admin.users import (
    ClientQuotas,
    ScramCredential,
    describe_client_quotas,
    describe_user_scram_credentials,
)
from odradek.client.core.requests import ToController
from odradek.wire.messages.api_versions import (
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from odradek.wire.messages.describe_client_quotas import (
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    EntityData,
    EntryData,
    ValueData,
)
from odradek.wire.messages.describe_quorum import (
    DescribeQuorumResponse,
    PartitionDataResponse,
    ReplicaState,
    TopicDataResponse,
)
from odradek.wire.messages.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)
from odradek.wire.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from odradek.wire.messages.list_config_resources import ConfigResource as Listed
from odradek.wire.messages.list_config_resources import (
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)
from odradek.wire.messages.update_features import UpdateFeaturesRequest, UpdateFeaturesResponse
from tests.client.core.running import Running


def test_a_feature_has_a_level_within_bounds() -> None:
    running = Running(describe_features())
    assert running.sends[0].lowest == 3
    running.answer(
        ApiVersionsResponse(
            supported_features=[
                SupportedFeatureKey("group.version", 0, 1),
                SupportedFeatureKey("kraft.version", 0, 1),
            ],
            finalized_features=[
                FinalizedFeatureKey("group.version", max_version_level=1, min_version_level=1)
            ],
        )
    )
    assert running.result == [Feature("group.version", 1, 0, 1), Feature("kraft.version", 0, 0, 1)]


def test_levels_are_changed_by_the_controller() -> None:
    running = Running(
        update_features({"group.version": 0}, change=FeatureChange.SAFE_DOWNGRADE, validate_only=True)
    )
    running.answer(UpdateFeaturesResponse(error_code=ErrorCode.NOT_CONTROLLER))
    running.resume()
    (send,) = running.sends
    assert (send.to, send.lowest) == (ToController(), 1)
    assert isinstance(send.request, UpdateFeaturesRequest)
    assert send.request.validate_only
    (update,) = send.request.feature_updates
    assert (update.feature, update.max_version_level, update.upgrade_type) == ("group.version", 0, 2)
    with pytest.raises(ApiError, match="the features: levels are fixed"):
        running.answer(
            UpdateFeaturesResponse(
                error_code=ErrorCode.INVALID_UPDATE_VERSION, error_message="levels are fixed"
            )
        )


def quorum(found: PartitionDataResponse) -> DescribeQuorumResponse:
    return DescribeQuorumResponse(topics=[TopicDataResponse("__cluster_metadata", [found])])


def test_the_quorum_is_asked_for_until_there_is_a_leader() -> None:
    running = Running(describe_metadata_quorum())
    running.answer(quorum(PartitionDataResponse(0, ErrorCode.LEADER_NOT_AVAILABLE)))
    running.resume()
    voter = ReplicaState(1, log_end_offset=90, last_fetch_timestamp=5, last_caught_up_timestamp=-1)
    observer = ReplicaState(4, log_end_offset=80)
    running.answer(quorum(PartitionDataResponse(0, 0, None, 1, 7, 88, [voter], [observer])))
    found = running.result
    assert (found.leader, found.leader_epoch, found.high_watermark) == (1, 7, 88)
    assert found.voters == [QuorumReplica(1, 90, 5, None)]
    assert found.observers == [QuorumReplica(4, 80, None, None)]


def test_quotas_are_asked_for_by_parts_of_their_entities() -> None:
    running = Running(describe_client_quotas({"user": "ann", "ip": None}, any_of=["client-id"], strict=True))
    request = running.sends[0].request
    assert isinstance(request, DescribeClientQuotasRequest)
    assert request.strict
    assert [(one.entity_type, one.match_type, one.match) for one in request.components] == [
        ("user", 0, "ann"),
        ("ip", 1, None),
        ("client-id", 2, None),
    ]
    entry = EntryData([EntityData("user", "ann")], [ValueData("producer_byte_rate", 1024.0)])
    running.answer(DescribeClientQuotasResponse(entries=[entry]))
    assert running.result == [ClientQuotas({"user": "ann"}, {"producer_byte_rate": 1024.0})]


def test_an_entity_that_has_no_quotas_is_refused_before_it_is_asked_for() -> None:
    with pytest.raises(ValueError, match="quotas are those of one of user, client-id, ip, not of 'host'"):
        Running(describe_client_quotas({"host": "a"}))


def test_a_user_without_credentials_is_named() -> None:
    running = Running(describe_user_scram_credentials(["ann", "bob", "ann"]))
    request = running.sends[0].request
    assert isinstance(request, DescribeUserScramCredentialsRequest)
    assert [one.name for one in request.users or []] == ["ann", "bob"]
    missing = DescribeUserScramCredentialsResult("bob", ErrorCode.RESOURCE_NOT_FOUND, "there is no user bob")
    known = DescribeUserScramCredentialsResult("ann", credential_infos=[CredentialInfo(2, 8_192)])
    with pytest.raises(ElementsRefused, match="there is no user bob; described: ann") as refused:
        running.answer(DescribeUserScramCredentialsResponse(results=[missing, known]))
    assert refused.value.refused["bob"].code is ErrorCode.RESOURCE_NOT_FOUND


def test_credentials_have_a_mechanism_and_iterations() -> None:
    running = Running(describe_user_scram_credentials())
    request = running.sends[0].request
    assert isinstance(request, DescribeUserScramCredentialsRequest)
    assert request.users is None
    found = DescribeUserScramCredentialsResult(
        "ann", credential_infos=[CredentialInfo(1, 4_096), CredentialInfo(9, 1)]
    )
    running.answer(DescribeUserScramCredentialsResponse(results=[found]))
    assert running.result == {"ann": [ScramCredential("SCRAM-SHA-256", 4_096), ScramCredential("unknown", 1)]}


def test_what_has_settings_is_listed_by_kind() -> None:
    running = Running(list_config_resources(["topic", "client-metrics"]))
    (send,) = running.sends
    assert isinstance(send.request, ListConfigResourcesRequest)
    assert (send.request.resource_types, send.lowest) == ([2, 16], 1)
    running.answer(
        ListConfigResourcesResponse(
            config_resources=[
                Listed("b", resource_type=2),
                Listed("a", resource_type=2),
                Listed("?", resource_type=99),
            ]
        )
    )
    assert running.result == [ConfigResource("topic", "a"), ConfigResource("topic", "b")]
    with pytest.raises(ValueError, match="not of 'user'"):
        Running(list_config_resources(["user"]))


def test_lists_are_added_to_and_taken_from() -> None:
    changes = {"a": "1", "b": None, "c": Append("x,y"), "d": Subtract("z")}
    running = Running(alter_configs("topic", "flights", changes))
    request = running.sends[0].request
    assert isinstance(request, IncrementalAlterConfigsRequest)
    (resource,) = request.resources
    assert [(one.name, one.config_operation, one.value) for one in resource.configs] == [
        ("a", 0, "1"),
        ("b", 1, None),
        ("c", 2, "x,y"),
        ("d", 3, "z"),
    ]
