"""The stalls campaign: that its requests can be sent, and that it notices an error wherever it stands."""

from collections.abc import Callable, Iterator

import pytest
from campaigns.stalls import FAMILIES, Case, fault_in, frame_of

from odradek.wire.apis import APIS
from odradek.wire.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from odradek.wire.messages.metadata import MetadataResponse


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES.keys())
def test_each_request_fits_into_its_version(family: Callable[[int], Iterator[Case]]) -> None:
    for case in family(10):
        versions = APIS[case.request.API_KEY].versions
        assert versions.lowest <= case.version <= versions.highest, case.name
        assert frame_of(case)


def test_an_error_is_found_wherever_it_stands() -> None:
    assert fault_in(MetadataResponse(error_code=3)) == 3
    rows = [ListOffsetsPartitionResponse(0), ListOffsetsPartitionResponse(1, error_code=6)]
    assert fault_in(ListOffsetsResponse(topics=[ListOffsetsTopicResponse("a", rows)])) == 6
    assert fault_in(ListOffsetsResponse(topics=[ListOffsetsTopicResponse("a", rows[:1])])) == 0


def test_an_error_that_a_case_allows_is_no_fault() -> None:
    assert fault_in(MetadataResponse(error_code=5), allowed=5) == 0
