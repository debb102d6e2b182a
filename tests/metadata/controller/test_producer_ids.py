"""Blocks of producer ids follow each other and end before the numbers do."""

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.metadata.codec import ProducerIdBlockDocument
from odradek.metadata.controller.producer_ids import PRODUCER_ID_MAX, decide_producer_ids
from odradek.metadata.controller.requests import ProducerIdBlock
from odradek.metadata.store import Create, SetData


def test_the_first_block_begins_at_zero() -> None:
    decision = decide_producer_ids(1, None, 0)
    assert decision.outcome == ProducerIdBlock(1, 0, 1000)
    assert isinstance(decision.writes[0], Create)


def test_the_next_block_follows_on_the_condition_that_it_is_next() -> None:
    decision = decide_producer_ids(2, ProducerIdBlockDocument(1, 0, 999), 7)
    assert decision.outcome == ProducerIdBlock(2, 1000, 1000)
    (write,) = decision.writes
    assert isinstance(write, SetData)
    assert write.version == 7


def test_used_up_ids_are_an_error() -> None:
    last = ProducerIdBlockDocument(1, 0, PRODUCER_ID_MAX - 999)
    with pytest.raises(ApiError) as refused:
        decide_producer_ids(1, last, 0)
    assert refused.value.code is ErrorCode.UNKNOWN_SERVER_ERROR
