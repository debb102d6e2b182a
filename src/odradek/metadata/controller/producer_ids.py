"""Blocks of producer ids (KIP-730): every id is given out once in the life of a cluster.

    nothing in the store   -> the block 0..999
    last block 0..999      -> the block 1000..1999

The block is written on the condition that the last one is still the last, before any broker uses it; a broker
that dies leaves its rest unused.
"""

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.ids import BrokerId
from odradek.metadata import codec, paths
from odradek.metadata.codec import ProducerIdBlockDocument
from odradek.metadata.controller.decision import Decision
from odradek.metadata.controller.requests import ProducerIdBlock
from odradek.metadata.store import Create, SetData

PRODUCER_ID_BLOCK_SIZE = 1000
PRODUCER_ID_MAX = (1 << 63) - 1


def decide_producer_ids(
    broker_id: BrokerId, last: ProducerIdBlockDocument | None, version: int
) -> Decision[ProducerIdBlock]:
    """The next block, given the last one and its node's version (any, when there was none).

    Raises ApiError(UNKNOWN_SERVER_ERROR) when the ids are used up.
    """
    first = 0 if last is None else last.last + 1
    if first > PRODUCER_ID_MAX - PRODUCER_ID_BLOCK_SIZE + 1:
        raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, "all producer ids have been given out")
    block = ProducerIdBlockDocument(broker_id, first, first + PRODUCER_ID_BLOCK_SIZE - 1)
    data = codec.encode_producer_id_block(block)
    write = (
        Create(paths.PRODUCER_ID_BLOCK, data)
        if last is None
        else SetData(paths.PRODUCER_ID_BLOCK, data, version)
    )
    return Decision(ProducerIdBlock(broker_id, first, PRODUCER_ID_BLOCK_SIZE), (write,))
