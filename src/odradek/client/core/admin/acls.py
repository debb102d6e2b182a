"""Who may do what: access control lists, where the cluster has an authorizer (KIP-11, KIP-290).

Odradek's own brokers have none and answer SECURITY_DISABLED.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.client.core.admin.elements import Answered, Results, ask_each, at_once
from odradek.client.core.operation import Operation, ask
from odradek.client.core.requests import Send, ToAny, ToController
from odradek.client.refusal import raise_for
from odradek.wire.message import Message
from odradek.wire.messages.create_acls import AclCreation, CreateAclsRequest, CreateAclsResponse
from odradek.wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest, DeleteAclsResponse
from odradek.wire.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse

_ANY: Final = 1
_RESOURCES: Final = {
    "topic": 2,
    "group": 3,
    "cluster": 4,
    "transactional-id": 5,
    "delegation-token": 6,
    "user": 7,
}
_PATTERNS: Final = {"literal": 3, "prefixed": 4}
_FILTER_PATTERNS: Final = {"any": _ANY, "match": 2, **_PATTERNS}
_OPERATIONS: Final = {
    "all": 2,
    "read": 3,
    "write": 4,
    "create": 5,
    "delete": 6,
    "alter": 7,
    "describe": 8,
    "cluster-action": 9,
    "describe-configs": 10,
    "alter-configs": 11,
    "idempotent-write": 12,
    "create-tokens": 13,
    "describe-tokens": 14,
    "two-phase-commit": 15,
}
_PERMISSIONS: Final = {"deny": 2, "allow": 3}


@dataclass(frozen=True, slots=True)
class Acl:
    """One entry: a principal may do something with a resource, or may not.

    A word that a later broker tells is `unknown`.
    """

    resource: str
    """ "topic", "group", "cluster", "transactional-id", "delegation-token" or "user"."""
    name: str
    """The resource's; `*` is any, and the cluster's is `kafka-cluster`."""
    principal: str
    """`User:ann`, say."""
    operation: str
    """ "read", "write" and so on, with a hyphen between words; "all"."""
    permission: str = "allow"
    """ "allow" or "deny"."""
    host: str = "*"
    pattern: str = "literal"
    """ "literal"; or "prefixed": the name is the beginning of names."""

    def __str__(self) -> str:
        """Render as ``allow User:ann read of topic flights``."""
        return f"{self.permission} {self.principal} {self.operation} of {self.resource} {self.name}"


@dataclass(frozen=True, slots=True)
class AclFilter:
    """Which entries are meant: those that are equal in all that is not None."""

    resource: str | None = None
    name: str | None = None
    principal: str | None = None
    operation: str | None = None
    permission: str | None = None
    host: str | None = None
    pattern: str = "any"
    """ "literal", "prefixed" or "any"; "match": all that apply to the name, also prefixes of it and `*`."""


EVERYTHING: Final = AclFilter()


def describe_acls(which: AclFilter = EVERYTHING) -> Operation[list[Acl]]:
    """The entries that a filter means. Raises ApiError, with SECURITY_DISABLED without an authorizer.

    It raises ValueError, like the others, for a word that Kafka does not know.
    """
    answer = yield from ask(
        Send(ToAny(), DescribeAclsRequest(*_fields(which))),
        DescribeAclsResponse,
        lambda answer: [answer.error_code],
    )
    raise_for(answer.error_code, answer.error_message, about="access control lists")
    return [
        _acl(
            one.resource_type,
            one.resource_name,
            one.pattern_type,
            entry.principal,
            entry.host,
            entry.operation,
            entry.permission_type,
        )
        for one in answer.resources
        for entry in one.acls
    ]


def create_acls(acls: Sequence[Acl]) -> Operation[None]:
    """Add entries. Raises ElementsRefused, with SECURITY_DISABLED without an authorizer."""

    def request(some: Sequence[Acl]) -> Message:
        return CreateAclsRequest(
            [
                AclCreation(
                    _number(one.resource, _RESOURCES),
                    one.name,
                    _number(one.pattern, _PATTERNS),
                    one.principal,
                    one.host,
                    _number(one.operation, _OPERATIONS),
                    _number(one.permission, _PERMISSIONS),
                )
                for one in some
            ]
        )

    def answered(answer: CreateAclsResponse, asked: Sequence[Acl]) -> Answered[Acl, None]:
        for one, result in zip(asked, answer.results, strict=False):
            yield one, result.error_code, result.error_message, None

    results: Results[Acl, None] = yield from ask_each(
        acls, at_once(ToController(), request), CreateAclsResponse, answered
    )
    results.all_or_raise("created")


def delete_acls(filters: Sequence[AclFilter]) -> Operation[dict[AclFilter, list[Acl]]]:
    """Delete the entries that these filters mean; returns those of each filter.

    Raises ElementsRefused, with SECURITY_DISABLED without an authorizer.
    """

    def request(some: Sequence[AclFilter]) -> Message:
        return DeleteAclsRequest([DeleteAclsFilter(*_fields(one)) for one in some])

    def answered(answer: DeleteAclsResponse, asked: Sequence[AclFilter]) -> Answered[AclFilter, list[Acl]]:
        for one, result in zip(asked, answer.filter_results, strict=False):
            refused = [entry for entry in result.matching_acls if entry.error_code != ErrorCode.NONE]
            code, message = result.error_code, result.error_message
            if code == ErrorCode.NONE and refused:
                code, message = refused[0].error_code, refused[0].error_message
            deleted = [
                _acl(
                    entry.resource_type,
                    entry.resource_name,
                    entry.pattern_type,
                    entry.principal,
                    entry.host,
                    entry.operation,
                    entry.permission_type,
                )
                for entry in result.matching_acls
                if entry.error_code == ErrorCode.NONE
            ]
            yield one, code, message, deleted

    results: Results[AclFilter, list[Acl]] = yield from ask_each(
        filters, at_once(ToController(), request), DeleteAclsResponse, answered
    )
    return results.all_or_raise("deleted")


def _fields(which: AclFilter) -> tuple[int, str | None, int, str | None, str | None, int, int]:
    """A filter as both requests have it."""
    return (
        _number(which.resource, _RESOURCES),
        which.name,
        _number(which.pattern, _FILTER_PATTERNS),
        which.principal,
        which.host,
        _number(which.operation, _OPERATIONS),
        _number(which.permission, _PERMISSIONS),
    )


def _acl(
    resource: int, name: str, pattern: int, principal: str, host: str, operation: int, permission: int
) -> Acl:
    return Acl(
        _word(resource, _RESOURCES),
        name,
        principal,
        _word(operation, _OPERATIONS),
        _word(permission, _PERMISSIONS),
        host,
        _word(pattern, _PATTERNS),
    )


def _number(word: str | None, known: Mapping[str, int]) -> int:
    if word is None:
        return _ANY
    if word not in known:
        raise ValueError(f"access control lists say one of {', '.join(known)}, not {word!r}")
    return known[word]


def _word(number: int, known: Mapping[str, int]) -> str:
    return next((word for word, one in known.items() if one == number), "unknown")
