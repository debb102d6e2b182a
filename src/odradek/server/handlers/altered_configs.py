"""Shared by AlterConfigs and IncrementalAlterConfigs: the answer has an outcome for each resource."""

from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

from odradek.base.error_codes import ErrorCode
from odradek.metadata.controller.requests import Answer, Refused, ResourceOutcomes

Row = TypeVar("Row")


class NamedResource(Protocol):
    """A resource of either request."""

    resource_type: int
    resource_name: str


def outcomes(
    answer: Answer,
    resources: Iterable[NamedResource],
    row: Callable[[ErrorCode, str | None, int, str], Row],
) -> list[Row]:
    """Returns the rows of the answer, from the controller's decision for each resource."""
    if isinstance(answer, Refused):
        return refusals(answer.error, answer.message, resources, row)
    assert isinstance(answer, ResourceOutcomes), answer
    return [row(one.error, one.message, one.resource_type, one.name) for one in answer.resources]


def refusals(
    code: ErrorCode,
    message: str | None,
    resources: Iterable[NamedResource],
    row: Callable[[ErrorCode, str | None, int, str], Row],
) -> list[Row]:
    """The same error for every resource."""
    return [row(code, message, resource.resource_type, resource.resource_name) for resource in resources]
