"""A broker answers each error code there is to records that it has appended, or has not.

No record is stored twice and none that is acknowledged is lost, unless the code itself is the lie: those by
which a broker says that nothing of the batch is stored, or that all of it is. Java's producer believes them,
too, and has to: without them a producer could not go on behind a batch that failed, nor split one.
"""

from collections import Counter
from typing import Final

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.client.core.requests import Outcome
from odradek.wire.messages.produce import (
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from tests.client.core.producer.test_delivery import Rig, started

VALUES: Final = [b"%d" % number for number in range(6)]
SAY_NOT_STORED: Final = {
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    ErrorCode.UNKNOWN_PRODUCER_ID,
    ErrorCode.MESSAGE_TOO_LARGE,
}
SAYS_STORED: Final = ErrorCode.DUPLICATE_SEQUENCE_NUMBER
CODES: Final = [code for code in ErrorCode if code is not ErrorCode.NONE]


def answer_falsely(rig: Rig, code: ErrorCode, *, is_appended: bool) -> None:
    send = rig.flight.pop(0)
    if is_appended:
        rig.broker.answer(send)
    part = PartitionProduceResponse(index=0, error_code=code, base_offset=-1)
    answer = ProduceResponse([TopicProduceResponse("orders", partition_responses=[part])])
    rig.core.outcome(Outcome(send, answer), rig.now_ms)


@pytest.mark.parametrize("batch_size", [0, 16_384], ids=["a batch each", "one batch"])
@pytest.mark.parametrize("is_appended", [False, True], ids=["refused", "appended"])
def test_after_any_error_code_each_record_is_stored_once(batch_size: int, is_appended: bool) -> None:
    for code in CODES:
        rig = started(batch_size=batch_size)
        for value in VALUES:
            rig.append(value)
        rig.pump(ms=5)
        answer_falsely(rig, code, is_appended=is_appended)
        rig.settle()
        stored = Counter(rig.broker.log)
        if not (is_appended and code in SAY_NOT_STORED):
            assert not [value for value in VALUES if stored[value] > 1], code
        if is_appended or code is not SAYS_STORED:
            assert not [one for one in VALUES if not stored[one] and rig.outcome(one).error is None], code
        if code.is_retriable:
            assert not [one for one in VALUES if rig.outcome(one).error is not None], code
