"""The answers of a broker without authentication, authorizer and quotas to requests about them."""

from typing import Any

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)
from peers import BrokerProcess

from odradek.base.error_codes import ErrorCode
from odradek.net.blocking_connection import BrokerConnection
from odradek.wire.messages.create_acls import AclCreation, CreateAclsRequest, CreateAclsResponse
from odradek.wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest, DeleteAclsResponse
from odradek.wire.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse
from odradek.wire.messages.describe_client_quotas import (
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)
from odradek.wire.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    UserName,
)
from odradek.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from odradek.wire.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from odradek.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

TOPIC, LITERAL, READ, ALLOW, ANY = 2, 3, 3, 3, 1


@pytest.mark.parametrize("version", [0, 1])
def test_a_sasl_handshake(connection: BrokerConnection, version: int) -> None:
    answer = connection.call(SaslHandshakeRequest("PLAIN"), SaslHandshakeResponse, version)
    assert (answer.error_code, answer.mechanisms) == (ErrorCode.ILLEGAL_SASL_STATE, [])


@pytest.mark.parametrize("version", [0, 1, 2])
def test_sasl_authentication(connection: BrokerConnection, version: int) -> None:
    answer = connection.call(SaslAuthenticateRequest(b"\0user\0password"), SaslAuthenticateResponse, version)
    assert answer.error_code == ErrorCode.ILLEGAL_SASL_STATE


def test_a_client_that_makes_an_acl_is_told_that_there_is_no_authorizer(broker: BrokerProcess) -> None:
    literal, allow = ResourcePatternType.LITERAL, AclPermissionType.ALLOW
    acl = AclBinding(ResourceType.TOPIC, "flights", literal, "User:ada", "*", AclOperation.READ, allow)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    with pytest.raises(KafkaException) as refused:
        admin.create_acls([acl])[acl].result(10)
    assert refused.value.args[0].code() == ErrorCode.SECURITY_DISABLED


def test_acls_are_not_described(connection: BrokerConnection) -> None:
    answer = connection.call(
        DescribeAclsRequest(ANY, None, ANY, None, None, ANY, ANY), DescribeAclsResponse, 3
    )
    assert (answer.error_code, answer.resources) == (ErrorCode.SECURITY_DISABLED, [])


def test_acls_are_neither_made_nor_deleted(connection: BrokerConnection) -> None:
    creation = CreateAclsRequest([AclCreation(TOPIC, "flights", LITERAL, "User:ada", "*", READ, ALLOW)])
    (made,) = connection.call(creation, CreateAclsResponse, 3).results
    assert made.error_code == ErrorCode.SECURITY_DISABLED
    deletion = DeleteAclsRequest([DeleteAclsFilter(TOPIC, "flights", LITERAL, None, None, ANY, ANY)])
    (deleted,) = connection.call(deletion, DeleteAclsResponse, 3).filter_results
    assert (deleted.error_code, deleted.matching_acls) == (ErrorCode.SECURITY_DISABLED, [])


def test_nobody_has_quotas(connection: BrokerConnection) -> None:
    answer: Any = connection.call(DescribeClientQuotasRequest(), DescribeClientQuotasResponse, 1)
    assert (answer.error_code, answer.entries) == (0, [])


def test_nobody_has_scram_credentials(connection: BrokerConnection) -> None:
    asked = DescribeUserScramCredentialsRequest([UserName("ada"), UserName("bob"), UserName("ada")])
    answer = connection.call(asked, DescribeUserScramCredentialsResponse, 0)
    codes = {result.user: result.error_code for result in answer.results}
    assert codes == {"ada": ErrorCode.DUPLICATE_RESOURCE, "bob": ErrorCode.RESOURCE_NOT_FOUND}


def test_no_replica_is_on_the_move(connection: BrokerConnection) -> None:
    answer = connection.call(ListPartitionReassignmentsRequest(), ListPartitionReassignmentsResponse, 0)
    assert (answer.error_code, answer.topics) == (0, [])
