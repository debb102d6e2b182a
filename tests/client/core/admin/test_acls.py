"""Access control lists: words and numbers, and what becomes of single entries."""

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError, ElementsRefused
from odradek.client.core.admin.acls import Acl, AclFilter, create_acls, delete_acls, describe_acls
from odradek.client.core.requests import ToController
from odradek.wire.messages.create_acls import AclCreationResult, CreateAclsRequest, CreateAclsResponse
from odradek.wire.messages.delete_acls import (
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsRequest,
    DeleteAclsResponse,
)
from odradek.wire.messages.describe_acls import (
    AclDescription,
    DescribeAclsRequest,
    DescribeAclsResource,
    DescribeAclsResponse,
)
from tests.client.core.running import Running

READ = Acl("topic", "flights", "User:ann", "read")
NO_WRITE = Acl("topic", "f", "User:bob", "write", "deny", "10.0.0.1", "prefixed")


def test_entries_are_described_in_words() -> None:
    running = Running(describe_acls(AclFilter("topic", "flights", pattern="match")))
    request = running.sends[0].request
    assert isinstance(request, DescribeAclsRequest)
    assert (request.resource_type_filter, request.resource_name_filter) == (2, "flights")
    assert (request.pattern_type_filter, request.operation, request.permission_type) == (2, 1, 1)
    assert (request.principal_filter, request.host_filter) == (None, None)
    running.answer(
        DescribeAclsResponse(
            resources=[
                DescribeAclsResource(2, "flights", 3, [AclDescription("User:ann", "*", 3, 3)]),
                DescribeAclsResource(2, "f", 4, [AclDescription("User:bob", "10.0.0.1", 4, 2)]),
                DescribeAclsResource(99, "x", 3, [AclDescription("User:eve", "*", 98, 97)]),
            ]
        )
    )
    unknown = Acl("unknown", "x", "User:eve", "unknown", "unknown")
    assert running.result == [READ, NO_WRITE, unknown]
    assert str(READ) == "allow User:ann read of topic flights"


def test_without_an_authorizer_there_are_none_to_describe() -> None:
    running = Running(describe_acls())
    with pytest.raises(ApiError, match="access control lists: no authorizer") as refused:
        running.answer(
            DescribeAclsResponse(error_code=ErrorCode.SECURITY_DISABLED, error_message="no authorizer")
        )
    assert refused.value.code is ErrorCode.SECURITY_DISABLED


def test_entries_are_created_and_those_that_wait_are_sent_again() -> None:
    running = Running(create_acls([READ, NO_WRITE]))
    running.answer(
        CreateAclsResponse(
            results=[AclCreationResult(ErrorCode.NOT_CONTROLLER), AclCreationResult(ErrorCode.NONE)]
        )
    )
    running.resume()
    (send,) = running.sends
    assert send.to == ToController()
    assert isinstance(send.request, CreateAclsRequest)
    (one,) = send.request.creations
    assert (one.resource_type, one.resource_name, one.resource_pattern_type) == (2, "flights", 3)
    assert (one.principal, one.host, one.operation, one.permission_type) == ("User:ann", "*", 3, 3)
    with pytest.raises(ElementsRefused, match="allow User:ann read of topic flights: not so") as refused:
        running.answer(CreateAclsResponse(results=[AclCreationResult(ErrorCode.INVALID_REQUEST, "not so")]))
    assert refused.value.done == [NO_WRITE]


def test_an_answer_with_too_few_results_is_no_success() -> None:
    running = Running(create_acls([READ]))
    with pytest.raises(ElementsRefused, match="the broker's answer leaves it out"):
        running.answer(CreateAclsResponse(results=[]))


def test_what_was_deleted_is_returned_by_filter() -> None:
    which = AclFilter(principal="User:ann", operation="read", permission="allow", host="*", pattern="literal")
    running = Running(delete_acls([which]))
    request = running.sends[0].request
    assert isinstance(request, DeleteAclsRequest)
    (one,) = request.filters
    assert (one.resource_type_filter, one.pattern_type_filter) == (1, 3)
    assert (one.principal_filter, one.host_filter, one.operation, one.permission_type) == (
        "User:ann",
        "*",
        3,
        3,
    )
    deleted = DeleteAclsMatchingAcl(0, None, 2, "flights", 3, "User:ann", "*", 3, 3)
    running.answer(DeleteAclsResponse(filter_results=[DeleteAclsFilterResult(0, None, [deleted])]))
    assert running.result == {which: [READ]}


def test_an_entry_that_could_not_be_deleted_refuses_its_filter() -> None:
    running = Running(delete_acls([AclFilter()]))
    stays = DeleteAclsMatchingAcl(ErrorCode.UNKNOWN_SERVER_ERROR, "it stays", 2, "flights", 3, "User:ann")
    with pytest.raises(ElementsRefused, match="it stays"):
        running.answer(DeleteAclsResponse(filter_results=[DeleteAclsFilterResult(0, None, [stays])]))


@pytest.mark.parametrize(
    "operation",
    [
        lambda: create_acls([Acl("tpoic", "flights", "User:ann", "read")]),
        lambda: create_acls([Acl("topic", "flights", "User:ann", "read", "maybe")]),
        lambda: create_acls([Acl("topic", "flights", "User:ann", "read", pattern="match")]),
        lambda: delete_acls([AclFilter(operation="reading")]),
        lambda: describe_acls(AclFilter(pattern="regex")),
    ],
)
def test_words_that_kafka_does_not_know_are_refused_before_anything_is_sent(operation: object) -> None:
    assert callable(operation)
    with pytest.raises(ValueError, match="access control lists say one of"):
        Running(operation())
