"""What a broker without authentication, authorizer and quotas answers to those who ask for them.

The codes are those of Apache Kafka 4.1 without them; `compat/test_unsecured.py` asks both.
"""

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.testing.sim import SimNode
from odradek.wire.messages.create_acls import AclCreation, CreateAclsRequest
from odradek.wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from odradek.wire.messages.describe_acls import DescribeAclsRequest
from odradek.wire.messages.describe_client_quotas import DescribeClientQuotasRequest
from odradek.wire.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    UserName,
)
from odradek.wire.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from odradek.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from odradek.wire.messages.sasl_handshake import SaslHandshakeRequest

TOPIC, LITERAL, READ, ALLOW = 2, 3, 3, 3
ANY = 1


@pytest.mark.parametrize("version", [0, 1])
def test_a_sasl_handshake_is_told_that_it_is_out_of_place(node: SimNode, version: int) -> None:
    refused = node.ask(SaslHandshakeRequest("PLAIN"), version)
    assert (refused.error_code, refused.mechanisms) == (ErrorCode.ILLEGAL_SASL_STATE, [])


@pytest.mark.parametrize("version", [0, 1, 2])
def test_sasl_authentication_is_told_that_it_is_out_of_place(node: SimNode, version: int) -> None:
    refused = node.ask(SaslAuthenticateRequest(b"\0user\0password"), version)
    assert refused.error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert refused.error_message


def test_acls_are_neither_described_nor_made_nor_deleted(node: SimNode) -> None:
    described = node.ask(DescribeAclsRequest(ANY, None, ANY, None, None, ANY, ANY))
    assert (described.error_code, described.resources) == (ErrorCode.SECURITY_DISABLED, [])
    creation = AclCreation(TOPIC, "flights", LITERAL, "User:ada", "*", READ, ALLOW)
    made = node.ask(CreateAclsRequest([creation, creation])).results
    assert [result.error_code for result in made] == [ErrorCode.SECURITY_DISABLED] * 2
    (deleted,) = node.ask(
        DeleteAclsRequest([DeleteAclsFilter(TOPIC, None, ANY, None, None, ANY, ANY)])
    ).filter_results
    assert (deleted.error_code, deleted.matching_acls) == (ErrorCode.SECURITY_DISABLED, [])


@pytest.mark.parametrize("version", [0, 1])
def test_nobody_has_a_quota(node: SimNode, version: int) -> None:
    found = node.ask(DescribeClientQuotasRequest(), version)
    assert (found.error_code, found.entries) == (0, [])


def test_nobody_has_scram_credentials(node: SimNode) -> None:
    assert node.ask(DescribeUserScramCredentialsRequest()).results == []
    asked = DescribeUserScramCredentialsRequest([UserName("ada"), UserName("bob"), UserName("ada")])
    results = {result.user: result.error_code for result in node.ask(asked).results}
    assert results == {"ada": ErrorCode.DUPLICATE_RESOURCE, "bob": ErrorCode.RESOURCE_NOT_FOUND}


def test_no_replica_is_on_the_move(node: SimNode) -> None:
    found = node.ask(ListPartitionReassignmentsRequest())
    assert (found.error_code, found.topics) == (0, [])
